"""fairlane.audit: how a model of this process treats people who differ in protected attributes."""
from __future__ import annotations

import html
import json
import os
import pathlib
from typing import Any, Hashable, Mapping, Sequence

from fairlane.command import arguments_of, call, served_options
from fairlane.errors import OutputError, ResultsError, UndecidedError, UsageError
from fairlane.subject import BINS, DISTINCT, Subject, class_words, prepare

UNDECIDED = UndecidedError.exit_code
RESULTS = "audit"  # the program's directory, beside the files that describe the model


def audit(model: Any, X: Any, y: Any = None, protected: Any = (), *,  # noqa: N803
          time: float = 60, out: Any = None, favourable: Any = None, fail_above: Any = None,
          bins: Any = BINS, distinct: int = DISTINCT,
          fixed: Mapping[Hashable, Any] | None = None, constraints: Any = None,
          classes: Sequence[Any] | None = None,
          kind: str | None = None, threshold: float = 0.5, seed: int = 42,
          threads: int | None = None, overwrite: bool = False, progress: bool | None = None) -> Audit:
    """Tests how a fitted classifier treats people who differ in protected attributes alone.

    model       an estimator or a pipeline of scikit-learn, XGBoost or LightGBM, a network of Keras
                or PyTorch, or a function of a DataFrame that gives a label, a probability, or
                scores of all classes for each row; it stays in this process
    X           the people: a DataFrame as the model takes it (or an array of numbers); words,
                categories, truth values, numbers and missing values
    y           their true labels, if known
    protected   columns of X, such as ["sex", "race"]; {"race": ["Black", "White"]} compares these
                values alone, written as they are shown
    time        seconds for the search, and for samples
    out         a directory for all files; without it they live as long as the Audit
    favourable  the class that people want; without it the program chooses, and says so
    fail_above  a share that must not be exceeded, such as 0.05 or "plausible:0.05": see
                `Audit.passed`
    bins        of columns with more than `distinct` different numbers: how many bins, of equally
                many rows as far as equal numbers allow; or {column: number, or the edges between
                bins}. The model gets the median of a bin's numbers, of two the lower
    distinct    so many different numbers, or fewer, are kept as they are
    fixed       {column: value}: columns that do not vary and get this value, such as an identifier
    constraints what people cannot be, as `constraints` of a domain file, with words as they are
                shown, other values as codes: [{"if": {"relationship": "Wife"}, "then":
                {"sex": "Female"}}, {"from_data": ["education", "years"]}]
    classes     the classes in order, where the model has no classes_
    kind        what the model gives: labels, probabilities or logits, where that cannot be seen
    threshold   of one probability: above it class 1 is decided
    seed        another seed, other samples
    overwrite   replace the results of another audit in `out`
    progress    show on standard error what is being done; by default where somebody looks on, a
                terminal or a notebook: there in a line that is rewritten

    Missing values are a category of their own. Raises UsageError for what cannot be tested,
    ModelError where the model fails, and other kinds of fairlane.Error with the program's line.
    """
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not time > 0:
        raise UsageError(f"time: is {time!r}, expected seconds above 0")
    if out is not None and (pathlib.Path(out) / RESULTS / "DONE").exists() and not overwrite:
        raise OutputError(f"{out}: holds the results of another audit; choose another directory, "
                          "or allow overwriting (overwrite=True)")
    subject = prepare(model, X, y, protected, out=out, bins=bins, distinct=distinct, fixed=fixed,
                      constraints=constraints, classes=classes, kind=kind, threshold=threshold, seed=seed)
    options = {"out": subject.directory / RESULTS, "time": time,
               "favourable": _favourable(favourable, subject), "fail_above": fail_above,
               "threads": threads, "overwrite": overwrite, **served_options()}
    server = subject.serve()
    try:
        words = ["audit", os.fspath(subject.config), "--json", *arguments_of(options)]
        code, _ = call(words, server, progress)
    finally:
        server.close()
    found = Audit(subject.directory / RESULTS, subject)
    if code == UNDECIDED and found.json.get("policy") is None:
        raise UndecidedError("the model: its output is undefined (not a finite number) for every "
                             "row, so that nothing was audited")
    return found


def _favourable(value: Any, subject: Subject) -> str | None:
    """The class as the program calls it."""
    if value is None:
        return None
    for place, known in enumerate(subject.classes):
        if value == known or str(value) == str(known):
            return class_words(subject.classes)[place]
    raise UsageError(f"favourable: is {value!r}, expected one of the classes "
                     f"{', '.join(str(known) for known in subject.classes)}")


class Report(os.PathLike):
    """The page report.html: shown in a notebook; str() and os.fspath() give its path."""

    def __init__(self, path: pathlib.Path):
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    __str__ = __fspath__

    def __repr__(self) -> str:
        return f"Report({str(self.path)!r})"

    def _repr_html_(self) -> str:
        # A frame of its own, so that neither page changes how the other looks.
        page = html.escape(self.path.read_text(encoding="utf-8"), quote=True)
        return ('<iframe sandbox title="Fairlane report" style="width:100%;height:45em;border:0" '
                f'srcdoc="{page}"></iframe>')


