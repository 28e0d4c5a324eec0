"""A model of a Python process answers the program: its labels are the model's own, on every row."""
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from people import ROOT, decide, lacks, merit, numpy, pandas, people

import fairlane

SLOW = """
import os, sys
sys.path[:0] = [{tests!r}]
from people import decide, people
import fairlane, time
def slow(table):
    time.sleep(0.01)
    return decide(table)
subject = fairlane.prepare(slow, people(200), protected="sex", out={out!r})
print("ready", flush=True)
try:
    fairlane.run(subject, out={out!r} + "/found", set={{"budget.iterations": 100000000,
                 "global.num": 100000}}, seed=3)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check_labels(self, model, own, table=None, **options):
        """The program's labels, of all rows and of what it finds, are what `own` gives frames."""
        table = people() if table is None else table
        protected = options.pop("protected", "sex")
        subject = fairlane.prepare(model, table, protected=protected, out=self.folder / "subject",
                                   **options)
        places = {value: place for place, value in enumerate(subject.classes)}

        def classes(codes):
            return numpy.array([places[value] for value in own(subject.frame(codes))])

        expected = classes(subject.codes)
        self.assertEqual(set(range(len(subject.classes))), set(expected))
        self.assertTrue((expected == subject.labels()).all())

        # Whoever of the rows, and of those who differ from one in the protected attribute alone,
        # has another one with another label, is an instance, with that label; nobody else is.
        place = [attribute.name for attribute in subject.attributes].index(protected)
        everybody = numpy.repeat(subject.codes, len(subject.attributes[place].codes), axis=0)
        everybody[:, place] = numpy.tile(subject.attributes[place].codes, len(subject.codes))
        everybody = numpy.unique(everybody, axis=0)
        labels = classes(everybody)
        groups = numpy.unique(numpy.delete(everybody, place, axis=1), axis=0, return_inverse=True)
        of_group = {}
        for group, label in zip(groups[1].reshape(-1), labels):
            of_group.setdefault(group, set()).add(label)
        affected = numpy.array([len(of_group[group]) > 1 for group in groups[1].reshape(-1)])
        found = fairlane.enumerate(subject, out=self.folder / "rows", rows=True, instances="all",
                                   set={"output.format": "npy"}).findings
        order = numpy.lexsort(found.inputs().T[::-1])
        self.assertGreater(affected.sum(), 10)
        self.assertEqual(everybody[affected].tolist(), found.inputs()[order].tolist())
        self.assertEqual(labels[affected].tolist(), found.array()["label"][order].tolist())

        outcome = fairlane.run(subject, out=self.folder / "found", threads=1,
                               set={"global.num": 20, "local.num": 20})
        self.assertEqual(0, outcome.exit_code)
        found = outcome.findings
        self.assertGreater(len(found), 0)
        for codes, column in ((found.inputs(), "label"), (found.pairs(), "pair_label")):
            self.assertEqual(classes(codes).tolist(), found.array()[column].tolist())
        return subject


