"""A Slurm of two nodes on this host, for as long as a test runs."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from temper.process import call

_QUICK = 30.0
_CONFIG = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Start Slurm in an empty folder; return the environment of its commands."""
    config = folder / "slurm.conf"
    name = socket.gethostname().partition(".")[0]
    config.write_text(_CONFIG.format(folder=folder, host=name, ports=_free_ports(3)))
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    (folder / "state").mkdir()
    munge = (
        *("munged", "--foreground", "--force", f"--socket={folder}/munge.socket"),
        *(f"--key-file={key}", f"--pid-file={folder}/munged.pid"),
        *(f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"),
    )
    environment = {**os.environ, "SLURM_CONF": str(config)}
    with ExitStack() as daemons:
        daemons.enter_context(_daemon(munge, environment))
        _wait_for((folder / "munge.socket").exists, folder)
        for words in (
            ("slurmctld", "-D"),
            ("slurmd", "-D", "-N", "n1"),
            ("slurmd", "-D", "-N", "n2"),
        ):
            daemons.enter_context(_daemon(words, environment))
        _wait_for(lambda: _idle_nodes(environment) == 2, folder)
        yield environment


@contextmanager
def _daemon(words: tuple[str, ...], environment: dict[str, str]) -> Iterator[None]:
    silent = subprocess.DEVNULL
    with subprocess.Popen(words, env=environment, stdout=silent, stderr=silent) as it:
        try:
            yield
        finally:
            it.terminate()
            try:
                it.wait(_QUICK)
            except subprocess.TimeoutExpired:
                it.kill()


def _idle_nodes(environment: dict[str, str]) -> int:
    words = ["sinfo", "--noheader", "--format=%D", "--states=idle"]
    done = call(words, Path("/"), _QUICK, env=environment)
    return sum(int(line) for line in done.lines if line.isdigit())


def _wait_for(ready: Callable[[], bool], folder: Path) -> None:
    end = time.monotonic() + 2 * _QUICK
    while not ready():
        logs = [path.read_text() for path in folder.glob("*.log")]
        assert time.monotonic() < end, "\n".join(logs)
        time.sleep(0.2)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
