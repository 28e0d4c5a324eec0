"""Builds meddler.c, which kills a process at a chosen change of a file or lets a flush to disk fail."""
import os
import pathlib
import shutil
import subprocess

from sturdy_jobs import is_sanitized

SOURCE = pathlib.Path(__file__).with_name("meddler.c")


def require(folder):
    """The library; where there is none the test is skipped."""
    shim, why_not = build(folder)
    if why_not:
        print(why_not, flush=True)
        os._exit(77)
    return shim


def build(folder):
    """The library, and why there is none: one of both is None."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None, "no cc is installed"
    if is_sanitized():
        return None, "the program is built with a sanitizer, which must be the first library of a process"
    library = pathlib.Path(folder, "meddler.so")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    return library, None


def environment(library, mark, **settings):
    """What a process is started with. settings: die, fail, role, as meddler.c says."""
    chosen = {f"MEDDLER_{name.upper()}": str(value) for name, value in settings.items() if value is not None}
    return {"LD_PRELOAD": str(library), "MEDDLER_MARK": str(mark), **chosen}
