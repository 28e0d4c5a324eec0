"""`fairlane audit` by the command line: what it says equals what enumerate, estimate and check say, it repeats itself, and
wrong use is one line."""
import csv
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import unittest

from sturdy_jobs import wait_until, widened

BINARY = os.environ["FAIRLANE_BINARY"]
DEMO = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"], "configs", "demo")
PATIENCE = 240
TIME = "1000"  # seconds; so many that no clock decides what is examined


def without_time(path):
    value = json.loads(path.read_bytes())
    value.pop("timing")
    return value


class Numbers:
    """Tests of what holds of any audit of the demo, whose domain file ends with these lines."""
    constraints = ""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        for name in ("census.safetensors", "census.csv", "census.domain.yaml"):
            shutil.copy(DEMO / name, cls.folder / name)
        with open(cls.folder / "census.domain.yaml", "a", encoding="utf-8") as domain:
            domain.write(cls.constraints)
        (cls.folder / "people.yaml").write_text(
            "model: census.safetensors\ndata: census.csv\ndomain: census.domain.yaml\nprotected: [age, gender]\n"
            "output: {dir: results}\n", encoding="utf-8")
        done = cls.fairlane("audit", "people.yaml", "--time", TIME, "--out", "out")
        assert done.returncode == 0, done.stderr
        cls.said = done.stdout
        cls.audit = json.loads((cls.folder / "out" / "audit.json").read_bytes())
        cls.sets = {one["name"]: one for one in cls.audit["sets"]}

    @classmethod
    def fairlane(cls, *words):
        return subprocess.run([BINARY, *words, "--quiet"], cwd=cls.folder, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)

    def json_of(self, *words):
        done = self.fairlane(*words, "--json")
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def fails(self, code, said, *words):
        done = self.fairlane("audit", *words)
        self.assertEqual(code, done.returncode, done.stderr)
        self.assertEqual(1, done.stderr.count("\n"), done.stderr)
        self.assertIn(said, done.stderr)

    def test_shares_are_those_of_estimate_and_enumerate(self):
        for name, one in self.sets.items():
            protected = "protected=[" + name.replace("+", ", ") + "]"
            rows = self.json_of("estimate", "people.yaml", "--set", protected, "--rows")["counts"]
            self.assertEqual((rows["samples"], rows["hits"]), (one["rows"]["count"], one["rows"]["affected"]), name)
            counted = self.json_of("enumerate", "people.yaml", "--set", protected, "--out", f"counted-{name}")
            self.assertEqual("count", one["domain"]["source"])
            self.assertEqual(counted["success_rate"], one["domain"]["share"])
            self.assertEqual(counted["counts"]["groups"], one["domain"]["groups"])

    def test_findings_hold(self):
        """Each finding's decisions are those of instances.csv, which `check` proves."""
        for name in ("age", "gender", "age+gender"):
            protected = "protected=[" + name.replace("+", ", ") + "]"
            self.json_of("enumerate", "people.yaml", "--set", protected, "--instances", "all", "--out", f"all-{name}")
            with open(self.folder / f"all-{name}" / "instances.csv", newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                attributes = reader.fieldnames[:9]
                known = {tuple(row[a] for a in attributes): row for row in reader}
            findings = self.sets[name]["findings"]
            self.assertEqual(10, len(findings))
            for finding in findings:
                row = known[tuple(str(finding["codes"][a]) for a in attributes)]
                self.assertEqual((int(row["label"]), int(row["pair_label"])),
                                 (finding["decision"]["class"], finding["other"]["class"]))
                self.assertAlmostEqual(float(row["score"]), finding["decision"]["score"], 6)
                self.assertTrue(finding["changed"])

    def test_rows_of_findings_are_rows_of_the_table(self):
        lines = (DEMO / "census.csv").read_text(encoding="utf-8").splitlines()
        names = lines[0].split(",")
        seen = 0
        for one in self.sets.values():
            for finding in one["findings"]:
                if finding["source"] == "row":
                    cells = dict(zip(names, lines[finding["line"] - 1].split(",")))
                    self.assertEqual({a: int(cells[a]) for a in finding["codes"]}, finding["codes"])
                    self.assertEqual(0.0, finding["plausibility"]["distance"])
                    seen += 1
        self.assertGreater(seen, 0)


class Audit(Numbers, unittest.TestCase):
    def test_every_protected_attribute_alone_then_together(self):
        self.assertEqual(["age", "race", "gender", "age+gender"], list(self.sets))

    def test_the_planted_discrimination(self):
        gender = self.sets["gender"]
        self.assertEqual(186, gender["rows"]["affected"])
        self.assertEqual([{"better": ["male"], "worse": ["female"], "rows": 186, "reverse_rows": 0}],
                         gender["preferences"])
        self.assertEqual(0, self.sets["race"]["rows"]["affected"])
        self.assertEqual([], self.sets["race"]["findings"])
        self.assertIn("region is North", self.sets["age"]["rules"][0]["text"])
        self.assertEqual("differs", self.audit["verdict"]["level"])
        self.assertIn(f"{self.sets['age+gender']['rows']['affected']} of 5,000", self.audit["verdict"]["text"])

    def test_it_repeats_itself(self):
        again = self.fairlane("audit", "people.yaml", "--time", TIME, "--out", "out", "--threads", "1")
        self.assertEqual(0, again.returncode, again.stderr)
        self.assertEqual(self.said, again.stdout)
        value = without_time(self.folder / "out" / "audit.json")
        expected = dict(self.audit)
        expected.pop("timing")
        self.assertEqual(expected, value)
        self.assertEqual(["DONE", "audit.json", "junit.xml", "manifest.json", "report.html", "report.md"],
                         sorted(path.name for path in (self.folder / "out").iterdir()))

    def test_inspect_shows_it_again(self):
        shown = self.fairlane("inspect", "out")
        self.assertEqual(0, shown.returncode, shown.stderr)
        self.assertIn(self.audit["verdict"]["text"], shown.stdout)

    def test_inspect_shows_its_findings_in_any_order(self):
        everyone = [{"set": one["name"], **finding} for one in self.audit["sets"] for finding in one["findings"]]

        def implausibility(finding):
            return max(finding["plausibility"]["distance_percentile"], finding["plausibility"]["surprise_percentile"])

        def each_once(findings):
            people = {}
            for finding in findings:
                people.setdefault(json.dumps(finding["codes"]), finding)
            return list(people.values())

        orders = {"file": each_once(everyone), "severity": each_once(sorted(everyone, key=lambda one: -one["severity"])),
                  "plausibility": each_once(sorted(
                      everyone, key=lambda one: (implausibility(one), one["plausibility"]["surprise"])))}
        for sort, expected in orders.items():
            for count in (4, 1000):
                with self.subTest(sort=sort, count=count):
                    shown = self.fairlane("inspect", "out", "--top", str(count), "--sort", sort, "--json")
                    self.assertEqual(0, shown.returncode, shown.stderr)
                    self.assertEqual({"sort": sort, "count": len(everyone), "findings": expected[:count]},
                                     json.loads(shown.stdout))
        shown = self.fairlane("inspect", "out", "--top", "4", "--sort", "diversity", "--json")
        self.assertEqual(0, shown.returncode, shown.stderr)
        different = json.loads(shown.stdout)["findings"]
        self.assertEqual(4, len(each_once(different)))
        plausible = [one for one in everyone if implausibility(one) <= 99.0]
        self.assertEqual(max(one["severity"] for one in plausible), different[0]["severity"])
        self.assertTrue(all(one in everyone for one in different))
        shown = self.fairlane("inspect", "out", "--sort", "severity")
        self.assertIn("\nmost severe findings:\n", shown.stdout)

    def test_its_commands_give_the_same_numbers(self):
        """As a person copies them from the report: nothing is added."""
        done = self.fairlane("audit", "people.yaml", "--time", TIME, "--out", "other", "--seed", "7", "--set",
                             "threshold=0.3", "--set", "protected=[gender]")
        self.assertEqual(0, done.returncode, done.stderr)
        audit = json.loads((self.folder / "other" / "audit.json").read_bytes())
        self.assertNotEqual(self.sets["gender"]["rows"], audit["sets"][-1]["rows"])
        sets = {tuple(one["protected"]): one for one in audit["sets"]}
        for command in audit["reproduce"][1:]:
            words = shlex.split(command)[1:]
            summary = self.json_of(*words)
            one = sets[tuple(summary["protected"])]
            if words[0] == "run":
                self.assertEqual((one["search"]["instances"], one["search"]["groups"], one["search"]["evaluations"]),
                                 tuple(summary["counts"][name] for name in
                                       ("unique_instances", "unique_groups", "model_evaluations")), command)
            elif words[0] == "enumerate":
                self.assertEqual(one["domain"]["share"], summary["success_rate"], command)
            else:
                self.assertEqual(one["rows"]["affected"], summary["counts"]["hits"], command)
        self.assertEqual(sum(1 for one in audit["sets"] if one["search"]),
                         sum(1 for command in audit["reproduce"] if command.startswith("fairlane run")))

    def test_a_policy(self):
        share = self.sets["age+gender"]["rows"]["share"]
        for limit, code, word in ((share / 2, 1, True), (share, 0, False)):
            done = self.fairlane("audit", "people.yaml", "--time", "1", "--out", "policy", "--overwrite",
                                 "--fail-above", f"rows:{limit}")
            self.assertEqual(code, done.returncode, done.stderr)
            policy = json.loads((self.folder / "policy" / "audit.json").read_bytes())["policy"]
            self.assertEqual({"share": "rows", "above": limit, "met": word}, policy)

    def test_a_limit_that_is_exceeded_names_the_set_and_its_share(self):
        share = self.sets["age+gender"]["rows"]["share"]
        limit = share / 2
        done = subprocess.run([BINARY, "audit", "people.yaml", "--time", "0", "--out", "exceeded", "--fail-above",
                               f"rows:{limit}"], cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE,
                              check=False)
        above = sum(one["rows"]["share"] > limit for one in self.sets.values()) - 1
        more = f"; {above} more set{' is' if above == 1 else 's are'} above it" if above else ""
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertRegex(done.stderr, f"rows:[0-9.]+: {100 * share:.2f} % of people in the table are affected "
                                      f"by age and gender together, above the limit of {100 * limit:.2f} %{more}\n")

    def test_an_undecided_policy(self):
        plausible = self.sets["age+gender"]["plausible"]
        done = self.fairlane("audit", "people.yaml", "--time", TIME, "--out", "undecided", "--fail-above",
                             f"plausible:{plausible['share']}")
        self.assertEqual((76, 1), (done.returncode, done.stderr.count("\n")), done.stderr)
        self.assertIsNone(json.loads((self.folder / "undecided" / "audit.json").read_bytes())["policy"]["met"])
        self.assertIn("undecided", (self.folder / "undecided" / "report.html").read_text(encoding="utf-8"))
        limit = plausible["share"]
        held = [one for one in self.sets.values() if one["plausible"]["low"] <= limit < one["plausible"]["high"]]
        self.assertLess(len(held), len(self.sets))
        junit = (self.folder / "undecided" / "junit.xml").read_text(encoding="utf-8")
        self.assertEqual(len(held), junit.count("<skipped"), "each set is judged by its own interval")

    def test_compared_values_leave_the_table_whole(self):
        done = self.fairlane("audit", "people.yaml", "--time", TIME, "--out", "listed", "--set",
                             "protected={gender: [0, 1], age: [1, 4]}", "--set", "output.report=false")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertFalse((self.folder / "listed" / "report.html").exists())
        audit = json.loads((self.folder / "listed" / "audit.json").read_bytes())
        sets = {one["name"]: one for one in audit["sets"]}
        self.assertEqual((5000, 5000), (audit["rows"], sets["gender"]["rows"]["count"]))
        self.assertLess(sets["age"]["rows"]["count"], 5000)
        self.assertEqual(self.sets["gender"]["rows"], sets["gender"]["rows"])
        self.assertEqual(self.sets["gender"]["plausible"], sets["gender"]["plausible"])
        for finding in sets["gender"]["findings"]:
            if finding["source"] == "row":
                self.assertEqual(0.0, finding["plausibility"]["distance"])

    def test_a_model_and_a_table(self):
        first = self.fairlane("audit", "census.safetensors", "census.csv", "--time", TIME)
        self.assertEqual(0, first.returncode, first.stderr)
        audit = without_time(self.folder / "census-audit" / "audit.json")
        self.assertEqual("age+race+gender", audit["sets"][-1]["name"])
        self.assertEqual(258, audit["sets"][-1]["rows"]["affected"])
        self.assertEqual(1.0, audit["agreement"])
        self.assertTrue(any("guessed" in line for line in audit["assumed"]))
        again = self.fairlane("audit", "census.safetensors", "census.csv", "--time", TIME)
        self.assertEqual((0, first.stdout), (again.returncode, again.stdout), again.stderr)
        config = self.folder / "census-audit.yaml"
        config.write_text(config.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
        self.fails(73, "`fairlane audit census-audit.yaml` takes it as it is", "census.safetensors", "census.csv")

    def test_a_signal_leaves_nothing(self):
        (self.folder / "wide.domain.yaml").write_text(widened(4, 4), encoding="utf-8")
        (self.folder / "wide.yaml").write_text(
            "model: census.safetensors\ndata: census.csv\ndomain: wide.domain.yaml\nprotected: [age, gender]\n"
            "output: {dir: results}\n", encoding="utf-8")
        out = self.folder / "stopped"
        with subprocess.Popen([BINARY, "audit", "wide.yaml", "--time", TIME, "--out", out, "--quiet"],
                              cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            self.assertTrue(wait_until(lambda: (out / ".partial" / "work" / "count").exists()))
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=PATIENCE)[1]
        self.assertEqual((130, "fairlane: error: interrupted; nothing was written: the same command begins anew\n"),
                         (process.returncode, said))
        self.assertFalse(out.exists())

    def test_a_protected_attribute_may_have_a_comma_in_its_name(self):
        table = self.folder / "said.csv"
        header, rows = (self.folder / "census.csv").read_text(encoding="utf-8").split("\n", 1)
        table.write_text(header.replace("gender", '"gender, as said"') + "\n" + rows, encoding="utf-8")
        words = ["census.safetensors", "said.csv", "--time", TIME, "--out", "said"]
        self.fails(64, """has no attribute 'gender'; a name that holds a comma stands in double quotes: '"gender, as said"'""",
                   *words, "--protected", "gender, as said")
        self.fails(64, "expected names such as age,race", *words, "--protected", '"gender, as said')
        chosen = 'age,"gender, as said"'
        audit = self.json_of("audit", *words, "--protected", chosen)
        self.assertEqual([["age"], ["gender, as said"], ["age", "gender, as said"]],
                         sorted((one["protected"] for one in audit["sets"]), key=len))
        self.assertIn(chosen, shlex.split(next(one for one in audit["reproduce"] if "fairlane audit" in one)))

    def test_wrong_use(self):
        self.fails(64, "TABLE is missing", "census.safetensors")
        self.fails(64, "leave 'census.csv' out", "people.yaml", "census.csv")
        self.fails(64, "--protected: the configuration says that", "people.yaml", "--protected", "age")
        self.fails(64, "expected one of 0, 1", "people.yaml", "--favourable", "yes", "--out", "none")
        self.fails(64, "expected one of rows, plausible, domain; did you mean 'rows'?", "people.yaml", "--fail-above",
                   "row:0.1")
        self.fails(64, "--time", "people.yaml", "--time", "soon")
        self.fails(66, "nobody.yaml", "nobody.yaml")
        (self.folder / "no-data.yaml").write_text(
            "model: census.safetensors\ndomain: census.domain.yaml\nprotected: [age]\noutput: {dir: x}\n",
            encoding="utf-8")
        self.fails(78, "names no `data`", "no-data.yaml")
        (self.folder / "unprotected.yaml").write_text(
            "model: census.safetensors\ndata: census.csv\ndomain: census.domain.yaml\noutput: {dir: x}\n",
            encoding="utf-8")
        self.fails(78, "has no 'protected', expected the attributes to test, such as [age, race]; census.domain.yaml "
                       "flags age, race, gender", "unprotected.yaml")
        self.assertFalse((self.folder / "none").exists())
        self.assertFalse((self.folder / "no-data-audit").exists())
        self.fails(64, "expected one of 0, 1", "census.safetensors", "census.csv", "--favourable", "yes", "--out", "no")
        self.fails(64, "--out is '.'", "census.safetensors", "census.csv", "--out", ".")
        self.assertEqual([], list(self.folder.glob("no.*")) + list(self.folder.glob("..*")))


class Sampled(unittest.TestCase):
    """A domain that is too large to be counted."""

    def test_the_command_that_is_printed_gives_the_same_sample(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file in ("census.safetensors", "census.csv"):
                shutil.copy(DEMO / file, folder / file)
            (folder / "wide.domain.yaml").write_text(
                widened(20, 6) + "constraints:\n  - {if: {region: {at_most: 9}}, then: {hours: {at_most: 20}}}\n",
                encoding="utf-8")
            (folder / "wide.yaml").write_text(
                "model: census.safetensors\ndata: census.csv\ndomain: wide.domain.yaml\nprotected: [age, gender]\n"
                "output: {dir: results}\n", encoding="utf-8")

            def json_of(*words):
                done = subprocess.run([BINARY, *words, "--quiet", "--json"], cwd=folder, capture_output=True, text=True,
                                      timeout=PATIENCE, check=False)
                self.assertEqual(0, done.returncode, done.stderr)
                return json.loads(done.stdout)

            def audited(seconds):
                return json_of("audit", "wide.yaml", "--time", str(seconds), "--out", "audited", "--overwrite", "--set",
                               "protected=[gender]")

            def cut_short():
                """The audit of the fewest seconds that leave some for samples on this machine."""
                for doublings in range(8):
                    audit = audited(2**doublings)
                    if audit["sets"][-1]["domain"]:
                        return audit
                return self.fail("no audit had seconds left for a sample")

            # Seconds that end the samples, and seconds that suffice for all of them.
            for audit in (cut_short(), audited(TIME)):
                one = audit["sets"][-1]
                self.assertEqual("sample", one["domain"]["source"])
                command = [line for line in audit["reproduce"] if "--samples" in line][-1]
                summary = json_of(*shlex.split(command)[1:])
                counts = summary["counts"]
                self.assertLess(counts["samples"] * 2, counts["model_evaluations"], "some violate the constraint")
                self.assertEqual((one["domain"]["groups"], one["domain"]["share"], one["domain"]["low"],
                                  one["domain"]["high"]),
                                 (counts["samples"], *(summary["success_rate"][name] for name in ("share", "low", "high"))),
                                 command)


class Constrained(Numbers, unittest.TestCase):
    """What nobody can be counts nowhere."""
    constraints = ("constraints:\n"
                   "  - {if: {age: 18-29}, then: {marital: [single, married], experience: {at_most: 3}}}\n"
                   "  - {if: {gender: male, region: North}, then: {hours: {not: part-time}}}\n"
                   "  - {from_data: [education, occupation]}\n")

    @staticmethod
    def exists(codes):
        young = codes["age"] == 1 and (codes["marital"] == 2 or codes["experience"] > 3)
        return not young and not (codes["gender"] == 1 and codes["region"] == 0 and codes["hours"] == 1)

    def test_only_who_exists_is_audited(self):
        with open(DEMO / "census.csv", newline="", encoding="utf-8") as file:
            rows = [{name: int(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
        existing = [row for row in rows if self.exists(row)]
        self.assertLess(len(existing), len(rows))
        for one in self.sets.values():
            self.assertEqual(len(existing), one["rows"]["count"])
            self.assertEqual(0, one["rows"]["undefined"])
            for finding in one["findings"]:
                self.assertTrue(self.exists(finding["codes"]), finding)
        self.assertTrue(any("violate a constraint" in line for line in self.audit["assumed"]))
        # If everybody were male, those who could not be are not counted.
        rate = {one["values"][0]: one for one in self.sets["gender"]["rates"]}["male"]
        self.assertEqual(sum(self.exists({**row, "gender": 1}) for row in existing), rate["rows"])


if __name__ == "__main__":
    unittest.main()
