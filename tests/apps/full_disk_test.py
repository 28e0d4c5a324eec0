"""A disk that is full, or has no place for another file: one line and exit code 74 (73 where nothing can be created),
nothing half visible; once there is space the same command ends with the bytes of one that was left alone."""
import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from sturdy_jobs import JOBS, Acknowledged, Jobs, difference, is_sanitized, problem_of

BYTES, INODES = 1 << 23, 200
PAGE = 4096
PAGES = (0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 64, 128, 256, 512)  # that are free, until that is enough
FILES = (*range(12), 15, 20, 27, 35, 50, 80, 120)  # that can be created, until that is enough
DONE, OUTPUT, FAILED = 0, 73, 74


def unmount(disk):
    if subprocess.run(["umount", disk], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        subprocess.run(["umount", "-l", disk], check=False)
    os.rmdir(disk)


def mounted_disk():
    """A small file system in memory; ends the test where that is not allowed."""
    disk = tempfile.mkdtemp()
    words = ["mount", "-t", "tmpfs", "-o", f"size={BYTES},nr_inodes={INODES}", "none", disk]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        problem = done.stderr.strip() if done.returncode != 0 else None
    except OSError as error:
        problem = str(error)
    if problem:
        os.rmdir(disk)
        print("a tmpfs cannot be mounted:", problem)
        sys.exit(77)
    atexit.register(unmount, disk)
    return pathlib.Path(disk)


class FullDisk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.jobs = Jobs(cls.folder, is_quick=True)
        cls.whole = {}
        for job in JOBS:
            cls.whole[job] = cls.folder / f"whole-{job}"
            done = cls.jobs.run(job, DISK / "out")  # where the paths in a manifest lead from
            assert done.returncode == DONE, done.stderr
            shutil.move(DISK / "out", cls.whole[job])

    def leave_pages(self, count):
        space = os.statvfs(DISK)
        with open(DISK / "ballast", "wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, (space.f_bavail - count) * PAGE)
        self.assertEqual(count, os.statvfs(DISK).f_bavail)

    def leave_files(self, count):
        for number in range(os.statvfs(DISK).f_favail - count):
            (DISK / f"ballast{number}").touch()
        self.assertEqual(count, os.statvfs(DISK).f_favail)

    def starve(self, job, leave, count):
        """Returns the exit code of the command that lacks space."""
        out = DISK / "out"
        leave(count)
        done = self.jobs.run(job, out)
        self.assertIn(done.returncode, (DONE, OUTPUT, FAILED), done.stderr)
        if done.returncode != DONE:
            self.assertEqual(1, done.stderr.count("\n"), done.stderr)
            self.assertIn(str(DISK), done.stderr)
            self.assertIn("No space left on device", done.stderr)
        if out.exists():
            self.assertIsNone(problem_of(out, self.whole[job], was_stopped=job == "sweep"))
        for ballast in DISK.glob("ballast*"):
            ballast.unlink()
        acknowledged = Acknowledged(out)
        again = self.jobs.run(job, out)
        self.assertEqual((DONE, ""), (again.returncode, again.stderr))
        self.assertIsNone(acknowledged.problem())
        self.assertIsNone(difference(out, self.whole[job]))
        return done.returncode

    def starve_until_enough(self, leave, counts, what):
        if is_sanitized():
            counts = (counts[0], *counts[2::4], counts[-1])
        for job in JOBS:
            ends = []
            for count in counts:
                with self.subTest(job=job, left=count):
                    try:
                        ends.append(self.starve(job, leave, count))
                    finally:
                        for path in DISK.iterdir():
                            shutil.rmtree(path) if path.is_dir() else path.unlink()
                    if ends[-1] == DONE:
                        break
            print(f"{job}: ended with {ends} for {list(counts[:len(ends)])} {what}", flush=True)
            self.assertEqual(DONE, ends[-1])
            self.assertIn(FAILED, ends)

    def test_no_space(self):
        self.starve_until_enough(self.leave_pages, PAGES, "pages")

    def test_no_more_files(self):
        self.starve_until_enough(self.leave_files, FILES, "files")


if __name__ == "__main__":
    DISK = mounted_disk()
    unittest.main()