class Labels(Folder):
    def test_a_function_that_gives_words(self):
        subject = self.check_labels(decide, decide)
        self.assertEqual(("labels", ["granted", "refused"]), (subject.kind, subject.classes))

    def test_a_function_that_gives_truth_values_or_integers(self):
        for kind in (bool, int):
            with self.subTest(kind):
                self.folder = self.folder / kind.__name__
                subject = self.check_labels(lambda table: (merit(table) > 0).astype(kind),
                                            lambda table: (merit(table) > 0).astype(kind))
                self.assertEqual([kind(0), kind(1)], subject.classes)

    def test_probabilities_at_the_boundary(self):
        # In float32 all of these are a half.
        def probability(table):
            return 0.5 + numpy.sign(merit(table)) * 1e-12

        self.check_labels(probability, lambda table: (merit(table) > 0).astype(int))

    def test_a_place_among_the_rows_that_matters(self):
        called = []

        def probability(table):
            called.append(len(table))
            z = merit(table)
            place = numpy.arange(len(z))
            return 0.9 / (1 + numpy.exp(-z)) + numpy.where(place < 8, 0, 1e-9)

        subject = fairlane.prepare(probability, people(), protected="sex", out=self.folder / "s")
        called.clear()
        subject.labels()
        self.assertEqual({8}, set(called))

    def test_another_threshold(self):
        def probability(table):
            return 1 / (1 + numpy.exp(-merit(table)))

        self.check_labels(probability, lambda table: (probability(table) > 0.3).astype(int),
                          threshold=0.3)

    def test_logits_of_three_classes(self):
        def scores(table):
            z = merit(table)
            return numpy.stack([-z, numpy.full(len(z), 1.0), z + 1e-9], axis=1)

        self.check_labels(scores, lambda table: scores(table).argmax(axis=1), kind="logits")

    def test_an_array_of_numbers(self):
        draw = numpy.random.default_rng(5)
        table = draw.integers(0, 30, (400, 4)).astype(numpy.float32)

        def own(rows):
            self.assertEqual(numpy.float32, rows.dtype)
            return (rows @ numpy.array([1, -1, 0.5, 0.25], numpy.float32) > 11).astype(int)

        self.check_labels(own, own, table, protected="x1", bins={"x0": [5, 10, 20]})

    @lacks("torch")
    def test_a_network_of_torch_stays_as_it_is(self):
        import torch

        torch.manual_seed(1)
        network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(), torch.nn.ReLU(),
                                      torch.nn.Linear(8, 2))
        network.train()
        draw = numpy.random.default_rng(5)
        table = pandas.DataFrame(draw.normal(0, 3, (500, 3)), columns=["a", "b", "c"])

        def own(frame):
            rows = frame.to_numpy(numpy.float32)
            network.eval()
            with torch.inference_mode():
                scores = [network(torch.from_numpy(rows[i:i + 1])) for i in range(len(rows))]
            network.train()
            return torch.cat(scores).numpy().argmax(axis=1)

        subject = self.check_labels(network, own, table, protected="a")
        self.assertEqual("logits", subject.kind)
        self.assertTrue(network.training)

    @lacks("keras")
    def test_networks_of_keras(self):
        import keras

        keras.utils.set_random_seed(1)
        draw = numpy.random.default_rng(5)
        table = pandas.DataFrame(draw.normal(0, 3, (500, 3)), columns=["a", "b", "c"])
        for units, activation, kind in ((1, "sigmoid", "probabilities"),
                                        (3, "softmax", "probabilities"), (2, None, "logits")):
            with self.subTest(units):
                self.folder = self.folder / "next"
                network = keras.Sequential([
                    keras.layers.Input((3,)), keras.layers.Dense(8, activation="relu"),
                    keras.layers.Dense(units, activation=activation)])

                def own(frame):
                    scores = numpy.concatenate([
                        network.predict_on_batch(frame.to_numpy(numpy.float32)[i:i + 2048])
                        for i in range(0, len(frame), 2048)])
                    return ((scores[:, 0] > 0.5).astype(int) if units == 1 else
                            scores.argmax(axis=1))

                self.assertEqual(kind, self.check_labels(network, own, table,
                                                         protected="a").kind)

    def pipeline(self, classifier):
        from sklearn.compose import make_column_transformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        table = people()
        words = ["sex", "job", "district", "owner"]
        columns = make_column_transformer(
            (OneHotEncoder(handle_unknown="error"), words),
            (make_pipeline(SimpleImputer(), StandardScaler()),
             ["age", "income", "children", "rate", "points"]))
        return make_pipeline(columns, classifier).fit(table, decide(table))

    @lacks("sklearn")
    def test_pipelines_of_scikit_learn(self):
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC
        from sklearn.tree import DecisionTreeClassifier

        for classifier, kind in ((LogisticRegression(), "probabilities"),
                                 (RandomForestClassifier(10, random_state=1), "probabilities"),
                                 (DecisionTreeClassifier(random_state=1), "probabilities"),
                                 (LinearSVC(random_state=1, dual=False), "logits")):
            with self.subTest(type(classifier).__name__):
                self.folder = self.folder / "next"
                pipeline = self.pipeline(classifier)
                subject = self.check_labels(pipeline, pipeline.predict)
                self.assertEqual(kind, subject.kind)

    @lacks("sklearn")
    def test_what_predict_says_is_the_decision(self):
        from sklearn.linear_model import LogisticRegression

        pipeline = self.pipeline(LogisticRegression())

        class Strict:
            classes_ = pipeline.classes_

            def predict_proba(self, table):
                return pipeline.predict_proba(table)

            def predict(self, table):  # needs more than a half
                return self.classes_[(pipeline.predict_proba(table)[:, 1] > 0.8).astype(int)]

        subject = self.check_labels(Strict(), Strict().predict)
        self.assertEqual("labels", subject.kind)

    @lacks("sklearn", "xgboost")
    def test_xgboost_with_categories(self):
        import xgboost

        table = people().astype({"sex": "category", "district": "category"})
        labels = (decide(table) == "granted").astype(int)
        model = xgboost.XGBClassifier(n_estimators=10, max_depth=3, enable_categorical=True)
        model.fit(table, labels)
        self.check_labels(model, model.predict, table)
        self.folder = self.folder / "booster"
        self.check_labels(model.get_booster(), model.predict, table)

    @lacks("sklearn", "lightgbm")
    def test_lightgbm_with_categories(self):
        import lightgbm

        table = people().astype({"sex": "category", "district": "category", "points": float})
        model = lightgbm.LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1)
        model.fit(table, decide(table))
        self.check_labels(model, model.predict, table)


