"""A model and a table, ready for the program: a domain file, a coded table, a configuration."""
from __future__ import annotations

import pathlib
import shlex
import shutil
import sys
import tempfile
import weakref
from typing import Any, Hashable, Iterable, Mapping, Sequence

import numpy

from fairlane import models, tables
from fairlane.errors import OutputError, UnavailableError, UsageError
from fairlane.serving import ModelServer

BINS = 10        # of a column of many numbers
DISTINCT = 20    # different numbers of a column that are kept as they are
MOST_ROWS = 1 << 24


class Subject:
    """A model of this process, with the files that describe its inputs to the program.

    fairlane.run, enumerate and estimate take it in place of a configuration's path: the model
    answers while they run.

    directory   where its files are; a temporary one is removed with this object
    config      path of the configuration
    domain      path of the domain file
    table       path of the coded table
    attributes  one for each column: codes, words, and the values that the model gets
    protected   names of the attributes under test
    classes     names of the classes 0, 1, ...
    codes       the table [rows][attributes]
    index       the names of its rows in X
    """

    def __init__(self, directory: pathlib.Path, attributes: list[tables.Attribute],
                 protected: list[str], codes: numpy.ndarray, classifier: models.Classifier,
                 frames: _Frames, index: Any):
        self.directory = directory
        self.config = directory / "config.yaml"
        self.domain = directory / "config.domain.yaml"
        self.table = directory / "table.csv"
        self.attributes = attributes
        self.protected = protected
        self.codes = codes
        self.index = index
        self.classes = classifier.classes
        self.kind = classifier.kind
        self._classifier = classifier
        self._frames = frames

    def frame(self, codes: Any = None) -> Any:
        """What the model gets for rows of codes [n][attributes]; for None, those of the table."""
        return self._frames(self.codes if codes is None else numpy.asarray(codes))

    def labels(self, codes: Any = None) -> numpy.ndarray:
        """Classes 0, 1, ... that the model gives rows of codes; for None, those of the table."""
        return self._classifier.labels(self._classifier.answer(self.frame(codes)))

    def words(self, codes: Any = None) -> Any:
        """Rows of codes as people read them, a DataFrame of words; for None, those of the table."""
        import pandas

        codes = self.codes if codes is None else numpy.asarray(codes)
        return pandas.DataFrame({
            attribute.name: numpy.array(attribute.words, object)[attribute.places(codes[:, place])]
            for place, attribute in enumerate(self.attributes)})

    def serve(self) -> ModelServer:
        """A socket at which the model answers one command of the program."""
        classifier, frames = self._classifier, self._frames

        def answer(rows: numpy.ndarray) -> numpy.ndarray:
            scores = classifier.answer(frames(rows.astype(numpy.int64)))
            return numpy.ascontiguousarray(scores,
                                           "<i4" if classifier.kind == "labels" else "<f4")
        return ModelServer(answer, classifier.kind, classifier.outputs, len(self.attributes))


class _Frames:
    """Rows of codes as what the model was fitted on: a DataFrame, or an array."""

    def __init__(self, attributes: list[tables.Attribute], columns: Any,
                 fixed: Mapping[Hashable, Any], array_type: Any):
        self.attributes, self.columns, self.fixed = attributes, columns, fixed
        self.array_type = array_type

    def __call__(self, codes: numpy.ndarray) -> Any:
        import pandas

        taken = {attribute.column: attribute.values.take(attribute.places(codes[:, place]))
                 for place, attribute in enumerate(self.attributes)}
        if self.array_type is not None:
            return numpy.stack([numpy.asarray(taken[column], self.array_type)
                                for column in self.columns], axis=1)
        for column, values in self.fixed.items():
            taken[column] = values.take(numpy.zeros(len(codes), numpy.int64))
        frame = pandas.DataFrame(dict(enumerate(taken[column] for column in self.columns)))
        frame.columns = self.columns
        return frame


