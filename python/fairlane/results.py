"""A finished output directory, and its instances as arrays."""
from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
import pathlib

import numpy

from fairlane.errors import ResultsError

HASHED_AT_ONCE = 1 << 20  # bytes
PLAUSIBILITY_FILE = "instances.plausibility.csv"


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of the instances.

    name       of its field in arrays
    holds      attribute, pair, label, pair_label, score, pair_score, phase, seed or iteration
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
    """The results in a directory that `fairlane run` or `enumerate --instances` has finished.

    Raises ResultsError, or OSError where a file cannot be read.
    """
    return Results(directory)


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
            index = self._json("instances.json")
            self.format = index["format"]
            self._files = index["files"]
            self.columns = [
                Column(one["name"], one["holds"], one["type"], one.get("attribute"),
                       {int(code): word for code, word in one.get("words", {}).items()})
                for one in index["columns"]
            ]

    def _json(self, name):
        path = self.path / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise ResultsError(f"{path}: is no JSON: {error}") from error

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
        with open(path, encoding="utf-8", newline="") as lines:
            records = csv.reader(lines)
            dtype = numpy.dtype([(name, "f8") for name in next(records)])
            figures = numpy.array([tuple(map(float, record)) for record in records], dtype)
        if len(figures) != len(self):
            raise ResultsError(f"{path}: has {len(figures)} rows, expected {len(self)}")
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
            with open(self.path / file["name"], "rb") as data:
                while block := data.read(HASHED_AT_ONCE):
                    digest.update(block)
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
        loaded = numpy.load(path, mmap_mode="r", allow_pickle=False)
        if loaded.dtype != self.dtype:
            raise ResultsError(f"{path}: has other columns than instances.json")
        return loaded

    def _load_csv(self, path):
        codes = {column.name: {word: code for code, word in column.words.items()}
                 for column in self.columns if column.holds == "phase"}
        with open(path, encoding="utf-8", newline="") as lines:
            records = csv.reader(lines)
            next(records)
            cells = list(zip(*records))
        loaded = numpy.empty(len(cells[0]) if cells else 0, self.dtype)
        for column, values in zip(self.columns, cells):
            words = codes.get(column.name)
            loaded[column.name] = [words[v] for v in values] if words else \
                numpy.array(values).astype(column.dtype)
        return loaded

    def _load_parquet(self, path):
        from pyarrow import parquet

        table = parquet.read_table(path)
        loaded = numpy.empty(table.num_rows, self.dtype)
        for column in self.columns:
            loaded[column.name] = table.column(column.name).to_numpy()
        return loaded
