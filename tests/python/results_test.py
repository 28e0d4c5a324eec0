"""The Python package reads what a run wrote, in every format, and PyTorch learns from it."""
import csv
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ["FAIRLANE_BINARY"]
ROOT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"])
DEMO = ROOT / "configs" / "demo"
UNAVAILABLE = 69  # exit code of what this build lacks
sys.path.insert(0, str(ROOT / "python"))
sys.path.append(str(ROOT / "build" / "python"))  # what scripts/setup fetches from PyPI

try:
    import numpy
except ImportError:
    print("numpy is not installed for", sys.executable)
    sys.exit(77)

import fairlane


def lacks(*modules):
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"not installed for {sys.executable}: {', '.join(missing)}")


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def run_demo(self, name, **output):
        """The results of a small search, made once for each set of options."""
        out = self.folder / name
        if not out.exists():
            flags = [part for key, value in output.items() for part in ("--set", f"output.{key}={value}")]
            done = subprocess.run(
                [BINARY, "run", DEMO / "config.yaml", "--out", out, "-q", *flags],
                capture_output=True, text=True)
            if done.returncode == UNAVAILABLE and "Parquet plug-in" in done.stderr:
                self.skipTest(done.stderr)
            self.assertEqual(0, done.returncode, done.stderr)
        return fairlane.read(out)

    def plain(self):
        """The rows of instances.csv, as the csv module has them."""
        self.run_demo("plain")
        with open(self.folder / "plain" / "instances.csv", encoding="utf-8", newline="") as lines:
            return list(csv.reader(lines))

    def test_every_format_has_the_same_rows(self):
        header, *rows = self.plain()
        for name, output in {"plain": {}, "npy": {"format": "npy"},
                             "shards": {"format": "npy", "shard_rows": 100},
                             "csv-shards": {"shard_rows": 77}}.items():
            with self.subTest(name):
                results = self.run_demo(name, **output)
                results.verify()
                self.assertEqual(len(rows), len(results))
                array = results.array()
                self.assertEqual(header, list(array.dtype.names))
                phases = next(c.words for c in results.columns if c.holds == "phase")
                for row, expected in zip(array, rows):
                    for column, cell in zip(results.columns, expected):
                        value = row[column.name]
                        if column.holds == "phase":
                            self.assertEqual(cell, phases[int(value)])
                        elif column.dtype == "<f4":
                            self.assertEqual(numpy.float32(cell), value)
                        else:
                            self.assertEqual(int(cell), value)

    def test_the_file_in_words_is_not_taken_for_the_instances(self):
        header, *rows = self.plain()
        results = self.run_demo("words", format="npy", shard_rows=100, words="true")
        results.verify()
        self.assertEqual(len(rows), len(results))
        with open(results.path / "instances.words.csv", encoding="utf-8", newline="") as lines:
            first, *words = csv.reader(lines)
        self.assertEqual(header, first)
        self.assertEqual(len(rows), len(words))
        self.assertTrue(any(c.words for c in results.columns if c.holds == "attribute"))
        for row, expected in zip(words, rows):
            for column, word, cell in zip(results.columns, row, expected):
                in_words = column.holds in ("attribute", "pair", "label", "pair_label")
                self.assertEqual(column.words.get(int(cell), cell) if in_words else cell, word)

    @lacks("pyarrow")
    def test_parquet_has_the_same_rows(self):
        everything = self.run_demo("npy", format="npy")
        for name, output in {"parquet": {}, "zstd": {"zstd": "true", "shard_rows": 100}}.items():
            with self.subTest(name):
                results = self.run_demo(name, format="parquet", **output)
                results.verify()
                self.assertTrue((everything.array() == results.array()).all())

    def test_arrays_are_small_and_not_loaded(self):
        results = self.run_demo("npy", format="npy")
        shard, = results.shards()
        self.assertIsInstance(shard, numpy.memmap)
        attributes = results.named("attribute")
        self.assertEqual({"uint8"}, {str(shard.dtype[name]) for name in attributes})
        self.assertEqual((len(results), len(attributes)), results.inputs().shape)

    def test_pairs_differ_in_protected_attributes_alone(self):
        results = self.run_demo("npy", format="npy")
        inputs, pairs = results.inputs(), results.pairs()
        protected = [c.attribute for c in results.columns if c.holds == "pair"]
        changed = {results.named("attribute")[i] for i in numpy.flatnonzero((inputs != pairs).any(0))}
        self.assertTrue(changed and changed <= set(protected), changed)
        self.assertTrue((inputs != pairs).any(1).all())

    def test_plausibility_is_that_of_its_file(self):
        results = self.run_demo("plausible", plausibility="true", format="npy", shard_rows=100)
        with open(self.folder / "plausible" / "instances.plausibility.csv", encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        figures = results.plausibility()
        self.assertEqual(len(results), len(figures))
        self.assertEqual(["distance", "surprise", "distance_percentile", "surprise_percentile"],
                         list(figures.dtype.names))
        for name in figures.dtype.names:
            self.assertEqual([float(row[name]) for row in rows], figures[name].tolist())
        with self.assertRaisesRegex(fairlane.ResultsError, "expected a run with output.plausibility: true"):
            self.run_demo("plain").plausibility()

    def expect_error(self, file, line, expected, read):
        """A ResultsError of one line, about that line of that file."""
        with self.assertRaises(fairlane.ResultsError) as caught:
            read()
        message = str(caught.exception)
        place = f"{file}:{line}: " if line else f"{file}: "
        self.assertTrue(message.startswith(place), message)
        self.assertIn("expected " + expected, message)
        self.assertNotIn("\n", message)

    def test_a_damaged_file_of_plausibility_is_refused_with_its_line(self):
        header = "distance,surprise,distance_percentile,surprise_percentile"
        results = self.run_demo("spoilt", plausibility="true")
        path = self.folder / "spoilt" / "instances.plausibility.csv"
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        line = lines[2].decode()
        cells = line.rstrip().split(",")

        def with_line(text):
            return b"".join([*lines[:2], text, *lines[3:]])

        for what, data, number, expected in (
                ("cut row", with_line(",".join(cells[:2]).encode() + b"\n"), 3, "4"),
                ("more cells", with_line((line.rstrip() + ",1\n").encode()), 3, "4"),
                ("no cells", with_line(b"\n"), 3, "4"),
                ("word", with_line(line.replace(cells[1], "x", 1).encode()), 3, "a finite number"),
                ("nan", with_line(line.replace(cells[1], "nan", 1).encode()), 3, "a finite number"),
                ("open quote", with_line(b'"' + lines[2]), len(lines), ""),
                ("nothing", b"", 1, f"the header {header}"),
                ("binary", b"\x80\xff\x00\xfe" * 64, 1, f"the header {header}"),
                ("binary row", with_line(b"\x80\xff," * 3 + b"\xfe\n"), 3, "a finite number"),
                ("other header", whole.replace(b"surprise,", b"surprize,", 1), 1, f"the header {header}"),
                ("fewer rows", b"".join(lines[:-1]), None, str(len(results))),
                ("cut file", whole[:-len(lines[-1]) + 3], len(lines), "4")):
            with self.subTest(what):
                path.write_bytes(data)
                if what == "open quote":
                    with self.assertRaisesRegex(fairlane.ResultsError, r"^[^\n]*csv:\d+: is no CSV: [^\n]*$"):
                        results.plausibility()
                    continue
                self.expect_error(path, number, expected, results.plausibility)
        path.write_bytes(whole)
        self.assertEqual(len(results), len(results.plausibility()))

    def test_damaged_instances_are_refused_with_their_line(self):
        results = self.run_demo("spoilt-csv")
        path = self.folder / "spoilt-csv" / "instances.csv"
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        header = lines[0].decode().rstrip()
        cells = lines[2].decode().rstrip().split(",")
        phase = header.split(",").index("phase")

        def with_cells(changed):
            return b"".join([*lines[:2], ",".join(changed).encode() + b"\n", *lines[3:]])

        def with_cell(at, text):
            return with_cells([text if i == at else cell for i, cell in enumerate(cells)])

        for what, data, number, expected in (
                ("cut row", with_cells(cells[:3]), 3, str(len(cells))),
                ("more cells", with_cells([*cells, "1"]), 3, str(len(cells))),
                ("no cells", with_cells([]), 3, str(len(cells))),
                ("word", with_cell(0, "x"), 3, "a whole number 0..255"),
                ("fraction", with_cell(0, "1.5"), 3, "a whole number 0..255"),
                ("beyond its type", with_cell(0, "256"), 3, "a whole number 0..255"),
                ("below its type", with_cell(0, "-1"), 3, "a whole number 0..255"),
                ("phase", with_cell(phase, "lokal"), 3, "one of global, local, walk"),
                ("nothing", b"", 1, f"the header {header}"),
                ("binary", b"\x80\xff\x00\xfe" * 64, 1, f"the header {header}"),
                ("other header", whole.replace(b"phase,", b"stage,", 1), 1, f"the header {header}"),
                ("fewer rows", b"".join(lines[:-1]), None, str(len(results)))):
            with self.subTest(what):
                path.write_bytes(data)
                self.expect_error(path, number, expected, results.array)
        path.unlink()
        for read in (results.array, results.verify):
            with self.assertRaisesRegex(fairlane.MissingInputError, "instances.csv: cannot be read: No such file"):
                read()
        path.write_bytes(whole)
        self.assertEqual(len(results), len(results.array()))

    def test_damaged_arrays_and_lists_are_refused(self):
        results = self.run_demo("spoilt-npy", format="npy")
        path = self.folder / "spoilt-npy" / "instances.npy"
        whole = path.read_bytes()
        for data in (b"", b"\x80\xff", whole[:40], whole[:-7], b"PK\x03\x04" + whole[4:]):
            path.write_bytes(data)
            with self.assertRaisesRegex(fairlane.ResultsError, r"^[^\n]*instances.npy: is no array of [^\n]*$"):
                results.array()
        path.write_bytes(whole)
        index = self.folder / "spoilt-npy" / "instances.json"
        text = index.read_bytes()
        for data, message in ((b"\x80", "is no JSON: "), (b"{", "is no JSON: "), (b"[]", "is no JSON object"),
                              (b"{}", "is no list of instances"),
                              (text.replace(b'"npy"', b'"txt"'), "lists 'txt', expected csv, npy or parquet"),
                              (text.replace(b'"u1"', b'"no"').replace(b'"|u1"', b'"no"'), "is no list of instances")):
            with self.subTest(message):
                index.write_bytes(data)
                with self.assertRaisesRegex(fairlane.ResultsError, rf"^[^\n]*instances.json: {message}[^\n]*$"):
                    fairlane.read(self.folder / "spoilt-npy")
        index.write_bytes(text)
        (self.folder / "spoilt-npy" / "manifest.json").unlink()
        with self.assertRaisesRegex(fairlane.MissingInputError, "manifest.json: cannot be read: No such file"):
            fairlane.read(self.folder / "spoilt-npy")

    @lacks("pyarrow")
    def test_damaged_tables_of_parquet_are_refused(self):
        results = self.run_demo("spoilt-parquet", format="parquet")
        path = self.folder / "spoilt-parquet" / "instances.parquet"
        whole = path.read_bytes()
        for data in (b"", b"\x80\xff", whole[:-7]):
            path.write_bytes(data)
            with self.assertRaisesRegex(fairlane.ResultsError, r"^[^\n]*instances.parquet: is no table of [^\n]*$"):
                results.array()

    def test_fewer_columns(self):
        everything = self.run_demo("npy", format="npy")
        for columns, lacking in (("labels", ["score"]), ("inputs", ["score", "label", "pair"])):
            with self.subTest(columns):
                few = self.run_demo("few-" + columns, format="npy", columns=columns)
                self.assertEqual([], few.named(*lacking))
                names = list(few.dtype.names)
                self.assertTrue((everything.array()[names] == few.array()).all())
        with self.assertRaisesRegex(fairlane.ResultsError, "has no pairs, expected output.columns"):
            self.run_demo("few-inputs").pairs()

    @lacks("pandas")
    def test_a_frame_in_codes_and_in_words(self):
        header, *rows = self.plain()
        results = self.run_demo("npy", format="npy")
        frame = results.frame()
        self.assertEqual(header, list(frame.columns))
        self.assertEqual([int(row[0]) for row in rows], list(frame[header[0]]))
        done = subprocess.run([BINARY, "prepare", "--decode", self.folder / "npy"],
                              capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        with open(self.folder / "npy.words" / "instances.csv", encoding="utf-8") as lines:
            _, *words = list(csv.reader(lines))
        spoken = results.frame(words=True)
        for column in results.columns:
            if column.dtype != "<f4":
                place = header.index(column.name)
                self.assertEqual([row[place] for row in words],
                                 [str(cell) for cell in spoken[column.name]], column.name)

    @lacks("torch")
    def test_a_network_learns_from_the_shards(self):
        import torch
        from torch.utils.data import BatchSampler, DataLoader, RandomSampler

        from fairlane.datasets import InstanceDataset, PairDataset

        results = self.run_demo("shards", format="npy", shard_rows=100)
        self.assertGreater(len(results.shards()), 2)
        data = InstanceDataset(results)
        whole = results.array()
        for number in (0, 99, 100, len(data) - 1, -1):
            inputs, label = data[number]
            self.assertEqual(list(results.inputs(whole[number])), list(inputs.numpy()))
            self.assertEqual(whole["label"][number], label.item())
        with self.assertRaisesRegex(IndexError, "none of number"):
            data[len(data)]
        with self.assertRaisesRegex(ValueError, "has no column vote, expected one of"):
            InstanceDataset(results, target="vote")

        torch.manual_seed(1)
        scale = torch.tensor(results.inputs().max(0).astype("f4") + 1)
        network = torch.nn.Sequential(torch.nn.Linear(len(scale), 32), torch.nn.ReLU(),
                                      torch.nn.Linear(32, 2))
        optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
        loss_of = torch.nn.CrossEntropyLoss()
        losses = []
        for _ in range(30):
            batches = BatchSampler(RandomSampler(data), batch_size=128, drop_last=False)
            losses.append(0.0)
            for inputs, labels in DataLoader(data, sampler=batches, batch_size=None):
                optimizer.zero_grad()
                loss = loss_of(network(inputs / scale), labels)
                loss.backward()
                optimizer.step()
                losses[-1] += loss.item() * len(labels) / len(data)
        self.assertLess(losses[-1], 0.7 * losses[0])

        inputs, similar = PairDataset(results)[numpy.arange(len(data))]
        self.assertEqual(inputs.shape, similar.shape)
        self.assertTrue((inputs != similar).any(1).all())

    def test_what_is_wrong_is_said(self):
        with self.assertRaisesRegex(fairlane.ResultsError, "no such directory"):
            fairlane.read(self.folder / "nowhere")
        (self.folder / "empty").mkdir()
        with self.assertRaisesRegex(fairlane.ResultsError, "has no DONE"):
            fairlane.read(self.folder / "empty")
        none = self.run_demo("none", format="none")
        self.assertEqual(0, len(none))
        with self.assertRaisesRegex(fairlane.ResultsError, "holds no instances, expected"):
            none.array()
        cut = self.run_demo("cut", format="npy", shard_rows=100)
        path = self.folder / "cut" / "instances-00001.npy"
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        with self.assertRaisesRegex(fairlane.ResultsError, "instances-00001.npy: is not the file"):
            cut.verify()
        index = json.loads((self.folder / "cut" / "instances.json").read_text(encoding="utf-8"))
        index["files"][0]["rows"] += 1
        (self.folder / "cut" / "instances.json").write_text(json.dumps(index), encoding="utf-8")
        with self.assertRaisesRegex(fairlane.ResultsError, "has 100 rows, expected 101"):
            fairlane.read(self.folder / "cut").array()


if __name__ == "__main__":
    unittest.main()
