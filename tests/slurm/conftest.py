"""A real Slurm on this machine; tests are skipped where it is not installed."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remanence.study import _cluster

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")
SOURCE = Path(__file__).parents[2] / "src"
NODES = ("n1", "n2", "n3", "n4", "n5", "n6", "n7")
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={path}/munge/socket,cred_expire=10
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdTimeout=10
KillWait=30
SchedulerParameters=bf_interval=1,sched_interval=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmctldPidFile={path}/slurmctld.pid
SlurmdPidFile={path}/%n.pid
SlurmdSpoolDir={path}/%n
StateSaveLocation={path}/state
SlurmctldLogFile={path}/slurmctld.log
SlurmdLogFile={path}/%n.log
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes=n1,n2 Default=YES LLN=YES State=UP PriorityTier=1
PartitionName=frail Nodes=n3,n4,n5,n6 OverSubscribe=EXCLUSIVE State=UP PriorityTier=1
PartitionName=cheap Nodes=n7 State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=n7 State=UP PriorityTier=9 PreemptMode=OFF
"""
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=16000 "
    "State=UNKNOWN\n"
)


class Cluster:
    """A controller and its nodes, which tests can ask and hurt."""

    def __init__(self, path: Path):
        self.path = path

    def ask(self, *command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def list_jobs(self, name: str) -> list[tuple[str, str, str]]:
        """Number, state and node of the jobs of a study that has this name in the queue."""
        told = self.ask("squeue", "--array", "--noheader", "--format=%j|%i|%T|%N")
        lines = [line.split("|") for line in told.splitlines()]
        return [(number, state, node) for job, number, state, node in lines if name in job]

    def kill_node(self, node: str, with_jobs: bool) -> None:
        """Kill a node's daemon; with its jobs, it is as if the power were cut."""
        doomed = [int((self.path / f"{node}.pid").read_text())]
        if with_jobs:
            told = self.ask("squeue", "--noheader", f"--nodelist={node}", "--format=%A")
            steps = tuple(f"slurmstepd: [{number}." for number in told.split())
            doomed += [pid for pid, words in list_steps(self.path) if words.startswith(steps)]
            for parent in doomed[1:]:
                doomed += list_descendants(parent)
        kill_all(doomed)


def kill_all(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def list_steps(path: Path) -> Iterator[tuple[int, str]]:
    """The processes that look after jobs of this cluster, and outlive their daemons, by title."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            title = (entry / "cmdline").read_bytes().decode(errors="replace")
            if title.startswith("slurmstepd:") and str(path) in (entry / "environ").read_text():
                yield int(entry.name), title


def list_descendants(parent: int) -> list[int]:
    children = []
    for file in Path(f"/proc/{parent}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            children += [int(pid) for pid in file.read_text().split()]
    return children + [pid for child in children for pid in list_descendants(child)]


def wait_until(holds: Callable[[], object], what: str, seconds: float = 600) -> None:
    """Wait for what is sure to come, unless something is wrong."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.2)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    """Seven nodes, of which tests kill two; and no `sacct` that anybody could rely on."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        packages = "slurmctld slurmd slurm-client munge"
        pytest.skip(f"{missing[0]} is not installed (Debian: apt install {packages})")
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons are started as root here, and this is not root")
    path = tmp_path_factory.mktemp("slurm", numbered=False)
    with pytest.MonkeyPatch.context() as patch, _running(path):
        patch.setenv("SLURM_CONF", str(path / "slurm.conf"))
        for name, first in (("PYTHONPATH", SOURCE), ("PATH", _forbid_sacct(path))):
            patch.setenv(name, f"{first}{os.pathsep}{os.environ.get(name, '')}")
        patch.setattr(_cluster, "SECONDS_BETWEEN_LOOKS", (1.0, 2.0))
        yield Cluster(path)
    assert not (path / "sacct-was-asked").exists()


def _forbid_sacct(path: Path) -> Path:
    command = path / "bin" / "sacct"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\ntouch {path}/sacct-was-asked\nexit 1\n")
    command.chmod(0o755)
    return command.parent


@contextlib.contextmanager
def _running(path: Path) -> Iterator[None]:
    """Munge, the controller and the nodes, in processes that end with the tests."""
    host, ports = socket.gethostname().split(".")[0], _find_ports(1 + len(NODES))
    nodes = zip(NODES, ports[1:], strict=True)
    lines = [NODE.format(name=name, host=host, port=port) for name, port in nodes]
    text = CONFIGURATION.format(host=host, ports=ports, path=path)
    before, partitions = text.split("PartitionName", 1)
    (path / "slurm.conf").write_text(f"{before}{''.join(lines)}PartitionName{partitions}")
    (path / "state").mkdir()
    environment = os.environ | {"SLURM_CONF": str(path / "slurm.conf")}
    started = [_start_munge(path)]
    try:
        for daemon in (["slurmctld"], *(["slurmd", "-N", node] for node in NODES)):
            command = [*daemon, "-D", "-c"]
            started.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
        ask = ["sinfo", "--noheader", "--format=%T %D"]

        def are_idle() -> bool:
            told = subprocess.run(ask, env=environment, capture_output=True, text=True).stdout
            return "idle" in told and "unk" not in told and "down" not in told

        wait_until(are_idle, "all nodes are there", seconds=120)
        yield
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
        for pid, _ in list_steps(path):
            kill_all([*list_descendants(pid), pid])


def _start_munge(path: Path) -> subprocess.Popen[bytes]:
    folder = path / "munge"
    folder.mkdir(mode=0o700)
    key = folder / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    files = {name: folder / name for name in ("socket", "pid", "log", "seed")}
    process = subprocess.Popen(
        [
            *("munged", "--foreground", "--force", f"--key-file={key}"),
            *(f"--socket={files['socket']}", f"--pid-file={files['pid']}"),
            *(f"--log-file={files['log']}", f"--seed-file={files['seed']}"),
        ],
        stderr=subprocess.DEVNULL,
    )
    wait_until(files["socket"].exists, "munge listens")
    return process


def _find_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for it in sockets:
            it.bind(("127.0.0.1", 0))
        return [it.getsockname()[1] for it in sockets]
