"""Individual fairness of classifiers: tests a model of this process, runs the program's commands,
and reads what it has written.

    import fairlane
    audit = fairlane.audit(model, X, y, protected=["sex", "race"])
    audit.shares, audit.findings, audit.rules       # pandas; the report is shown in a notebook
    outcome = fairlane.run("gender.yaml", out="results/gender", seed=7)
    outcome.summary["counts"]["unique_groups"]
    results = fairlane.read("results/gender")
    results.frame(words=True)                       # pandas
    results.array()                                 # numpy, a row with named fields each

For PyTorch see `fairlane.datasets`.
"""
from fairlane.auditing import Audit, Report, audit
from fairlane.command import Outcome, compare, enumerate, estimate, run, verify
from fairlane.errors import (BugError, ConfigError, DataError, DiskError, Error, MissingInputError,
                             ModelError, OutOfMemoryError, OutputError, ResultsError, StoppedError,
                             UnavailableError, UndecidedError, UsageError)
from fairlane.results import Column, Results, read
from fairlane.subject import Subject, prepare

# Without `enumerate`: `from fairlane import *` would hide Python's own.
__all__ = ["Audit", "BugError", "Column", "ConfigError", "DataError", "DiskError", "Error",
           "MissingInputError", "ModelError", "OutOfMemoryError", "OutputError", "Outcome",
           "Report", "Results", "ResultsError", "StoppedError", "Subject", "UnavailableError",
           "UndecidedError", "UsageError", "audit", "compare", "estimate", "prepare", "read",
           "run", "verify"]
