"""The pages say what holds: links lead somewhere, commands run, outputs are what the commands print.

Of every .md file, each relative link is followed, to the heading where it names one. What stands in a fenced block
depends on its info string:

    sh              is run, all blocks of a page in one shell, which begins in an empty directory with the program as
                    `fairlane`. A command that ends with `# exit code N` must do so; every other must succeed.
    text output     is what the block before it prints. A line `...` stands for any lines; times and the widths of
                    columns may differ.
    text            is not looked at
    console REASON  is not run; the reasons are listed
    yaml, cpp, ...  are not run, and may show no command of ours

The commands of a page with the comment <!-- needs LibTorch --> are run where the build has that plug-in, and
listed otherwise. So are those of a page with <!-- needs adult.csv -->, the raw Adult table, where the benchmark folder
(FAIRLANE_BENCHMARKS, or shared/benchmarks beside the sources) has it: it then lies in the page's directory, with configs.

`docs_test.py PAGE...` looks at these pages alone; with `--update` it copies the pictures that they draw.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

BINARY = os.path.abspath(os.environ["FAIRLANE_BINARY"])
ROOT = pathlib.Path(os.environ["FAIRLANE_SOURCE_DIR"]).resolve()
HIDDEN = {"build", "out", "dist", "fairlane-demo", ".git"}
QUOTING = ("text", "yaml", "json", "cpp", "python", "cmake")
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"^\s*(?:build/cpu/)?fairlane [a-z]", re.MULTILINE)
FAILS = re.compile(r"^(.*?)\s+# exit code (\d+)$")
NEEDS_TORCH = "<!-- needs LibTorch -->"
NEEDS_ADULT = "<!-- needs adult.csv -->"
BENCHMARKS = pathlib.Path(os.environ.get("FAIRLANE_BENCHMARKS") or ROOT.parent / "shared" / "benchmarks")
ADULT = BENCHMARKS / "data" / "census.raw.csv"
TIME = re.compile(r"\b\d+(?:\.\d+)? (?:s|min|h)\b")
PAGE_SECONDS = 240
# Pictures that a page's commands draw: the page, where they lie afterwards, the copy that pages show.
PICTURES = {"docs/commands/compare.md": [("fairlane-demo/chart/compare.svg", "docs/images/compare.svg"),
                                         ("fairlane-demo/chart/curves.svg", "docs/images/curves.svg")]}


def pages():
    """All pages, or those named on the command line, as paths from the root."""
    found = []
    for path in sorted(ROOT.rglob("*.md")):
        name = path.relative_to(ROOT)
        if not HIDDEN & set(name.parts) and not any(part.startswith(".") for part in name.parts):
            found.append(name.as_posix())
    return found


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(text):
    """Every fenced block as (first word of its info string, the rest, content)."""
    for match in FENCE.finditer(text):
        kind, _, rest = match[2].strip().partition(" ")
        yield kind, rest.strip(), match[3]


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    found = []
    for line in FENCE.sub("", text).splitlines():
        heading = re.match(r"#+ +(.*?) *$", line)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            count = sum(1 for one in found if re.fullmatch(re.escape(anchor) + r"(-\d+)?", one))
            found.append(f"{anchor}-{count}" if count else anchor)
    return found


def broken_links(page, text, root=ROOT):
    """One line per relative link that leads nowhere."""
    problems = []
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (root / page).parent / file if file else root / page
        if not path.exists():
            problems.append(f"{page}: {target}: no such file")
        elif root not in path.resolve().parents and path.resolve() != root:
            problems.append(f"{page}: {target}: leads out of the project")
        elif anchor and anchor not in anchors(path.read_text(encoding="utf-8")):
            problems.append(f"{page}: {target}: no such heading")
    return problems


def wrong_blocks(page, text):
    """One line per fenced block that is not marked as it should be."""
    problems = []
    before = ""
    for kind, rest, content in blocks(text):
        shown = content.strip().partition("\n")[0]
        if kind == "console":
            if not rest:
                problems.append(f"{page}: '{shown}': console needs a reason for which it is not run")
        elif kind == "text" and rest == "output":
            if before != "sh":
                problems.append(f"{page}: '{shown}': there is no sh block before this output")
        elif kind != "sh" and kind not in QUOTING:
            problems.append(f"{page}: '{shown}': marked '{kind}', expected sh, console or one of {QUOTING}")
        elif kind != "sh" and COMMAND.search(content):
            problems.append(f"{page}: '{shown}': a command in a block that is not run")
        before = kind
    return problems


def script_of(content, number):
    """A block as shell code that writes what it prints to the file out.NUMBER beside the working directory."""
    lines = [f"block={number}", "{"]
    for line in content.splitlines():
        fails = FAILS.match(line)
        if fails:
            lines.append(f"code=0; {fails[1]} || code=$?")
            lines.append(f'[ "$code" = {fails[2]} ] || {{ echo "exit code $code, expected {fails[2]}" >&2; exit 99; }}')
        else:
            lines.append(line)
    return "\n".join(lines + [f'}} > "$outputs/out.{number}"', ""])


def normal(line):
    """A line without what may differ: times, and the blanks that align it."""
    return re.sub(r"\s+", " ", TIME.sub("# s", line)).strip()


def is_output(quoted, printed):
    """Whether the quoted lines are the printed ones; a line `...` stands for any lines."""
    wanted = [normal(line) for line in quoted.strip("\n").splitlines()]
    pattern = "".join(r"(?:[^\n]*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in wanted)
    text = "".join(normal(line) + "\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, text) is not None


def problem_of(page, text):
    """Runs a page's commands. Returns what is wrong, empty where nothing is."""
    listed = list(blocks(text))
    runnable = [(number, content) for number, (kind, _, content) in enumerate(listed) if kind == "sh"]
    if not runnable:
        return ""
    if NEEDS_TORCH in text and not (pathlib.Path(BINARY).parent / "fairlane_torch.so").exists():
        print(f"not run: {page}: this build has no LibTorch plug-in (FAIRLANE_TORCH)", file=sys.stderr)
        return ""
    if NEEDS_ADULT in text and not ADULT.is_file():
        print(f"not run: {page}: the raw Adult table is not here ({ADULT})", file=sys.stderr)
        return ""
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder)
        for name in ("bin", "outputs", "work"):
            (base / name).mkdir()
        (base / "bin" / "fairlane").symlink_to(BINARY)
        if NEEDS_ADULT in text:
            (base / "work" / "adult.csv").symlink_to(ADULT)
            (base / "work" / "configs").symlink_to(ROOT / "configs")
        code = "set -euo pipefail\ntrap 'echo \"block $block\" >&2' EXIT\n"
        code += "".join(script_of(content, number) for number, content in runnable)
        environment = dict(os.environ, PATH=f"{base / 'bin'}:{os.environ['PATH']}", outputs=str(base / "outputs"),
                           HOME=str(base / "work"))
        result = subprocess.run(["bash", "-c", code], cwd=base / "work", env=environment, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=PAGE_SECONDS, check=False)
        if result.returncode != 0:
            last = int(re.search(r"block (\d+)\n?$", result.stderr)[1])
            return f"{page}: exit code {result.returncode} of\n{listed[last][2]}{result.stderr}"
        for number, (kind, rest, content) in enumerate(listed):
            if kind == "text" and rest == "output":
                printed = (base / "outputs" / f"out.{number - 1}").read_text(encoding="utf-8")
                if not is_output(content, printed):
                    return f"{page}: the output is not the one that is quoted, but\n{printed}"
        for place, copy in PICTURES.get(page, []):
            drawn, shown = (base / "work" / place, ROOT / copy)
            if "--update" in sys.argv:
                shown.write_bytes(drawn.read_bytes())
            if drawn.read_bytes() != shown.read_bytes():
                return f"{copy} is not what {page} draws; `docs_test.py {page} --update` copies it"
    return ""


