"""What goes wrong, as exceptions: one for each exit code of the program that means a failure."""
from __future__ import annotations


class Error(Exception):
    """One line that says what is wrong, where, and what was expected.

    exit_code  the program's, or the one that it would have for the like
    """

    exit_code: int = 70

    def __init__(self, message: str, exit_code: int | None = None):
        super().__init__(message)
        if exit_code is not None:
            self.exit_code = exit_code


class UsageError(Error, ValueError):
    """An option or an argument is wrong."""

    exit_code = 64


class DataError(Error, ValueError):
    """A model or a table is malformed."""

    exit_code = 65


class ResultsError(DataError):
    """A directory does not hold what was asked for."""


class MissingInputError(Error):
    """An input file is missing or cannot be read."""

    exit_code = 66


class UnavailableError(Error):
    """A device, a feature or the program itself is not available here."""

    exit_code = 69


class BugError(Error):
    """An internal check failed: please report it."""

    exit_code = 70


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""

    exit_code = 71


class OutputError(Error):
    """The output directory cannot be used."""

    exit_code = 73


class DiskError(Error):
    """Writing failed."""

    exit_code = 74


class StoppedError(Error):
    """Stopped with the state saved: the same call goes on."""

    exit_code = 75


class ModelError(StoppedError):
    """The model in this process failed, or gave what no classifier gives; its own exception, where
    there was one, is the __cause__."""


class UndecidedError(Error):
    """A result does not hold, or nothing is known."""

    exit_code = 76


class ConfigError(Error, ValueError):
    """The configuration is wrong."""

    exit_code = 78


_BY_CODE = {kind.exit_code: kind for kind in (
    UsageError, DataError, MissingInputError, UnavailableError, BugError, OutOfMemoryError,
    OutputError, DiskError, StoppedError, UndecidedError, ConfigError)}


def error_of(exit_code: int, message: str) -> Error:
    """The exception for a program that ended with a code and that line."""
    return _BY_CODE.get(exit_code, Error)(message, exit_code)
