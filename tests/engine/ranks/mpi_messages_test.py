"""Messages between ranks of mpirun: small and large ones in their order, and, where memory is there, some of more than 2 GiB,
which MPI cannot count."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from mpi_ranks import mpirun, need_mpi  # noqa: E402

PROGRAM = sys.argv.pop(1)
GIB = 1 << 30
HUGE = 2 * GIB + 12345  # more than an int counts
NEEDED = 14 * GIB  # two ranks: what each sends, the plug-in's copy, what it takes, what it compares that with


def free_memory():
    for line in pathlib.Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


class Messages(unittest.TestCase):
    def check(self, ranks, size):
        done = mpirun(ranks, PROGRAM, size)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "fine\n", ""))

    def test_any_number_of_ranks_and_any_size(self):
        for ranks in (1, 2, 4):
            for size in (0, 1, 32768, 32769, 5_000_000):
                with self.subTest(ranks=ranks, size=size):
                    self.check(ranks, size)

    def test_more_than_two_gib(self):
        if free_memory() < NEEDED:
            self.skipTest(f"{free_memory() / GIB:.1f} GiB of memory are free, {NEEDED / GIB:.0f} are needed")
        self.check(2, HUGE)

    def test_without_mpirun(self):
        import subprocess
        done = subprocess.run([PROGRAM], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 69 if "plug-in" in done.stderr else 64)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    need_mpi()
    unittest.main(verbosity=2)
