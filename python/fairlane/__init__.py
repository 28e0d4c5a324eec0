"""Reads what `fairlane` has written: summaries, instances in codes or words, training data.

    import fairlane
    results = fairlane.read("results/census")
    results.summary["counts"]["unique_groups"]
    results.frame(words=True)                       # pandas
    results.array()                                 # numpy, a row with named fields each

For PyTorch see `fairlane.datasets`.
"""
from fairlane.results import Column, Results, ResultsError, read

__all__ = ["Column", "Results", "ResultsError", "read"]
