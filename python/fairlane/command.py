"""The commands of the program as functions: options in, a small result object out."""
from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import sys
from typing import Any, Iterable, Mapping, Sequence

from fairlane.errors import ModelError, UnavailableError, UsageError, error_of
from fairlane.results import Results, read
from fairlane.serving import ModelServer, converse

ERROR = "fairlane: error: "
NOTICE = "fairlane: "    # before information and warnings, which stay; progress is overwritten
COLUMNS = 79             # of a line that is rewritten
FINISHED = (0, 1, 3, 76)  # done; a policy was not met; done in part; undecided
PATIENCE = 100000         # seconds for the answer of a model of this process: Ctrl-C ends it sooner


def program() -> str:
    """The path of the program: FAIRLANE_BINARY, what the wheel has, or `fairlane` on PATH."""
    named = os.environ.get("FAIRLANE_BINARY")
    if named:
        return named
    packaged = pathlib.Path(__file__).parent / "bin" / "fairlane"
    if packaged.is_file():
        return str(packaged)
    found = shutil.which("fairlane")
    if found is None:
        raise UnavailableError("the program fairlane is not found: it is neither in the package "
                               "nor on PATH; `pip install .` in the sources builds it, and "
                               "FAIRLANE_BINARY may name it")
    return found


def main() -> None:
    """`fairlane` on the command line of an environment that the wheel is installed in."""
    os.execv(program(), ["fairlane", *sys.argv[1:]])


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a command has done.

    command    such as "run"
    summary    what it printed with --json
    directory  where its results are: `out`; None where none was given
    exit_code  0; 1 where `fail_above` is exceeded; 3 where it is done in part; 76 where nothing is
               known or it is undecided
    """

    command: str
    summary: dict
    directory: pathlib.Path | None
    exit_code: int

    @property
    def findings(self) -> Results:
        """The reader of what was found; see fairlane.read."""
        if self.directory is None:
            raise UsageError(f"{self.command}: its results are where output.dir says; expected "
                             "out=DIRECTORY, or fairlane.read(DIRECTORY)")
        return read(self.directory)


def arguments_of(options: Mapping[str, Any]) -> list[str]:
    """Options of a function as the program's: fail_above=0.1 is --fail-above 0.1.

    True is a flag, False and None leave an option out, a list repeats it; `set` is a dict of keys
    of the configuration.
    """
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if option == "--set" and isinstance(value, Mapping):
            value = [f"{key}={one if isinstance(one, str) else json.dumps(one)}"
                     for key, one in value.items()]
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
            continue
        several = isinstance(value, Iterable) and not isinstance(value, (str, bytes, os.PathLike))
        for one in value if several else [value]:
            words.append(f"{option}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return words


def is_interactive() -> bool:
    """Whether somebody looks on: standard error is a terminal, or a notebook's."""
    stream = sys.stderr
    return stream is not None and (stream.isatty() or
                                   type(stream).__module__.split(".")[0] == "ipykernel")


class _Progress:
    """Shows the program's messages: in one line that is rewritten where somebody looks on."""

    def __init__(self, progress: bool):
        self.progress, self.rewrites = progress, progress and is_interactive()
        self.shown = 0

    def show(self, line: str) -> None:
        if not self.progress or line.startswith(ERROR):
            return
        if not self.rewrites or line.startswith(NOTICE):
            self.clear()
            print(line, file=sys.stderr)
            return
        text = line[:COLUMNS]
        sys.stderr.write("\r" + text.ljust(self.shown))
        sys.stderr.flush()
        self.shown = len(text)

    def clear(self) -> None:
        if self.shown > 0:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            sys.stderr.flush()
            self.shown = 0


def call(words: Sequence[str], server: ModelServer | None = None,
         progress: bool | None = None) -> tuple[int, str]:
    """Runs the program. Returns its exit code and its output; raises an Error where it failed.

    progress  whether its messages are shown; None: where somebody looks on
    """
    if progress is None:
        progress = is_interactive()
    shown = _Progress(bool(progress))
    words = [program(), *words, "--progress=lines" if progress else "--quiet"]
    try:
        code, output, errors = converse(words, server, shown.show)
    except OSError as error:
        raise UnavailableError(f"{program()}: cannot be started: {error.strerror}") from error
    finally:
        shown.clear()
    if server is not None and server.problem is not None:
        problem = server.problem
        if isinstance(problem, ModelError):
            raise problem
        first = (str(problem).splitlines() or [""])[0]
        raise ModelError(f"the model raised {type(problem).__name__}: {first}",
                         code) from problem
    if code not in FINISHED or not output.strip():
        said = [line[len(ERROR):] for line in errors.splitlines() if line.startswith(ERROR)]
        last = errors.strip().splitlines()[-1:] or [f"ended with exit code {code} and said nothing"]
        raise error_of(code, (said or last)[-1])
    return code, output


def execute(command: str, config: Any, out: Any, options: Mapping[str, Any]) -> Outcome:
    """Runs a command on a configuration's file, or on a Subject of fairlane.prepare."""
    options = dict(options)
    progress = options.pop("progress", None)
    server = None
    if hasattr(config, "serve"):
        server = config.serve()
        config = config.config
        options = {**served_options(), **options}
    try:
        words = [command, os.fspath(config), "--json", *arguments_of({"out": out, **options})]
        code, output = call(words, server, progress)
    except BaseException:
        if server is not None:
            server.close()
        raise
    try:
        summary = json.loads(output)
    except json.JSONDecodeError as error:
        raise UnavailableError(f"{program()}: {command} printed no JSON: {error}; is it of "
                               "another version?") from error
    return Outcome(command, summary, None if out is None else pathlib.Path(out), code)


def served_options() -> dict[str, Any]:
    """What the program is told where the model lives in this process."""
    return {"allow_exec": True, "exec_children": 1, "exec_timeout": PATIENCE}


def run(config: Any, *, out: Any = None, **options: Any) -> Outcome:
    """`fairlane run`: searches a model for discrimination, as a configuration says.

    config   its path, or a Subject of fairlane.prepare
    out      directory for the results, instead of output.dir
    options  those of the command, such as set={"global.num": 100}, seed=7, fail_above=0.05;
             progress=True shows its messages, False does not; by default they are shown in a
             terminal and in a notebook, in a line that is rewritten
    Raises a fairlane.Error with the program's line.
    """
    return execute("run", config, out, options)


def enumerate(config: Any, *, out: Any = None, **options: Any) -> Outcome:  # noqa: A001
    """`fairlane enumerate`: counts every discriminatory input of a domain. Arguments as of run."""
    return execute("enumerate", config, out, options)


def estimate(config: Any, *, out: Any = None, **options: Any) -> Outcome:
    """`fairlane estimate`: which share discriminates, by sampling. Arguments as of run."""
    return execute("estimate", config, out, options)


def compare(config: Any, *, out: Any = None, **options: Any) -> Outcome:
    """`fairlane compare`: methods with one equal budget over several seeds. Arguments as of run."""
    return execute("compare", config, out, options)


def verify(config: Any, *, out: Any = None, **options: Any) -> Outcome:
    """`fairlane verify`: proves cells of a domain fair, or shows examples. Arguments as of run."""
    return execute("verify", config, out, options)