class Pages(unittest.TestCase):
    maxDiff = None

    def test_links_lead_somewhere(self):
        self.assertEqual([], [line for page in PAGES for line in broken_links(page, text_of(page))])

    def test_blocks_are_marked(self):
        self.assertEqual([], [line for page in PAGES for line in wrong_blocks(page, text_of(page))])

    def test_commands_run_and_print_what_is_quoted(self):
        with ThreadPoolExecutor(max_workers=2) as pool:
            problems = list(pool.map(lambda page: problem_of(page, text_of(page)), PAGES))
        self.assertEqual("", "\n".join(problem for problem in problems if problem))

    def test_not_run_is_listed(self):
        for page in PAGES:
            for kind, rest, content in blocks(text_of(page)):
                if kind == "console":
                    print(f"not run: {page}: {content.strip().splitlines()[0]} ({rest})", file=sys.stderr)

    def test_the_first_page_is_short(self):
        self.assertLessEqual(len(text_of("README.md").splitlines()), 150)

    def test_every_command_has_a_guide(self):
        shown = subprocess.run([BINARY, "--help"], capture_output=True, text=True, check=True).stdout
        commands = re.findall(r"^  ([a-z]+) +\S", shown, re.MULTILINE)
        self.assertIn("run", commands)
        index = text_of("docs/commands/README.md")
        for command in commands:
            self.assertRegex(index, rf"\| \[[^\]]*\b{command}\b[^\]]*\]", f"{command} is not in docs/commands")

    def test_options_in_guides_exist(self):
        for page in PAGES:
            command = pathlib.PurePath(page).stem
            if not page.startswith("docs/commands/") or command == "README":
                continue
            shown = subprocess.run([BINARY, command, "--help"], capture_output=True, text=True, check=True).stdout
            for option in re.findall(r"`(--[a-z-]+)", text_of(page)):
                self.assertIn(option, shown, f"{page}: fairlane {command} has no {option}")

    def test_exit_codes_are_those_of_the_program(self):
        header = text_of("base/error.h").split("enum class ExitCode")[1].split("};")[0]
        codes = re.findall(r"= (\d+),", header)
        self.assertIn("76", codes)
        self.assertEqual(codes, re.findall(r"^\| (\d+) \|", text_of("docs/commands/README.md"), re.MULTILINE))
        page = subprocess.run([BINARY, "manual"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(codes, re.findall(r"^\\fB(\d+)\\fR$", page.split(".SH EXIT STATUS")[1], re.MULTILINE))

    def test_methods_are_those_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            config = ROOT / "configs" / "tiny.yaml"
            result = subprocess.run([BINARY, "compare", str(config), "--out", f"{folder}/out", "--repeats", "1", "--json",
                                     "--quiet", "--set", "budget.evaluations=100", "--set", "sg.samples=50",
                                     "--set", "expga.samples=50"],
                                    capture_output=True, text=True, check=True)
        methods = json.loads(result.stdout)["methods"]
        rows = {row[0]: row[1:] for row in re.findall(r"^\| `([a-z-]+)` \| (.*) \| (.*) \| (.*) \|$",
                                                      text_of("docs/methods.md").split("##")[0], re.MULTILINE)}
        told = {one["method"]: (one["paper"], one["algorithm"], one["deviation"] or "none") for one in methods}
        self.assertEqual(told, rows)


class Reader(unittest.TestCase):
    """The test itself: what is wrong is seen."""

    def test_links(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "b.md").write_text("# One `two`\n# One two\n```sh\n# no heading\n```\n", encoding="utf-8")
            text = "[a](b.md) [b](b.md#one-two) [c](b.md#one-two-1) [d](https://x.org/y) ![e](b.md)"
            self.assertEqual([], broken_links("a.md", text, root))
            for link in ("c.md", "b.md#two", "b.md#no-heading", "../b.md", "#own"):
                (root / "a.md").write_text("# Other\n", encoding="utf-8")
                self.assertEqual(1, len(broken_links("a.md", f"[x]({link})", root)), link)

    def test_blocks(self):
        self.assertEqual([], wrong_blocks("a", "```sh\nfairlane run\n```\n```text output\nx\n```\n"))
        for text in ("```\nls\n```\n", "```console\nls\n```\n", "```text\nfairlane run x\n```\n", "```text output\nx\n```\n"):
            self.assertEqual(1, len(wrong_blocks("a", text)), text)

    def test_commands(self):
        self.assertEqual("", problem_of("a", "```sh\nx=1\ncd /\n```\n\n```sh\ntest $x = 1\npwd\n```\n```text output\n/\n```\n"))
        self.assertEqual("", problem_of("a", "```sh\nfairlane rnu   # exit code 64\n```\n"))
        for text in ("```sh\nfalse\n```\n", "```sh\nfairlane rnu   # exit code 65\n```\n", "```sh\ntrue   # exit code 1\n```\n",
                     "```sh\necho a\n```\n```text output\nb\n```\n", "```sh\nfalse | cat\n```\n"):
            self.assertNotEqual("", problem_of("a", text), text)

    def test_outputs(self):
        self.assertTrue(is_output("a  1.0 s\n...\nd\n", "a    2.5 s\nb\nc\nd\n"))
        self.assertTrue(is_output("...\nd\n", "d\n"))
        for quoted in ("a\n", "c\n", "d\n...\n", "...\nb\n...\n", "c\nd\ne\n"):
            self.assertFalse(is_output(quoted, "c\nd\n"), quoted)


PAGES = [argument for argument in sys.argv[1:] if argument.endswith(".md")] or pages()

if __name__ == "__main__":
    ours = {"--update", *PAGES}
    unittest.main(argv=[argument for argument in sys.argv if argument not in ours])