def prepare(model: Any, X: Any, y: Any = None, protected: Any = (), *,  # noqa: N803
            out: Any = None, bins: Any = BINS, distinct: int = DISTINCT,
            fixed: Mapping[Hashable, Any] | None = None, constraints: Any = None,
            classes: Sequence[Any] | None = None, kind: str | None = None, threshold: float = 0.5, seed: int = 42) -> Subject:
    """Writes the files that describe a model of this process and its table to the program.

    The arguments are those of fairlane.audit. Returns a Subject, which fairlane.run, enumerate and
    estimate take. Raises UsageError for what cannot be tested, ModelError where the model fails.
    """
    X, array_type = _table(X)  # noqa: N806
    index = X.index
    X = X.reset_index(drop=True)  # noqa: N806
    fixed = _fixed(X, fixed or {})
    names = _names(X, fixed)
    wanted = _protected(protected, names)
    _check_number("distinct", distinct, 1, tables.MOST_BINS)
    _check_number("seed", seed, 0, (1 << 64) - 1)
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) \
            or not 0 < threshold < 1:
        raise UsageError(f"threshold: is {threshold!r}, expected a number between 0 and 1")
    per_column = _bins(bins, names)
    attributes, columns = [], []
    for column, name in names.items():
        attribute, codes = tables.code_column(X[column], name, per_column.get(column, BINS),
                                              distinct)
        attributes.append(attribute)
        columns.append(codes)
    codes = numpy.stack(columns, axis=1)
    restricted = _restricted(wanted, attributes)
    excluded = _constraints(constraints)
    frames = _Frames(attributes, X.columns, fixed, array_type)
    label_words = _label_values(y, len(X))
    known = None if label_words is None else _sorted(set(label_words))
    classifier = models.classifier(model, frames(codes[:models.TRIED]), kind=kind, classes=classes,
                                   known=known, threshold=threshold)
    labels = _classes_of(label_words, classifier.classes)

    directory = pathlib.Path(tempfile.mkdtemp(prefix="fairlane-") if out is None else out)
    subject = Subject(directory, attributes, [*wanted], codes, classifier, frames, index)
    if out is None:
        weakref.finalize(subject, shutil.rmtree, directory, ignore_errors=True)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _write(subject, _command(model), restricted, excluded, labels, y, threshold, seed)
    except OSError as error:
        raise OutputError(f"{directory}: cannot be written: {error.strerror}") from error
    return subject


def _check_number(name: str, value: Any, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, numpy.integer)) \
            or not low <= value <= high:
        raise UsageError(f"{name}: is {value!r}, expected an integer {low} to {high}")


def _table(X: Any) -> tuple[Any, Any]:  # noqa: N803
    """The table as a DataFrame, and the type of the array that it was."""
    try:
        import pandas
    except ImportError as error:
        raise UnavailableError("pandas is not installed, which tables are read with: "
                               "pip install pandas") from error
    array_type = None
    if isinstance(X, numpy.ndarray):
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise UsageError(f"X: is an array of {X.dtype} and shape {X.shape}, expected numbers "
                             "[rows][columns], or a DataFrame")
        array_type = X.dtype
        X = pandas.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])  # noqa: N806
    if not isinstance(X, pandas.DataFrame):
        raise UsageError(f"X: is a {type(X).__name__}, expected a pandas DataFrame")
    if len(X) == 0 or X.shape[1] == 0:
        raise UsageError(f"X: has {len(X)} rows and {X.shape[1]} columns, expected some of both")
    if len(X) > MOST_ROWS:
        raise UsageError(f"X: has {len(X):,} rows, expected at most {MOST_ROWS:,}")
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise UsageError(f"X: has two columns {twice!r}, expected different names")
    return X, array_type


def _fixed(X: Any, fixed: Mapping[Hashable, Any]) -> dict[Hashable, Any]:  # noqa: N803
    """Arrays of one value, of the dtypes of their columns."""
    import pandas

    if not isinstance(fixed, Mapping):
        raise UsageError(f"fixed: is {fixed!r}, expected {{column: value}}")
    arrays = {}
    for column, value in fixed.items():
        if column not in X.columns:
            raise UsageError(f"fixed: X has no column {column!r}, expected one of {_some(X)}")
        try:
            arrays[column] = pandas.Series([value]).astype(X[column].dtype).array
        except (TypeError, ValueError) as error:
            raise UsageError(f"fixed: {value!r} is no value of column {column!r}, which holds "
                             f"{X[column].dtype}") from error
    return arrays


