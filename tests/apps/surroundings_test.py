"""Files that are none, names that are too long, a working directory that is gone, a stderr that is full: one line and
the exit code that says which."""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"])
BINARY = os.environ["FAIRLANE_BINARY"]
PATIENCE = 20  # seconds; whoever waits for a pipe waits for ever
NO_INPUT, DATA, OUTPUT, USAGE = 66, 65, 73, 64


def fairlane(*arguments, **options):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=PATIENCE, **options)


class Surroundings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("census.safetensors", "census.csv", "census.domain.yaml"):
            shutil.copy(SOURCE / "configs" / "demo" / name, self.folder)
        (self.folder / "config.yaml").write_text(
            "model: census.safetensors\ndata: census.csv\ndomain: census.domain.yaml\nprotected: [gender]\n"
            "method: eidig\nglobal: {num: 5, clusters: 2}\nlocal: {num: 5}\noutput: {dir: out}\n")

    def expect(self, code, parts, outcome):
        """One line, with these parts."""
        self.assertEqual(code, outcome.returncode, outcome.stderr)
        self.assertEqual(1, outcome.stderr.count("\n"), outcome.stderr)
        for part in ("fairlane: error: ", *parts):
            self.assertIn(part, outcome.stderr)

    def test_what_is_no_file_is_refused_at_once(self):
        strange = self.folder / "strange"

        def fifo():
            os.mkfifo(strange)
            return "is a FIFO (named pipe)"

        def device():
            strange.symlink_to("/dev/zero")
            return "is a device"

        def listening():
            server = socket.socket(socket.AF_UNIX)
            self.addCleanup(server.close)
            server.bind(str(strange))
            return "is a socket"

        def directory():
            strange.mkdir()
            return "is a directory"

        config = self.folder / "config.yaml"
        finished = self.folder / "finished"
        self.assertEqual(0, fairlane("run", config, "--out", finished).returncode)
        for make in (fifo, device, listening, directory):
            what = make()
            commands = [("run", strange), ("inspect", self.folder / "census.csv", strange),
                        ("init", self.folder / "census.safetensors", strange, "--out", self.folder / "new.yaml")]
            for key in ("data", "domain", "model", "global.seeds"):
                commands.append(("run", config, "--set", f"{key}={strange}"))
            if make is not directory:  # one of results
                commands.append(("inspect", strange))
            for command in commands:
                with self.subTest(what=what, command=command):
                    self.expect(NO_INPUT, ["strange", what], fairlane(*command))
            for name in ("manifest.json", "summary.json", "instances.csv"):
                changed = self.folder / "changed"
                shutil.rmtree(changed, ignore_errors=True)
                shutil.copytree(finished, changed)
                (changed / name).unlink()
                (changed / name).symlink_to(strange)
                with self.subTest(what=what, file=name):
                    self.expect(NO_INPUT, [name, what], fairlane("check", changed))
            if make is directory:
                strange.rmdir()
            else:
                strange.unlink()

    def test_names_that_are_too_long(self):
        long = "x" * 300
        config = self.folder / "config.yaml"
        self.expect(OUTPUT, ["File name too long"], fairlane("run", config, "--out", self.folder / long))
        self.expect(OUTPUT, ["File name too long"], fairlane("run", config, "--out", self.folder / long / "out"))
        self.expect(OUTPUT, ["File name too long"], fairlane("demo", "--out", self.folder / long))
        self.expect(OUTPUT, ["File name too long"],
                    fairlane("init", self.folder / "census.safetensors", self.folder / "census.csv", "--out",
                             self.folder / f"{long}.yaml"))
        for command in (("run", self.folder / long), ("run", self.folder / long / "manifest.json"),
                        ("inspect", self.folder / long), ("check", self.folder / long),
                        ("run", config, "--against", self.folder / long, "--out", self.folder / "a"),
                        ("run", config, "--set", f"model={long}"), ("run", config, "--set", f"data={long}")):
            with self.subTest(command=command):
                self.expect(NO_INPUT, ["File name too long"], fairlane(*command))

    def test_a_deleted_working_directory(self):
        gone = self.folder / "gone"

        def leave():
            gone.mkdir()
            os.chdir(gone)
            gone.rmdir()

        config = self.folder / "config.yaml"
        for command in (("run", "config.yaml"), ("inspect", "census.csv"), ("check", "out"),
                        ("init", self.folder / "census.safetensors", self.folder / "census.csv")):
            with self.subTest(command=command):
                self.expect(NO_INPUT, [], fairlane(*command, preexec_fn=leave))
        outcome = fairlane("run", config, "--out", "out", preexec_fn=leave)
        self.expect(NO_INPUT, ["out: ", "working directory"], outcome)
        # Nothing here needs it.
        self.assertEqual("", fairlane("run", config, "--quiet", preexec_fn=leave).stderr)

    def test_a_closed_stream_is_no_file_of_ours(self):
        """What is printed must not go into a file that got the number of a closed stream."""
        for closed in ([2], [1, 2], [0, 1, 2]):
            def close(closed=closed):
                for stream in closed:
                    os.close(stream)

            with self.subTest(closed=closed):
                run = subprocess.Popen([BINARY, "estimate", self.folder / "config.yaml", "--out", self.folder / "out",
                                        "--error", "1e-6"], preexec_fn=close, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    lock = self.folder / "out" / ".partial" / "lock"
                    deadline = time.monotonic() + PATIENCE
                    while not lock.exists() and time.monotonic() < deadline:
                        time.sleep(0.01)
                    streams = [os.readlink(f"/proc/{run.pid}/fd/{stream}") for stream in (0, 1, 2)]
                    self.assertEqual(["/dev/null"] * 3, streams)
                finally:
                    run.kill()
                    run.wait()
                shutil.rmtree(self.folder / "out")

    def test_why_a_folder_of_folders_cannot_be_created(self):
        outcome = fairlane("run", self.folder / "config.yaml", "--out", "/sys/fairlane/out")
        self.expect(OUTPUT, ["/sys/fairlane/out: cannot be created: "], outcome)
        self.assertNotIn("No such file", outcome.stderr)

    def test_a_link_that_leads_nowhere(self):
        (self.folder / "dangling").symlink_to("nowhere")
        self.expect(OUTPUT, ["dangling: is a link that leads nowhere"],
                    fairlane("run", self.folder / "config.yaml", "--out", self.folder / "dangling"))

    def test_without_a_stderr_the_exit_code_still_tells(self):
        for arguments, code in ((["bogus"], USAGE), (["run", self.folder / "none"], NO_INPUT),
                                (["run", self.folder / "config.yaml"], 0)):
            with self.subTest(arguments=arguments), open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([BINARY, *arguments], stdout=subprocess.DEVNULL, stderr=full, check=False)
                self.assertEqual(code, done.returncode)


if __name__ == "__main__":
    unittest.main()