class Audit:
    """What an audit has found, as `fairlane audit` wrote it.

    directory  where audit.json, report.html, report.md and junit.xml are
    json       dict of audit.json
    subject    the model and the table; None where a directory was read
    """

    def __init__(self, directory: Any, subject: Subject | None = None):
        self.directory = pathlib.Path(directory)
        self.subject = subject
        path = self.directory / "audit.json"
        try:
            self.json: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ResultsError(f"{path}: no such file: it is not the output of a finished "
                               "audit") from error
        except json.JSONDecodeError as error:
            raise ResultsError(f"{path}: is no JSON: {error}") from error

    @property
    def verdict(self) -> str:
        """One or two sentences."""
        return self.json["verdict"]["text"]

    @property
    def passed(self) -> bool | None:
        """Whether the share that `fail_above` limits is not above it; None without a limit, or
        where that is undecided."""
        above = (self.json.get("policy") or {}).get("met")
        return None if above is None else not above

    @property
    def shares(self) -> Any:
        """How much: a DataFrame with a row for each protected set, named as in the report.

        rows, affected, share, undefined     of the table
        plausible_share, ..._low, ..._high   of people drawn as the table's are, with its interval
        domain_share, ..._low, ..._high      of all people there could be; domain_source says how
        severity_mean, severity_max          difference in output of the rows that are affected
        """
        import pandas

        records = []
        for one in self.json["sets"]:
            rows, severity = one.get("rows") or {}, one.get("severity") or {}
            record = {"set": one["name"], "rows": rows.get("count")}
            record.update({key: rows.get(key) for key in ("affected", "share", "undefined")})
            for part in ("plausible", "domain"):
                values = one.get(part) or {}
                record.update({f"{part}_{key}": values.get(key)
                               for key in ("share", "low", "high")})
            record["domain_source"] = (one.get("domain") or {}).get("source")
            record.update({f"severity_{key}": severity.get(key) for key in ("mean", "max")})
            records.append(record)
        return pandas.DataFrame.from_records(records).set_index("set")

    @property
    def findings(self) -> Any:
        """People whose decision changes: a DataFrame in words, the most telling ones of each set.

        set, source         the protected set; `row` of the table, or `search`
        line, row           of a row, its line in table.csv, and its name in X.index
        the attributes      in words, as the person is
        changed             what alone was changed, such as "sex: Female to Male"
        decision, other     the decision on the person, and on the changed one; score, other_score
        severity            the difference in output
        implausibility      per cent of the table's rows that are as ordinary or more

        A column of ours has an underscore behind its name where an attribute has that name.
        """
        import pandas

        found = [(one["name"], finding) for one in self.json["sets"]
                 for finding in one.get("findings") or []]
        attributes = [one["name"] for one in self.json.get("attributes") or []]
        attributes += [name for _, finding in found for name in finding["words"]]
        attributes = list(dict.fromkeys(attributes))

        def ours(names: Sequence[str]) -> list[str]:
            return [f"{name}_" if name in attributes else name for name in names]

        before = ours(["set", "source", "line", "row"])
        after = ours(["changed", "decision", "other", "score", "other_score", "severity",
                      "implausibility"])
        records = []
        for name, finding in found:
            changed = ", ".join(f"{change['attribute']}: {change['from']} to {change['to']}"
                                for change in finding["changed"])
            plausible = finding.get("plausibility") or {}
            percentiles = [plausible[key] for key in ("distance_percentile", "surprise_percentile")
                           if plausible.get(key) is not None]
            decision, other = finding["decision"], finding["other"]
            records.append(
                [name, finding["source"], finding.get("line"), self._row(finding.get("line")),
                 *[finding["words"].get(attribute) for attribute in attributes], changed,
                 decision["word"], other["word"], decision.get("score"), other.get("score"),
                 finding.get("severity"), max(percentiles, default=None)])
        frame = pandas.DataFrame.from_records(records, columns=[*before, *attributes, *after])
        frame[before[3]] = pandas.Series([record[3] for record in records], dtype=object)
        return frame.astype({before[2]: "Int64"})

    def _row(self, line: int | None) -> Any:
        # The first line is the header.
        return None if line is None or self.subject is None else self.subject.index[line - 2]

    @property
    def rules(self) -> Any:
        """Where people are affected: a DataFrame of rules (set, text, rows, affected, precision,
        coverage)."""
        return self._listed("rules", ["text", "rows", "affected", "precision", "coverage"])

    @property
    def preferences(self) -> Any:
        """Who is preferred to whom: a DataFrame (set, better, worse, rows, reverse_rows)."""
        return self._listed("preferences", ["better", "worse", "rows", "reverse_rows"])

    @property
    def worst(self) -> Any:
        """Shares by the values of attributes (set, attribute, value, rows, affected, share)."""
        return self._listed("worst", ["attribute", "value", "rows", "affected", "share"])

    def _listed(self, part: str, columns: list[str]) -> Any:
        import pandas

        records = [{"set": one["name"], **{column: _in_words(entry.get(column))
                                           for column in columns}}
                   for one in self.json["sets"] for entry in one.get(part) or []]
        return pandas.DataFrame.from_records(records, columns=["set", *columns])

    def report(self) -> Report:
        """The report, which a notebook shows; `report().path` is that of report.html."""
        return Report(self.directory / "report.html")

    def __repr__(self) -> str:
        lines = [self.verdict]
        for one in self.json["sets"]:
            rows = one.get("rows") or {}
            if rows.get("share") is not None:
                lines.append(f"{one['name']}: {rows['affected']:,} of {rows['count']:,} rows "
                             f"({100 * rows['share']:.2f} %)")
        return "\n".join([*lines, f"report: {self.report()}"])

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def _in_words(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value
