"""A Slurm of two nodes on the loopback device, in one folder and without the system's configuration: munged, slurmctld
and two slurmd of our own, started by whoever runs the test.

Every daemon has a keeper, a process that adopts whatever the daemon's descendants leave behind. The keeper kills them
all when its standard input closes: because a node is to die, or the test ends, in whichever way.
"""
import ctypes
import os
import pathlib
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
SBIN = "/usr/sbin:/usr/local/sbin:/sbin"  # where daemons lie, on the PATH of root alone
NODES = ("node1", "node2")
START_SECONDS = 30
# A node that has not answered for so long is gone. Less would do where nothing else runs.
NODE_SECONDS = 5
# What is queued again waits until its old credential has expired: two minutes, if we left it at that.
CREDENTIAL_SECONDS = 5  # the least
GPU_FILES = ("/dev/null", "/dev/zero")  # devices that everybody may open

CONFIGURATION = """\
ClusterName=fairlane-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire={credential_seconds}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmdTimeout={node_seconds}
MessageTimeout={node_seconds}
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
KillWait=5
GresTypes=gpu
{nodes}PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 SocketsPerBoard=1 " \
       "CoresPerSocket=2 ThreadsPerCore=1 Gres=gpu:2 State=UNKNOWN\n"


class CannotStart(Exception):
    """Slurm is not installed here, or does not start; the reason for people."""


def missing_programs():
    """Those of Slurm's programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=search_path()) is None]


def search_path():
    return os.environ.get("PATH", "") + ":" + SBIN


def free_ports(count):
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Kept:
    """A daemon with its keeper."""

    def __init__(self, words, environment, log):
        self.log = log
        with open(log, "wb") as said:
            self.keeper = subprocess.Popen([sys.executable, "-B", __file__, *words], stdin=subprocess.PIPE, stdout=said,
                                           stderr=said, env=environment, start_new_session=True)

    def kill(self):
        """SIGKILL for the daemon and all that it has started. Returns when they are gone."""
        self.keeper.stdin.close()
        self.keeper.wait()

    def said(self):
        return self.log.read_text(encoding="utf-8", errors="replace")


class Cluster:
    """Two nodes with two cores and two GPUs each, which are none."""

    def __init__(self, folder):
        """folder: an empty one, whose path has no blanks. Throws CannotStart."""
        missing = missing_programs()
        if missing:
            raise CannotStart(f"not installed: {', '.join(missing)}")
        self.folder = pathlib.Path(folder)
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": search_path()}
        self.daemons = {}
        self.configure()

    def configure(self):
        self.folder.chmod(0o755)  # munged insists that everybody may reach its socket
        for name in ("munge", "state", *NODES):
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(secrets.token_bytes(64))
        key.chmod(0o600)
        host = socket.gethostname().partition(".")[0]
        control_port, *ports = free_ports(1 + len(NODES))
        nodes = "".join(NODE.format(name=name, host=host, port=port) for name, port in zip(NODES, ports))
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, control_port=control_port, user=os.getuid(), folder=self.folder, nodes=nodes,
            names=",".join(NODES), node_seconds=NODE_SECONDS, credential_seconds=CREDENTIAL_SECONDS), encoding="utf-8")
        (self.folder / "gres.conf").write_text("".join(
            f"NodeName={','.join(NODES)} Name=gpu File={file}\n" for file in GPU_FILES), encoding="utf-8")

    def start(self):
        """Throws CannotStart with what the daemon said last."""
        munge = self.folder / "munge"
        self.keep("munged", "munged", "--foreground", f"--socket={munge / 'socket'}", f"--key-file={munge / 'key'}",
                  f"--pid-file={munge / 'pid'}", f"--seed-file={munge / 'seed'}", f"--log-file={munge / 'log'}")
        self.wait_until(lambda: (munge / "socket").exists(), "munged")
        self.keep("slurmctld", "slurmctld", "-D")
        for name in NODES:
            self.start_node(name)
        self.wait_until(lambda: self.idle_nodes() == len(NODES), "slurmctld", *NODES)

    def start_node(self, name):
        self.keep(name, "slurmd", "-D", "-N", name)

    def keep(self, name, *words):
        self.daemons[name] = Kept(words, self.environment, self.folder / f"{name}.log")

    def wait_until(self, holds, *names):
        deadline = time.monotonic() + START_SECONDS
        while not holds():
            for name in names:
                if self.daemons[name].keeper.poll() is not None or time.monotonic() > deadline:
                    said = self.daemons[name].said().strip().splitlines() or ["it says nothing"]
                    raise CannotStart(f"{name} does not start: {said[-1]}")
            time.sleep(0.05)

    def idle_nodes(self):
        done = self.run("sinfo", "--noheader", "--Node", "--states=idle", "--format=%N", check=False)
        return len(set(done.stdout.split()))

    def run(self, *words, check=True):
        """A command that knows this cluster. Returns what subprocess.run does."""
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              env=self.environment, timeout=60)
        if check and done.returncode != 0:
            raise RuntimeError(f"{words}: exit code {done.returncode}: {done.stderr.strip()}")
        return done

    def jobs(self, *numbers):
        """The jobs of these numbers that have not ended, as dictionaries of what squeue says of them."""
        names = ("element", "state", "node", "restarts")
        done = self.run("squeue", "--noheader", "--array", f"--jobs={','.join(numbers)}", "--Format=ArrayTaskID:|,"
                        "State:|,NodeList:|,RestartCnt:|", check=False)
        return [dict(zip(names, line.split("|"))) for line in done.stdout.splitlines()]

    def kill_node(self, name):
        """As if the plug were pulled."""
        self.daemons.pop(name).kill()

    def stop(self):
        for daemon in self.daemons.values():
            daemon.kill()
        self.daemons.clear()

    def logs(self):
        """The end of what the daemons said, for a test that failed."""
        return "\n".join(f"--- {name}\n" + "\n".join(kept.said().splitlines()[-30:])
                         for name, kept in self.daemons.items())


def descendants(ancestor):
    """The processes below one, parents first."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = pathlib.Path("/proc", name, "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue  # has ended
            parent = int(stat.rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    found = [ancestor]
    for one in found:
        found += children.get(one, [])
    return found[1:]


def send(number, processes):
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


def reap():
    """Takes note of children that have ended. Returns whether there are others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
        return True
    except ChildProcessError:
        return False


def keep(words):
    """The keeper's life."""
    subreaper = 36  # PR_SET_CHILD_SUBREAPER: orphans become our children
    if ctypes.CDLL(None, use_errno=True).prctl(subreaper, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    daemon = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    while not select.select([sys.stdin], [], [], 0.05)[0] and daemon.poll() is None:  # nothing is ever written there
        pass
    # First none may tell another what happens to it.
    send(signal.SIGSTOP, descendants(os.getpid()))
    while reap():
        send(signal.SIGKILL, descendants(os.getpid()))
        time.sleep(0.01)


if __name__ == "__main__":
    keep(sys.argv[1:])