class Commands(Folder):
    def test_counts_are_those_of_a_loop(self):
        table = people()[["sex", "owner", "children", "rate", "job"]]

        def own(frame):
            score = (3 * (frame["sex"] == "Male") - frame["children"].fillna(1.5) + frame["rate"]
                     + 2 * frame["owner"] - (frame["job"] == "clerk"))
            return (score > 0.7).astype(int).to_numpy()

        subject = fairlane.prepare(own, table, protected=["sex"])
        counts = [len(attribute.codes) for attribute in subject.attributes]
        grid = numpy.stack(numpy.meshgrid(*[attribute.codes for attribute in subject.attributes],
                                          indexing="ij"), axis=-1)
        labels = own(subject.frame(grid.reshape(-1, len(counts)))).reshape(counts)
        affected = int((labels[0] != labels[1]).sum())
        self.assertGreater(affected, 0)
        outcome = fairlane.enumerate(subject, out=self.folder / "counted")
        self.assertEqual(labels[0].size, outcome.summary["counts"]["groups"])
        self.assertEqual(affected, outcome.summary["counts"]["unique_groups"])
        estimate = fairlane.estimate(subject, rows=True)
        self.assertIsNone(estimate.directory)
        codes = subject.codes.copy()
        same = own(subject.frame(codes))
        codes[:, 0] = 1 - codes[:, 0]
        self.assertAlmostEqual(float((own(subject.frame(codes)) != same).mean()),
                               estimate.summary["success_rate"]["share"])

    def test_a_configuration(self):
        config = ROOT / "configs" / "demo" / "config.yaml"
        outcome = fairlane.run(config, out=self.folder / "demo", seed=3,
                               set={"global.num": 20, "local.num": 20})
        self.assertEqual(("run", 0), (outcome.command, outcome.exit_code))
        self.assertEqual(outcome.summary["counts"]["unique_instances"], len(outcome.findings))
        judged = fairlane.estimate(config, samples=2000)
        self.assertEqual(2000, judged.summary["counts"]["samples"])
        verdict = fairlane.verify(config, out=self.folder / "verified")
        self.assertEqual("sat", verdict.summary["verdict"])
        compared = fairlane.compare(config, out=self.folder / "compared", methods="margin,themis",
                                    repeats=1, set={"budget": {"evaluations": 2000}})
        self.assertEqual({"margin", "themis"},
                         {one["method"] for one in compared.summary["methods"]})

    def test_progress(self):
        class Screen(io.StringIO):
            def isatty(self):
                return self.looked_at

        program = self.folder / "program"
        program.write_text('#!/bin/sh\necho "$*" >> "$0.asked"\necho "fairlane: warning: x" >&2\n'
                           'echo "a long step  1 s" >&2\necho "short" >&2\necho "{}"\n',
                           encoding="utf-8")
        program.chmod(0o755)
        quiet, lines = "fairlane: warning: x\na long step  1 s\nshort\n", "--progress=lines"
        rewritten = ("fairlane: warning: x\n\ra long step  1 s\rshort" + " " * 11
                     + "\r     \r")
        # Somebody looks on; what was asked for; what is shown; what the program is told.
        for looked_at, progress, expected, option in (
                (False, {}, "", "--quiet"), (False, {"progress": True}, quiet, lines),
                (True, {}, rewritten, lines), (True, {"progress": False}, "", "--quiet")):
            with self.subTest(looked_at=looked_at, **progress):
                screen = Screen()
                screen.looked_at = looked_at
                with mock.patch.dict(os.environ, FAIRLANE_BINARY=str(program)), \
                        mock.patch.object(sys, "stderr", screen):
                    fairlane.run("any.yaml", **progress)
                self.assertEqual(expected, screen.getvalue())
                asked = (self.folder / "program.asked").read_text(encoding="utf-8")
                self.assertEqual(f"run any.yaml --json {option}", asked.splitlines()[-1])

    def test_a_policy_is_a_result(self):
        config = ROOT / "configs" / "demo" / "config.yaml"
        outcome = fairlane.run(config, out=self.folder / "demo", fail_above=0.0001,
                               set={"global.num": 20, "local.num": 20})
        self.assertEqual(1, outcome.exit_code)

    def test_errors_are_the_programs(self):
        config = ROOT / "configs" / "demo" / "config.yaml"
        for kind, code, call in (
                (fairlane.MissingInputError, 66, lambda: fairlane.run("nowhere.yaml", out="x")),
                (fairlane.UsageError, 64, lambda: fairlane.run(config, out="x", colour="red")),
                (fairlane.ConfigError, 78, lambda: fairlane.run(config, out="x",
                                                                set={"method": "egidi"})),
                (fairlane.OutputError, 73, lambda: fairlane.run(config, out=str(ROOT / "docs")))):
            with self.subTest(code):
                with self.assertRaises(kind) as caught:
                    call()
                self.assertEqual(code, caught.exception.exit_code)
                self.assertIsInstance(caught.exception, fairlane.Error)
                self.assertNotIn("\n", str(caught.exception))
                self.assertFalse(str(caught.exception).startswith("fairlane: error"))

    def test_a_model_that_fails_is_told_with_its_exception(self):
        prepared = []

        def model(table):
            if prepared:
                raise ZeroDivisionError("no such person")
            return decide(table)

        subject = fairlane.prepare(model, people(300), protected="sex")
        prepared.append(True)
        with self.assertRaisesRegex(fairlane.ModelError,
                                    "raised ZeroDivisionError: no such person") as caught:
            fairlane.run(subject, out=self.folder / "found")
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
        self.assertEqual(75, caught.exception.exit_code)

    def test_a_label_that_was_never_seen(self):
        prepared = []

        def model(table):
            return numpy.full(len(table), "perhaps") if prepared else decide(table)

        subject = fairlane.prepare(model, people(300), protected="sex")
        prepared.append(True)
        with self.assertRaisesRegex(fairlane.ModelError, "gave the label 'perhaps', expected one"):
            fairlane.run(subject, out=self.folder / "found")

    def test_the_model_is_called_by_the_thread_that_asks(self):
        import threading

        threads = set()

        def model(table):
            threads.add(threading.get_ident())
            return decide(table)

        subject = fairlane.prepare(model, people(300), protected="sex")
        fairlane.estimate(subject, samples=1000)
        self.assertEqual({threading.get_ident()}, threads)

    def test_an_interrupted_run_saves_its_state(self):
        out = str(self.folder / "slow")
        code = SLOW.format(tests=str(pathlib.Path(__file__).parent), out=out)
        process = subprocess.Popen([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertEqual("ready\n", process.stdout.readline())
        until = time.monotonic() + 60
        while not os.path.exists(out + "/found/.partial/lock") and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        self.assertEqual("interrupted\n", process.stdout.read())
        self.assertEqual(0, process.wait())
        self.assertTrue(os.path.exists(out + "/found/.partial/state"))

    def test_outside_of_its_process_the_model_says_so(self):
        subject = fairlane.prepare(decide, people(300), protected="sex", out=self.folder / "s")
        with self.assertRaisesRegex(fairlane.UnavailableError, "lives in a Python process"):
            fairlane.estimate(subject.config, allow_exec=True)


if __name__ == "__main__":
    unittest.main()
