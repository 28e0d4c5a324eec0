"""What tests need to start the ranks of mpirun; skips, visibly, where it or the plug-in is missing."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

FAIRLANE = pathlib.Path(os.environ.get("FAIRLANE_BINARY", "build/cpu/fairlane")).resolve()

# Of this test alone: jobs that begin and end at the same time trip over each other's folders.
SESSIONS = tempfile.TemporaryDirectory(prefix="mpi-")

# Open MPI refuses to run as root, and more ranks than cores, unless told that this is meant.
# One machine's ranks need no network.
RANKS = {
    **os.environ,
    "FAIRLANE_PLUGIN_DIR": str(FAIRLANE.parent),
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_orte_tmpdir_base": SESSIONS.name,
    "NO_COLOR": "1",
}


def need_mpi():
    """Ends this test as skipped where ranks cannot be started."""
    if not (FAIRLANE.parent / "fairlane_mpi.so").exists():
        print("skipped: this build has no MPI plug-in (FAIRLANE_MPI)")
        sys.exit(77)
    if not shutil.which("mpirun"):
        print("skipped: no mpirun here (apt-get install openmpi-bin)")
        sys.exit(77)
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in version:
        print(f"skipped: mpirun is not Open MPI's, whose options this test knows: {version.splitlines()[:1]}")
        sys.exit(77)


def mpirun(ranks, *words, quiet=True, timeout=240, **more):
    """What `mpirun -n RANKS WORDS...` says and returns."""
    command = ["mpirun", *(["--quiet"] if quiet else []), "-n", str(ranks), *map(str, words)]
    return subprocess.run(command, env=RANKS, capture_output=True, text=True, timeout=timeout, check=False,
                          stdin=subprocess.DEVNULL, **more)
