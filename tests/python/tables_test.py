"""A DataFrame becomes codes and words, and codes become what the model was fitted on."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

from people import BINARY, ROOT, decide, lacks, numpy, pandas, people

import fairlane
from fairlane import tables


def coded(values, dtype=None, bins=4, distinct=5, **options):
    series = pandas.Series(values, dtype=dtype, name="x", **options)
    return tables.code_column(series, "x", bins, distinct)


class Columns(unittest.TestCase):
    def test_few_numbers_are_their_own_codes(self):
        attribute, codes = coded([3, 1, 2, 2])
        self.assertEqual({"low": 1, "high": 3}, attribute.entries)
        self.assertEqual(([3, 1, 2, 2], ["1", "2", "3"]), (codes.tolist(), attribute.words))
        attribute, codes = coded([5.0, -1.0, 5.0])
        self.assertEqual({"values": [-1, 5]}, attribute.entries)
        self.assertEqual([5.0, -1.0, 5.0], list(attribute.values.take(attribute.places(codes))))

    def test_few_fractions_are_ordered(self):
        attribute, codes = coded([0.25, 0.5, 0.1])
        self.assertEqual(["0.1", "0.25", "0.5"], attribute.words)
        self.assertEqual([1, 2, 0], codes.tolist())
        self.assertEqual(attribute.words, attribute.entries["categories"])
        below, *edges = attribute.entries["bins"]
        self.assertTrue(below < 0.1 and edges == [0.1, 0.25, 0.5])
        self.assertEqual(["exactly 1", "exactly 1.5"], coded([1, 1.5])[0].words)

    def test_many_numbers_are_binned_at_quantiles(self):
        seed = 20261125
        print("seed", seed)
        draw = numpy.random.default_rng(seed)
        for _ in range(200):
            count, k = int(draw.integers(8, 200)), int(draw.integers(2, 9))
            values = draw.choice([draw.normal(0, 1, count).round(2),
                                  draw.integers(-50, 50, count).astype(float)])
            if len(set(values)) <= 5:
                continue
            attribute, codes = coded(values, bins=k)
            # By the rule: an edge is the value that i/k of the rows reach.
            order = sorted(values)
            edges = sorted({order[-(-i * count // k) - 1] for i in range(1, k)} - {order[-1]})
            expected = [sum(edge < value for edge in edges) for value in values]
            self.assertEqual(expected, codes.tolist())
            for code, given in enumerate(attribute.values):
                inside = sorted(value for value, own in zip(values, codes) if own == code)
                self.assertEqual(inside[(len(inside) - 1) // 2], given)
            # The program's bins hold the same numbers.
            bounds = attribute.entries["bins"]
            for value, code in zip(values, codes):
                self.assertTrue(bounds[code] < value <= bounds[code + 1])

    def test_edges_that_are_given(self):
        attribute, codes = coded(range(20), bins=[4, 9, 100])
        self.assertEqual(["0-4", "5-9", "10-19"], attribute.words)
        self.assertEqual([5, 5, 10], numpy.bincount(codes).tolist())
        self.assertEqual([2, 7, 14], list(attribute.values))
        self.assertEqual(["-3 to 0", "1", "2-9"],
                         coded([-3, -1, 1, 0, 2, 9, 3], bins=[0, 1])[0].words)

    def test_missing_values_are_a_category(self):
        attribute, codes = coded([2, None, 0, 2])
        self.assertEqual((["0", "2", "missing"], [0, 2, 3]),
                         (attribute.words, attribute.codes.tolist()))
        self.assertEqual([2, 3, 0, 2], codes.tolist())
        self.assertTrue(numpy.isnan(attribute.values[2]))
        self.assertNotIn("bins", attribute.entries)
        for missing in (None, numpy.nan, pandas.NA):
            attribute, _ = coded(["a", missing, "missing"], dtype=object)
            self.assertEqual(["a", "missing", "missing (2)"], attribute.words)
            self.assertIs(missing, attribute.values[2])
        attribute, codes = coded([*range(30), None], bins=2)
        self.assertEqual(["0-14", "15-29", "missing"], attribute.words)
        self.assertEqual(["missing"], coded([None, None], dtype=object)[0].words)

    def test_words_that_are_numbers_are_their_own_codes(self):
        attribute, codes = coded(["30", "7", "x", "007", "1e3", "7", " ", "99999999"])
        self.assertEqual({"7": 7, "30": 30, '""': 31, '"007"': 32, '"1e3"': 33,
                          '"99999999"': 34, "x": 35},
                         dict(zip(attribute.words, attribute.codes.tolist())))
        self.assertEqual(["30", "7", "x", "007", "1e3", "7", " ", "99999999"],
                         list(attribute.values.take(attribute.places(codes))))

    def test_dtypes_stay(self):
        for series in (pandas.Series(["b", "a", None], dtype="category"),
                       pandas.Series(pandas.Categorical([3, 1, 3], categories=[3, 2, 1],
                                                        ordered=True)),
                       pandas.Series([True, False, True]),
                       pandas.Series([True, None, False], dtype="boolean"),
                       pandas.Series([1, None, 3], dtype="Int64"),
                       pandas.Series([1.5, None, 3], dtype="Float64"),
                       pandas.Series([1, 2, 3], dtype="uint8"),
                       pandas.Series([1.5, 2, 2], dtype="float32"),
                       pandas.Series(["x", "y", None], dtype="string"),
                       pandas.Series([1, "1", 2.5], dtype=object)):
            with self.subTest(series.dtype):
                attribute, codes = tables.code_column(series, "x", 4, 5)
                back = pandas.Series(attribute.values.take(attribute.places(codes)))
                pandas.testing.assert_series_equal(series, back, check_names=False)

    def test_categories_that_do_not_occur_are_left_out(self):
        attribute, _ = tables.code_column(
            pandas.Series(pandas.Categorical(["b", "a"], categories=["c", "b", "a"])), "x", 4, 5)
        self.assertEqual(["b", "a"], attribute.words)
        self.assertEqual(["c", "b", "a"], list(attribute.values.categories))

    def test_codes_beyond_the_domain_are_its_nearest_end(self):
        attribute, _ = coded([1, 2, 3])
        self.assertEqual([0, 2, 2], attribute.places(numpy.array([-5, 3, 9])).tolist())


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_the_program_reads_what_was_written(self):
        table = people()
        table["odd, \"name\"\n"] = numpy.where(table["owner"], "ä\u2028 <b>", "null: [x]")
        subject = fairlane.prepare(decide, table, decide(table), "sex", out=self.folder)
        done = subprocess.run([BINARY, "inspect", subject.table, subject.domain, "--json"],
                              capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        # Its words for the codes are ours.
        done = subprocess.run([BINARY, "prepare", "--decode", subject.table, "--domain",
                               subject.domain, "--out", self.folder / "words.csv"],
                              capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        read = pandas.read_csv(self.folder / "words.csv", dtype=str, keep_default_na=False)
        ours = subject.words()
        self.assertEqual(ours.columns.tolist(), read.columns.tolist()[:-1])
        for column in ours:
            self.assertEqual(ours[column].tolist(), read[column].tolist(), column)
        self.assertEqual(decide(table).tolist(), read["label"].tolist())

    def test_columns_of_few_values_come_back_as_they_were(self):
        table = people().drop(columns=["age", "income"])
        subject = fairlane.prepare(lambda frame: (frame["sex"] == "Male").to_numpy(), table,
                                   protected="sex")
        pandas.testing.assert_frame_equal(table.reset_index(drop=True), subject.frame())

    def test_a_column_that_is_fixed(self):
        table = people().assign(id=numpy.arange(1500).astype(str))
        seen = set()

        def model(frame):
            seen.update(frame["id"])
            self.assertEqual(table.columns.tolist(), frame.columns.tolist())
            return decide(frame)

        subject = fairlane.prepare(model, table, protected="sex", fixed={"id": "7"})
        fairlane.estimate(subject, samples=100)
        self.assertEqual({"7"}, seen)
        self.assertNotIn("id", [attribute.name for attribute in subject.attributes])

    def test_protected_values(self):
        table = people().assign(race=numpy.random.default_rng(1).choice(["a", "b", "c"], 1500))
        subject = fairlane.prepare(decide, table, out=self.folder,
                                   protected={"race": ["c", "a"], "sex": None})
        config = subject.config.read_text(encoding="utf-8")
        self.assertIn('protected: {"race": [0, 2], "sex": [0, 1]}', config)
        outcome = fairlane.estimate(subject, samples=100)
        self.assertEqual(4, outcome.summary["variants"])

    def test_classes_that_are_numbers(self):
        table = people()
        for classes, words in (([1, 2], ["class 1", "class 2"]), ([0, 1], ["0", "1"]),
                               ([-1, 1], ["class -1", "1"]), ([False, True], ["False", "True"])):
            with self.subTest(classes):
                labels = numpy.array(classes)[(decide(table) == "granted").astype(int)]
                subject = fairlane.prepare(
                    lambda frame: numpy.array(classes)[(decide(frame) == "granted").astype(int)],
                    table, labels, "sex", out=self.folder)
                listed = ", ".join(f"{json.dumps(word)}: {i}" for i, word in enumerate(words))
                self.assertIn(f"labels: {{{listed}}}", subject.domain.read_text(encoding="utf-8"))
                fairlane.estimate(subject, samples=100)

    def test_the_version_stands_in_one_place(self):
        import re

        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        pattern = re.search(r"^regex = '(.*)'$", text, re.MULTILINE)[1]
        found = re.search(pattern, (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
        shown = subprocess.run([BINARY, "--version"], capture_output=True, text=True).stdout
        self.assertIn(found["value"], shown)
        self.assertIsNone(re.search(r"^version =", text, re.MULTILINE))


class Wrong(unittest.TestCase):
    def check(self, message, *arguments, kind=fairlane.UsageError, **options):
        model, table, labels, protected = [*arguments, *[None] * 4][:4]
        with self.assertRaisesRegex(kind, message) as caught:
            fairlane.prepare(decide if model is None else model,
                             people(60) if table is None else table, labels,
                             "sex" if protected is None else protected, **options)
        self.assertNotIn("\n", str(caught.exception))
        self.assertIsInstance(caught.exception, fairlane.Error)

    def test_tables(self):
        self.check("X: is a list, expected a pandas DataFrame", None, [[1, 2]])
        self.check("X: has 0 rows", None, people(60).iloc[:0])
        self.check("X: has two columns 'sex'", None,
                   pandas.concat([people(60), people(60)[["sex"]]], axis=1))
        self.check("the name of column '1' is empty or that of another one", None,
                   people(60).assign(**{"1": 1}).rename(columns={"age": 1}))
        self.check("column 'born': holds datetime64", None,
                   people(60).assign(born=pandas.Timestamp("2020-01-01")))
        self.check("column 'tags': holds list, expected", None,
                   people(60).assign(tags=[[1]] * 60))
        self.check("column 'tags': holds dict, expected", None,
                   people(60).assign(tags=pandas.Series([{}, 3, "x"] * 20, dtype=object,
                                                        index=people(60).index)))
        self.check("column 'id': has 1,500 different words, expected at most 1,000; fixed=", None,
                   people().assign(id=[f"n{i}" for i in range(1500)]))
        self.check("column 'income': has infinite values", None,
                   people(60).assign(income=numpy.inf))
        self.check("X: is an array of object and shape", None, numpy.array([["a"]], object))

    def test_protected(self):
        self.check("protected: is empty, expected the columns of X", None, None, None, [])
        self.check("protected: X has no column 'gender' that varies", None, None, None, ["gender"])
        with self.assertRaisesRegex(fairlane.UsageError, "protected: is empty, expected"):
            fairlane.prepare(decide, people(60), protected=None)
        self.check("protected: is 3, expected columns of X, such as .'sex'.", None, None, None, 3)
        self.check("protected: of 'sex' the values .3. are compared", None, None, None, {"sex": 3})
        self.check("protected: column 'sex' has the one value Male", None,
                   people(60).assign(sex="Male"))
        self.check("protected: of 'sex' the values .* expected two or more of Female, Male", None,
                   None, None, {"sex": ["Female", "Other"]})

    def test_labels(self):
        self.check("y: has 3 labels, expected one for each of 60 rows", None, None, [1, 2, 3])
        self.check("y: 1 labels are missing", None, None, [1.0] * 59 + [numpy.nan])
        self.check("y: 1 labels are missing", None, None, ["granted"] * 59 + [None])
        self.check("y: has the label 'x', expected the model's classes 'granted', 'refused'",
                   None, None, ["x"] * 60, classes=["granted", "refused"])

    def test_options(self):
        self.check("bins: X has no column 'wage'", bins={"wage": 3})
        self.check("bins of 'age': is 1, expected 2 to", bins={"age": 1})
        self.check("bins of 'age': is .3, 2., expected", bins={"age": [3, 2]})
        self.check("bins of 'sex': the column holds words", bins={"sex": [3, 4]})
        self.check("distinct: is 0, expected an integer", distinct=0)
        self.check("threshold: is 1, expected a number between 0 and 1", threshold=1)
        self.check("threshold: is 0.3, but decide gives labels", threshold=0.3)
        self.check("seed: is -1, expected an integer 0 to", seed=-1)
        self.check("fixed: is .'age'., expected {column: value}", fixed=["age"])
        self.check("classes: is 2, expected at least two, in order", classes=2)
        self.check("fixed: X has no column 'id'", fixed={"id": 1})
        self.check("fixed: 'x' is no value of column 'age'", fixed={"age": "x"})

    def test_models(self):
        self.check("model: is a str, expected an estimator", "model.pkl")
        self.check("model: is a object, expected an estimator with predict", object())
        self.check("gives a dict for a row, expected a label", lambda table: [{}] * len(table))
        self.check("gives arrays of shape .60, 2, 2., expected",
                   lambda table: numpy.zeros((len(table), 2, 2)))
        self.check("gives numbers outside 0 to 1, so that they are no probabilities",
                   lambda table: table["age"].to_numpy(float))
        self.check("gives 'no' for every row: give classes=",
                   lambda table: numpy.full(len(table), "no"))

        class Regression:
            def predict(self, table):
                return table["age"].to_numpy(float)

        self.check("gives float64 and the model has no classes_: is it a classifier", Regression())
        for given, message in ((lambda table: 1 / 0, "the model raised ZeroDivisionError"),
                               (lambda table: [0.5], "gave an array of shape .1,. for 2048 rows")):
            with self.assertRaisesRegex(fairlane.ModelError, message):
                fairlane.prepare(given, people(60), protected="sex")
        with self.assertRaisesRegex(fairlane.UsageError, "kind: is 'odds', expected one of"):
            fairlane.prepare(decide, people(60), protected="sex", kind="odds")
        with self.assertRaisesRegex(fairlane.ModelError, "a probability outside 0 to 1"):
            fairlane.prepare(lambda table: table["age"].to_numpy(float), people(60),
                             protected="sex", kind="probabilities")
        with self.assertRaisesRegex(fairlane.ModelError, "gave the label 'granted', expected one"):
            fairlane.prepare(decide, people(60), protected="sex", classes=["no", "yes"])

    @lacks("sklearn")
    def test_columns_that_were_not_fitted(self):
        from sklearn.tree import DecisionTreeClassifier

        numbers = people(60)[["age", "rate"]]
        tree = DecisionTreeClassifier().fit(numbers, decide(people(60)))
        self.check("the model raised ValueError on rows of the table: .* unseen .* more", tree,
                   numbers.assign(more=1.5), None, "age", kind=fairlane.ModelError)
        self.check("the model raised NotFittedError", DecisionTreeClassifier(), numbers, None,
                   "age", kind=fairlane.ModelError)

    def test_the_program_is_missing(self):
        subject = fairlane.prepare(decide, people(60), protected="sex")
        with mock.patch.dict(os.environ, FAIRLANE_BINARY="/nowhere/fairlane"):
            with self.assertRaisesRegex(fairlane.UnavailableError,
                                        "^/nowhere/fairlane: cannot be started: No such file"):
                fairlane.run(subject, out="never")

    def test_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            pathlib.Path(path).write_text("", encoding="utf-8")
            self.check("cannot be written", kind=fairlane.OutputError, out=path + "/below")


if __name__ == "__main__":
    unittest.main()