def _some(X: Any) -> str:  # noqa: N803
    """The columns, for a message."""
    shown = [str(column) for column in X.columns[:20]]
    return ", ".join(shown) + (", ..." if len(X.columns) > len(shown) else "")


def _names(X: Any, fixed: Mapping[Hashable, Any]) -> dict[Hashable, str]:  # noqa: N803
    """The attributes' names, by column; columns that are fixed are none."""
    names: dict[Hashable, str] = {}
    for column in X.columns:
        if column in fixed:
            continue
        name = tables.plain(column)
        if name == "" or name in names.values():
            raise UsageError(f"X: the name of column {column!r} is empty or that of another one, "
                             "expected different names")
        names[column] = name
    if not names:
        raise UsageError("fixed: lists all columns, expected some to vary")
    return names


def _protected(protected: Any, names: Mapping[Hashable, str]) -> dict[str, Any]:
    """The names of the protected attributes, and the values that are compared (None: all)."""
    if isinstance(protected, str):
        protected = [protected]
    if not isinstance(protected, Iterable):
        if protected is not None:
            raise UsageError(f"protected: is {protected!r}, expected columns of X, such as "
                             f"{list(names.values())[:1]!r}")
        protected = ()
    values = dict(protected) if isinstance(protected, Mapping) else dict.fromkeys(protected)
    if not values:
        raise UsageError("protected: is empty, expected the columns of X whose influence is "
                         f"tested, some of {', '.join(names.values())}")
    wanted = {}
    for column, compared in values.items():
        if column not in names:
            raise UsageError(f"protected: X has no column {column!r} that varies, expected some of "
                             f"{', '.join(names.values())}")
        wanted[names[column]] = compared
    return wanted


def _restricted(wanted: Mapping[str, Any], attributes: list[tables.Attribute]) -> Any:
    """The configuration's `protected`."""
    by_name = {attribute.name: attribute for attribute in attributes}
    result: dict[str, Any] = {}
    for name, compared in wanted.items():
        attribute = by_name[name]
        words = attribute.words
        if len(words) < 2:
            raise UsageError(f"protected: column {name!r} has the one value {words[0]}, expected "
                             "at least two")
        if compared is None:
            result[name] = [int(code) for code in attribute.codes]
            continue
        several = isinstance(compared, Iterable) and not isinstance(compared, str)
        asked = list(compared) if several else [compared]
        unknown = [value for value in asked if str(value) not in words]
        if unknown or len({str(value) for value in asked}) < 2:
            raise UsageError(f"protected: of {name!r} the values {asked!r} are compared, expected "
                             f"two or more of {', '.join(words)}")
        result[name] = sorted(int(attribute.codes[words.index(str(value))]) for value in asked)
    if all(compared is None for compared in wanted.values()):
        return list(wanted)
    return result


def _bins(bins: Any, names: Mapping[Hashable, str]) -> dict[Hashable, Any]:
    if not isinstance(bins, Mapping):
        if isinstance(bins, bool) or not isinstance(bins, (int, numpy.integer)):
            raise UsageError(f"bins: is {bins!r}, expected a number of bins, or {{column: number "
                             "or edges}")
        return dict.fromkeys(names, bins)
    for column in bins:
        if column not in names:
            raise UsageError(f"bins: X has no column {column!r} that varies, expected some of "
                             f"{', '.join(names.values())}")
    return dict(bins)


def _label_values(y: Any, rows: int) -> list[Any] | None:
    if y is None:
        return None
    import pandas

    series = pandas.Series(numpy.asarray(y).reshape(-1) if not isinstance(y, pandas.Series)
                           else y.array)
    if len(series) != rows:
        raise UsageError(f"y: has {len(series)} labels, expected one for each of {rows} rows of X")
    if series.isna().any():
        raise UsageError(f"y: {int(series.isna().sum())} labels are missing, expected none")
    return [value.item() if isinstance(value, numpy.generic) else value for value in series]


