"""bench/peers/run_peer.py against a small program that stands in for the peers', and a TensorFlow that is none."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

try:
    import numpy  # the adapter's
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

BINARY = os.environ["FAIRLANE_BINARY"]
ROOT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"])
ADAPTER = ROOT / "bench" / "peers" / "run_peer.py"
CONFIG = ROOT / "configs" / "demo" / "config.yaml"
SKIPPED = 77

# A network: women (attribute 5 of the demo's domain is 1) with education 3 or more are decided differently.
TENSORFLOW = """
    import types
    import numpy as np

    def load_model(path):
        assert path.endswith("census.safetensors"), path
        return lambda rows: ((rows[:, EDUCATION] >= 3) & (rows[:, GENDER] == WOMAN)).astype(np.float32)[:, None]

    keras = types.SimpleNamespace(models=types.SimpleNamespace(load_model=load_model))
    random = types.SimpleNamespace(set_seed=lambda seed: None)
"""

# "Finds" the first seed with every education: some are IDIs, and one lies outside the domain. Some come twice.
PROGRAM = """
    import numpy as np

    def global_generation(X, seeds, num_attribs, protected_attribs, constraint, model, decay, max_iter, s_g):
        assert X.shape[1] == num_attribs == len(constraint) and list(protected_attribs) == [GENDER]
        assert (decay, max_iter, s_g) == (0.5, 10, 1.0)
        assert all(row in X.tolist() for row in seeds.tolist())
        rows = np.repeat(seeds[:1], 3, axis=0)
        rows[:, EDUCATION] = [2, 3, 3]
        return rows[1:2] if FOUND else np.empty((0, num_attribs)), rows, 11

    def local_generation(num_attribs, l_num, g_id, protected_attribs, constraint, model, update_interval, s_l, epsilon):
        assert FOUND, "there is nothing to start from"
        assert (l_num, update_interval, s_l, epsilon) == (7, 5, 1.0, 1e-6)
        rows = np.repeat(g_id, 5, axis=0)
        g_id[:] = -1  # as theirs do
        rows[:, EDUCATION] = [1, 3, 4, 4, constraint[EDUCATION][1] + 1]
        return rows, rows, 7
"""


class RunPeer(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.checkout = pathlib.Path(temporary.name)
        shown = subprocess.run([BINARY, "inspect", CONFIG.with_name("census.csv"), CONFIG.with_name("census.domain.yaml"),
                                "--json"], stdout=subprocess.PIPE, text=True, check=True)
        self.names = [attribute["name"] for attribute in json.loads(shown.stdout)["attributes"]]

    def write(self, name, text, found=True):
        text = textwrap.dedent(text)
        for word, value in (("EDUCATION", self.names.index("education")), ("GENDER", self.names.index("gender")),
                            ("WOMAN", 0), ("FOUND", found)):
            text = text.replace(word, str(value))
        (self.checkout / name).write_text(text, encoding="utf-8")

    def run_adapter(self, *arguments, program="eidig"):
        return subprocess.run([sys.executable, ADAPTER, "--program", program, "--checkout", self.checkout, "--config",
                               CONFIG, "--fairlane", BINARY, "--seeds", "20", "--local", "7", *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def test_counts_by_our_definitions(self):
        self.write("tensorflow.py", TENSORFLOW)
        self.write("EIDIG.py", PROGRAM)
        done = self.run_adapter("--json")
        self.assertEqual(0, done.returncode, done.stderr)
        result = json.loads(done.stdout)
        theirs = result["theirs"]
        # Reported: education 1, 3 and 4, and one beyond the domain; of the others 1 is no IDI.
        self.assertEqual(4, theirs["reported"])
        self.assertEqual(1, theirs["outside_the_domain"])
        self.assertEqual(1, theirs["no_idi"])
        self.assertEqual(2, theirs["unique_instances"])
        self.assertEqual(2, theirs["unique_groups"])
        self.assertEqual(18, theirs["iterations"])
        self.assertGreaterEqual(result["ours"]["unique_generated"], 20)
        self.assertGreater(result["ours"]["unique_instances"], 0)
        # Five inputs around the first seed, which may be one of them, and the seeds.
        self.assertIn(theirs["unique_generated"], (24, 25))
        table = self.run_adapter()
        self.assertEqual(0, table.returncode, table.stderr)
        self.assertIn("Of 4 that it reports 1 lie outside the domain and 1 are no IDIs.", table.stdout)

    def test_a_peer_that_finds_nothing(self):
        self.write("tensorflow.py", TENSORFLOW)
        self.write("EIDIG.py", PROGRAM, found=False)
        done = self.run_adapter("--json")
        self.assertEqual(0, done.returncode, done.stderr)
        theirs = json.loads(done.stdout)["theirs"]
        self.assertEqual((0, 0, 11), (theirs["reported"], theirs["unique_groups"], theirs["iterations"]))

    def test_skips_say_why(self):
        done = self.run_adapter(program="adf")
        self.assertEqual(SKIPPED, done.returncode)
        self.assertRegex(done.stderr, r"^skipped: .*has no ADF\.py.*\n$")
        self.write("EIDIG.py", PROGRAM)
        self.write("tensorflow.py", "raise ImportError('not here')")
        done = self.run_adapter()
        self.assertEqual(SKIPPED, done.returncode)
        self.assertRegex(done.stderr, r"^skipped: TensorFlow cannot be imported: not here\n$")
        self.assertEqual({"EIDIG.py", "tensorflow.py"}, {path.name for path in self.checkout.iterdir()},
                         "the checkout stays as it is")


if __name__ == "__main__":
    unittest.main()
