"""A finished output directory, and its instances as arrays."""
from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
import pathlib

import numpy

from fairlane.errors import MissingInputError, ResultsError

HASHED_AT_ONCE = 1 << 20  # bytes
PLAUSIBILITY_FILE = "instances.plausibility.csv"
PLAUSIBILITY_FIGURES = ("distance", "surprise", "distance_percentile", "surprise_percentile")
LONGEST_SHOWN = 60  # characters of what a file has instead of what was expected


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of the instances.

    name       of its field in arrays
    holds      attribute, pair, label, pair_label, score, pair_score, phase, seed, iteration,
               voted_label or vote
    dtype      of its numbers
    attribute  whose codes it has, or None
    words      what codes stand for: {3: "Private"}; codes that are not in it are plain numbers
    """

    name: str
    holds: str
    dtype: str
    attribute: str | None = None
    words: dict = dataclasses.field(default_factory=dict)


def read(directory):
    """The results in a directory that `fairlane run`, or `enumerate` with `--instances all` or `N`,
    has finished.

    Raises ResultsError, or MissingInputError where a file cannot be read.
    """
    return Results(directory)


def _shown(text):
    """As an error line has it: in quotes, escaped, not longer than is read."""
    text = str(text)
    return repr(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "...")


def _unreadable(path, error):
    return MissingInputError(f"{path}: cannot be read: {error.strerror or error}")


def _damaged(path, what, error):
    """Whatever a library says of a damaged file, in one line of ours."""
    return ResultsError(f"{path}: {what}: {' '.join(str(error).split())}")


def _records(path, header):
    """The rows of a CSV file with that header, and the line of the first: lists of cells, as many
    in each as the header has.

    Raises ResultsError, MissingInputError.
    """
    rows = []
    try:
        # What is no UTF-8 is refused as no number, with its line.
        with open(path, encoding="utf-8", errors="replace", newline="") as lines:
            records = csv.reader(lines, strict=True)
            try:
                found = next(records, None)
                if found != list(header):
                    has = "nothing" if found is None else _shown(",".join(found))
                    raise ResultsError(f"{path}:1: has {has}, expected the header "
                                       f"{','.join(header)}")
                first = records.line_num + 1
                for record in records:
                    if len(record) != len(header):
                        raise ResultsError(f"{path}:{records.line_num}: has {len(record)} cells, "
                                           f"expected {len(header)}")
                    rows.append(record)
            except csv.Error as error:
                raise _damaged(f"{path}:{records.line_num}", "is no CSV", error) from error
    except OSError as error:
        raise _unreadable(path, error) from error
    return rows, first


def _numbers(path, name, cells, first, dtype):
    """The cells of a column, the first of which stands on line `first`, as numbers of a type.

    Raises ResultsError.
    """
    dtype = numpy.dtype(dtype)
    is_float = dtype.kind == "f"
    convert = float if is_float else int
    low, high = ((numpy.finfo(dtype).min, numpy.finfo(dtype).max) if is_float else
                 (numpy.iinfo(dtype).min, numpy.iinfo(dtype).max))
    try:
        numbers = list(map(convert, cells))
        if not numbers or (low <= min(numbers) and max(numbers) <= high and
                           all(number == number for number in numbers)):
            return numpy.array(numbers, dtype)
    except ValueError:
        pass  # the loop says where
    for line, cell in enumerate(cells, first):
        try:
            if low <= convert(cell) <= high:
                continue
        except ValueError:
            pass
        break
    expected = "a finite number" if is_float else f"a whole number {low}..{high}"
    raise ResultsError(f"{path}:{line}: {name} is {_shown(cell)}, expected {expected}")


class Results:
    """Summary, manifest and instances of a finished directory. Instances are read when asked for.

    summary   dict of summary.json
    manifest  dict of manifest.json
    columns   list of Column; empty where no instances were written
    """

    def __init__(self, directory):
        self.path = pathlib.Path(directory)
        if not self.path.is_dir():
            raise ResultsError(f"{self.path}: no such directory")
        if not (self.path / "DONE").is_file():
            raise ResultsError(f"{self.path}: has no DONE: it is not the output of a finished run")
        self.manifest = self._json("manifest.json")
        self.summary = self._json("summary.json")
        self.columns = []
        self._files = []
        if (self.path / "instances.json").is_file():
            self._take_index(self._json("instances.json"))

    def _take_index(self, index):
        """Takes what instances.json lists."""
        try:
            self.format = index["format"]
            self._files = [{"name": file["name"], "rows": int(file["rows"]),
                            "sha256": file["sha256"]} for file in index["files"]]
            self.columns = [
                Column(one["name"], one["holds"], one["type"], one.get("attribute"),
                       {int(code): word for code, word in one.get("words", {}).items()})
                for one in index["columns"]
            ]
            known = self.format in ("csv", "npy", "parquet") and self.dtype.names
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _damaged(self.path / "instances.json", "is no list of instances as this program "
                           "writes it", repr(error)) from error
        if not known:
            raise ResultsError(f"{self.path / 'instances.json'}: lists {_shown(self.format)}, "
                               "expected csv, npy or parquet, with columns")

    def _json(self, name):
        path = self.path / name
        try:
            loaded = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise _unreadable(path, error) from error
        except ValueError as error:  # UTF-8's, too
            raise _damaged(path, "is no JSON", error) from error
        if not isinstance(loaded, dict):
            raise ResultsError(f"{path}: is no JSON object, as this program writes it")
        return loaded

    def _needs_instances(self):
        if not self.columns:
            raise ResultsError(f"{self.path}: holds no instances, expected a run with output.format "
                               "csv, npy or parquet")

    def __len__(self):
        """How many instances were written."""
        return sum(file["rows"] for file in self._files)

    @property
    def dtype(self):
        """The fields of a row."""
        return numpy.dtype([(column.name, column.dtype) for column in self.columns])

    def named(self, *holds):
        """Names of the columns that hold one of these, such as "attribute"."""
        return [column.name for column in self.columns if column.holds in holds]

    def shards(self):
        """The instances of each file: numpy arrays [rows] with a field for each column.

        Of .npy files they are memory maps, so that what is not touched is not read.
        """
        self._needs_instances()
        return [self._load(self.path / file["name"], file["rows"]) for file in self._files]

    def array(self):
        """All instances in one array [rows] with a field for each column; a copy if in many files."""
        shards = self.shards()
        return shards[0] if len(shards) == 1 else numpy.concatenate(shards)

    def inputs(self, rows=None):
        """The models' inputs of instances: codes [rows][attributes] in the smallest common type.

        rows  an array with such fields, such as a shard; None: all instances
        """
        rows = self.array() if rows is None else rows
        names = self.named("attribute")
        common = numpy.result_type(*(rows.dtype[name] for name in names))
        return numpy.stack([rows[name].astype(common, copy=False) for name in names], axis=-1)

    def pairs(self, rows=None):
        """The same of the inputs with another label that instances were reported with."""
        rows = self.array() if rows is None else rows
        pair_of = {c.attribute: c.name for c in self.columns if c.holds == "pair"}
        if not pair_of:
            raise ResultsError(f"{self.path}: has no pairs, expected output.columns labels or all")
        inputs = self.inputs(rows)
        for place, column in enumerate(c for c in self.columns if c.holds == "attribute"):
            if column.attribute in pair_of:
                inputs[..., place] = rows[pair_of[column.attribute]]
        return inputs

    def plausibility(self):
        """How ordinary each instance is beside the table's rows.

        An array [rows] with the fields distance (Gower's, 0 to 1), surprise (nats),
        distance_percentile and surprise_percentile (0 to 100, among the table's own rows).
        """
        self._needs_instances()
        path = self.path / PLAUSIBILITY_FILE
        if not path.is_file():
            raise ResultsError(f"{path}: no such file, expected a run with "
                               "output.plausibility: true")
        rows, first = _records(path, PLAUSIBILITY_FIGURES)
        if len(rows) != len(self):
            raise ResultsError(f"{path}: has {len(rows)} rows, expected {len(self)}")
        figures = numpy.empty(len(rows), [(name, "f8") for name in PLAUSIBILITY_FIGURES])
        for name, cells in zip(PLAUSIBILITY_FIGURES, zip(*rows)):
            figures[name] = _numbers(path, name, cells, first, "f8")
        return figures

    def frame(self, words=False):
        """A pandas DataFrame of all instances, in codes, or in the domain's words."""
        import pandas

        rows = self.array()
        frame = pandas.DataFrame({name: rows[name] for name in rows.dtype.names})
        if words:
            for column in self.columns:
                if column.words:
                    frame[column.name] = frame[column.name].map(
                        lambda code, words=column.words: words.get(code, code))
        return frame

    def verify(self):
        """Raises ResultsError unless all files have the digests that instances.json lists."""
        self._needs_instances()
        for file in self._files:
            digest = hashlib.sha256()
            try:
                with open(self.path / file["name"], "rb") as data:
                    while block := data.read(HASHED_AT_ONCE):
                        digest.update(block)
            except OSError as error:
                raise _unreadable(self.path / file["name"], error) from error
            if digest.hexdigest() != file["sha256"]:
                raise ResultsError(f"{self.path / file['name']}: is not the file that "
                                   "instances.json lists: its SHA-256 differs")

    def _load(self, path, rows):
        loaded = {"npy": self._load_npy, "csv": self._load_csv,
                  "parquet": self._load_parquet}[self.format](path)
        if len(loaded) != rows:
            raise ResultsError(f"{path}: has {len(loaded)} rows, expected {rows}")
        return loaded

    def _load_npy(self, path):
        try:
            loaded = numpy.lib.format.open_memmap(path, mode="r")
        except OSError as error:
            raise _unreadable(path, error) from error
        except (EOFError, OverflowError, SyntaxError, TypeError, ValueError) as error:
            raise _damaged(path, "is no array of instances", error) from error
        if loaded.dtype != self.dtype or loaded.ndim != 1:
            raise ResultsError(f"{path}: has other columns than instances.json")
        return loaded

    def _header(self):
        """The cells of instances.csv's first line; names may occur twice there."""
        return [{"attribute": column.attribute, "pair": f"pair_{column.attribute}"}.get(
            column.holds, column.holds) for column in self.columns]

    def _load_csv(self, path):
        rows, first = _records(path, self._header())
        loaded = numpy.empty(len(rows), self.dtype)
        for column, cells in zip(self.columns, zip(*rows)):
            if column.holds == "phase":
                cells = self._codes(path, column, cells, first)
            loaded[column.name] = _numbers(path, column.name, cells, first, column.dtype)
        return loaded

    @staticmethod
    def _codes(path, column, words, first):
        codes = {word: code for code, word in column.words.items()}
        for line, word in enumerate(words, first):
            if word not in codes:
                raise ResultsError(f"{path}:{line}: {column.name} is {_shown(word)}, expected one "
                                   f"of {', '.join(codes)}")
        return [codes[word] for word in words]

    def _load_parquet(self, path):
        from pyarrow import parquet

        try:
            table = parquet.read_table(path)
            loaded = numpy.empty(table.num_rows, self.dtype)
            for column in self.columns:
                loaded[column.name] = table.column(column.name).to_numpy()
        except OSError as error:
            raise _unreadable(path, error) from error
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(path, "is no table of instances", error) from error
        return loaded
