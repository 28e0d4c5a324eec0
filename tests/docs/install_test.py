"""What is installed works: the program, its manual page, its completions and the Debian package.

Skips, with a reason, what needs a program that is not here.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BINARY = pathlib.Path(os.environ["FAIRLANE_BINARY"]).resolve()
BUILD = BINARY.parent
CACHE = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
DOCUMENTS = ("share/man/man1/fairlane.1", "share/bash-completion/completions/fairlane",
             "share/fish/vendor_completions.d/fairlane.fish")


def run(*command, **options):
    """The standard output of a command that must succeed without a word of complaint about it."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                            check=False, **options)
    if result.returncode != 0:
        raise AssertionError(f"{command}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def needs(*programs):
    """Skips where one of the programs is not here."""
    for program in programs:
        if not shutil.which(program):
            raise unittest.SkipTest(f"{program} is not here")


def arguments():
    """Flags of every command, as --help shows them."""
    commands = re.findall(r"^  ([a-z]+) +\S", run(BINARY, "--help"), re.MULTILINE)
    return {command: re.findall(r"(?:^  |,)(--?[a-z][a-z-]*)", run(BINARY, command, "--help"), re.MULTILINE)
            for command in commands}


class Shells(unittest.TestCase):
    def test_an_unknown_shell_is_refused(self):
        result = subprocess.run([BINARY, "completion", "fis"], capture_output=True, text=True, check=False)
        self.assertEqual((64, ""), (result.returncode, result.stdout))
        self.assertIn("unknown shell 'fis', expected one of bash, zsh, fish; did you mean 'fish'?", result.stderr)


@unittest.skipIf(re.search(r"^FAIRLANE_SANITIZE:\w+=.+$", CACHE, re.MULTILINE), "builds with sanitizers install nothing")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        needs("cmake")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name).resolve()
        cls.prefix = cls.root / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    def complete(self, *words):
        """What bash offers for the last word."""
        needs("bash")
        line = " ".join(words)
        code = (f'source "{self.prefix}/share/bash-completion/completions/fairlane"\n'
                "compopt() { :; }\n"  # works only where a person types
                f"COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; COMP_LINE={line!r}\n"
                '_fairlane; printf "%s\\n" "${COMPREPLY[@]}"\n')
        return run("bash", "--norc", "-euc", code, cwd=self.root).split()

    def test_the_program_runs(self):
        home = self.root / "elsewhere"
        home.mkdir()
        binary = self.prefix / "bin" / "fairlane"
        text = run(binary, "demo", "--quiet", cwd=home)
        self.assertIn("Found 2,745 of 2,745", text)
        self.assertEqual(run(BINARY, "--version"), run(binary, "--version"))

    def test_files(self):
        for name in (*DOCUMENTS, "share/zsh/site-functions/_fairlane", "share/doc/fairlane/LICENSE",
                     "share/fairlane/configs/tiny.yaml", "share/fairlane/adapters/fairlane_adapter.py",
                     "share/fairlane/adapters/README.md",
                     "share/fairlane/schemas/audit.schema.json"):
            self.assertTrue((self.prefix / name).stat().st_size > 0, name)
        config = self.prefix / "share/fairlane/configs/tiny.yaml"
        run(self.prefix / "bin" / "fairlane", "run", config, "--out", self.root / "tiny", "--quiet")
        foreign = [path for path in self.prefix.rglob("*") if path.suffix in (".a", ".h", ".pyc") or "vendor-comp" in str(path)]
        self.assertEqual([], foreign)

    def test_bash_completes(self):
        (self.root / "people.yaml").touch()
        self.assertEqual(["enumerate", "estimate"], sorted(self.complete("fairlane", "e")))
        self.assertEqual(["--fail-above"], self.complete("fairlane", "run", "--fail"))
        self.assertEqual(["people.yaml"], self.complete("fairlane", "run", "peo"))
        self.assertEqual(["prefix"], self.complete("fairlane", "run", "--out", "pre"))
        self.assertEqual(["margin", "margin-walk"], self.complete("fairlane", "compare", "--methods", "marg"))
        self.assertEqual(["bash"], self.complete("fairlane", "completion", "b"))
        self.assertEqual([], self.complete("fairlane", "run", "--seed", ""))
        self.assertIn("-q", self.complete("fairlane", "run", "-"))

    def test_every_flag_is_told(self):
        told = arguments()
        self.assertIn("--fail-above", told["run"])
        page = (self.prefix / DOCUMENTS[0]).read_text(encoding="utf-8").replace("\\-", "-")
        zsh = (self.prefix / "share/zsh/site-functions/_fairlane").read_text(encoding="utf-8")
        fish = (self.prefix / DOCUMENTS[2]).read_text(encoding="utf-8")
        for command, flags in told.items():
            self.assertIn(f".SS {command}\n", page)
            section = re.search(rf"^    {command}\)\n(.*?)\n      ;;", zsh, re.MULTILINE | re.DOTALL)[1]
            for flag in flags:
                self.assertIn(f"\\fB{flag}\\fR", page)
                self.assertIn(f"'*{flag}[", section)
                form = f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}"
                self.assertRegex(fish, rf"(?m)^.*_from {command}'.*{form}\b")
                self.assertIn(flag, self.complete("fairlane", command, flag))

    def test_the_manual_page_is_well_formed(self):
        needs("groff", "man")
        page = self.prefix / DOCUMENTS[0]
        result = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-z", str(page)], capture_output=True, text=True, check=False)
        self.assertEqual((0, ""), (result.returncode, result.stderr))
        text = run("man", "-l", page, env=dict(os.environ, MANPAGER="cat", PAGER="cat", MANWIDTH="100", LC_ALL="C"))
        text = re.sub(r".\x08", "", text)
        for part in ("NAME", "EXIT STATUS", "--fail-above RATE", "fairlane run [OPTION]... CONFIG"):
            self.assertIn(part, text)

    def test_zsh_reads_its_completion(self):
        needs("zsh")
        file = self.prefix / "share/zsh/site-functions/_fairlane"
        run("zsh", "-fn", file)
        code = f"fpath=({file.parent} $fpath); autoload -Uz compinit; compinit -D -u; print -r -- $_comps[fairlane]"
        self.assertEqual("_fairlane\n", run("zsh", "-fc", code, cwd=self.root))

    def test_fish_completes(self):
        needs("fish")
        file = self.prefix / DOCUMENTS[2]
        run("fish", "--no-execute", file)
        home = dict(os.environ, HOME=str(self.root), XDG_CONFIG_HOME=str(self.root), XDG_DATA_HOME=str(self.root))
        text = run("fish", "-c", f"source {file}; complete -C 'fairlane run --fail'", env=home)
        self.assertEqual("--fail-above", text.split()[0])

    def test_the_debian_package(self):
        needs("cpack", "dpkg-deb", "dpkg-shlibdeps")
        folder = self.root / "package"
        run("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder)
        packages = list(folder.glob("*.deb"))
        self.assertEqual(1, len(packages), packages)
        depends = run("dpkg-deb", "--field", packages[0], "Depends")
        self.assertIn("libc6", depends)
        self.assertIn("libssl", depends)
        self.assertEqual(run(BINARY, "--version").split()[1], run("dpkg-deb", "--field", packages[0], "Version").strip())
        listed = {line.split()[5] for line in run("dpkg-deb", "--contents", packages[0]).splitlines()}
        for name in ("bin/fairlane", *DOCUMENTS, "share/zsh/vendor-completions/_fairlane", "share/doc/fairlane/copyright",
                     "share/fairlane/configs/demo/census.safetensors", "share/fairlane/adapters/export_sklearn.py"):
            self.assertIn(f"./usr/{name}", listed)
        self.assertFalse([name for name in listed if "site-functions" in name or name.endswith((".a", ".h", "_test.py"))])
        unpacked = self.root / "unpacked"
        run("dpkg-deb", "--extract", packages[0], unpacked)
        self.assertIn("run", run(unpacked / "usr/bin/fairlane", "--help"))


if __name__ == "__main__":
    unittest.main()