def _sorted(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=str)


def _classes_of(values: list[Any] | None, classes: Sequence[Any]) -> numpy.ndarray | None:
    if values is None:
        return None
    places = {value.item() if isinstance(value, numpy.generic) else value: place
              for place, value in enumerate(classes)}
    unknown = [value for value in values if value not in places]
    if unknown:
        raise UsageError(f"y: has the label {unknown[0]!r}, expected the model's classes "
                         f"{', '.join(repr(value) for value in places)}")
    return numpy.array([places[value] for value in values])


def class_words(classes: Sequence[Any]) -> list[str]:
    """What people read for a class. A number that is not its own class is told apart from one."""
    words: list[str] = []
    for place, value in enumerate(classes):
        word = tables.plain(value)
        if word == "" or (tables.is_integer_text(word) and word != str(place)):
            word = f"class {word}"
        while word in words:
            word += " (2)"
        words.append(word)
    return words


def _command(model: Any) -> str:
    """What the program starts: the bridge, by the interpreter of this process; and, for those who
    read it, what the model is."""
    python = sys.executable if "python" in pathlib.Path(sys.executable or "").name else None
    python = python or shutil.which("python3")
    if python is None:
        raise UnavailableError("python3 is not on PATH, which hands rows on to this process")
    bridge = pathlib.Path(__file__).resolve().with_name("_bridge.py")
    name = getattr(model, "__name__", None) or type(model).__name__
    return f"exec:{shlex.join([python, '-I', '-S', '-B', str(bridge), tables.plain(name)])}"


def _constraints(given: Any) -> list[str]:
    """Entries of the domain file: the program reads what they say, and names what is wrong."""
    if given is None:
        return []
    several = isinstance(given, Iterable) and not isinstance(given, (str, Mapping))
    listed = list(given) if several else [given]
    if not several or not all(isinstance(one, Mapping) for one in listed):
        raise UsageError(f"constraints: is {given!r}, expected a list of dicts, such as "
                         "{'if': {'relationship': 'Wife'}, 'then': {'sex': 'Female'}}")
    try:
        return [f"  - {tables.yaml(dict(one))}" for one in listed]
    except (TypeError, ValueError) as error:
        raise UsageError(f"constraints: {error}, expected words, numbers, lists and "
                         "dicts") from error


def _write(subject: Subject, command: str, protected: Any, constraints: list[str],
           labels: numpy.ndarray | None, y: Any, threshold: float, seed: int) -> None:
    import pandas

    names = [attribute.name for attribute in subject.attributes]
    label = tables.plain(getattr(y, "name", None) or "label") or "label"
    while label in names:
        label += "_label"
    words = class_words(subject.classes)
    listed = ", ".join(f"{tables.yaml(word)}: {place}" for place, word in enumerate(words))
    lines = ["# Written by the Python package: what codes mean, and what the model gets for them.",
             f"label: {tables.yaml(label)}", f"labels: {{{listed}}}", "attributes:"]
    lines += [attribute.domain_line(attribute.name in subject.protected)
              for attribute in subject.attributes]
    if constraints:
        lines += ["constraints:", *constraints]
    subject.domain.write_text("\n".join(lines) + "\n", encoding="utf-8")

    table = pandas.DataFrame(subject.codes, columns=names)
    if labels is not None:
        table[label] = labels
    table.to_csv(subject.table, index=False)

    config = {"model": command, "data": subject.table.name, "domain": subject.domain.name,
              "protected": protected, "method": "margin", "threshold": threshold, "seed": int(seed)}
    subject.config.write_text(
        "# The model lives in a Python process: fairlane.run(Subject) and the like serve it.\n" +
        "".join(f"{key}: {tables.yaml(value)}\n" for key, value in config.items()),
        encoding="utf-8")
