"""Runs that are ended from outside while QEMU, a shell script, is at work."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from temper.scratch import scratch_folder

QEMU = """\
#!/bin/sh
case "$*" in
--version) echo 'QEMU emulator version 9.9.9'; exit ;;
esac
echo $$ >>"$QEMUS"
exec sleep 600
"""
RUN = """
import sys
from dataclasses import replace
from pathlib import Path
from fake_machine import prepared
from temper.arch import arch_named
from temper.exits import exit_with_message
from temper.kernel import Cache
from temper.machine.tcg import Tcg
from temper.progress import Quiet
from temper.run.execute import execute
from temper.run.threads import threads
from temper.store import Store

folder = Path(sys.argv[1])
whole = prepared(folder)
work = whole.plan.work.model_copy(update={"exact": False})
whole = replace(whole, plan=whole.plan.model_copy(update={"work": work}))
machine = Tcg(arch_named("x86_64"), Cache(folder / "cache"), Quiet())
machine.prepare = lambda: None
with exit_with_message(), Store.open(data=folder / "data") as store:
    with threads(whole, machine) as engine:
        execute(engine, store, Quiet())
"""
WAY_ON = "finished boots are kept; resume with: temper price kstack --resume 1"


class Run:
    """A run in a process of its own, with all that it leaves in a folder."""

    def __init__(self, folder: Path) -> None:
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self._qemus = folder / "qemus"
        qemu = folder / "qemu-system-x86_64"
        qemu.write_text(QEMU)
        qemu.chmod(0o755)
        env = {
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "QEMUS": str(self._qemus),
            "TMPDIR": str(self.scratch),
        }
        self.process = subprocess.Popen(
            ["env", "--default-signal=INT,TERM,HUP", sys.executable, "-c", RUN, folder],
            env=os.environ | env,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_it_boots(self) -> None:
        deadline = time.monotonic() + 120
        while not self.qemus:
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)

    @property
    def qemus(self) -> list[int]:
        """The QEMUs that it started."""
        if not self._qemus.exists():
            return []
        return [int(line) for line in self._qemus.read_text().split()]

    def running(self) -> list[int]:
        return [pid for pid in self.qemus if Path(f"/proc/{pid}/cwd").exists()]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


@pytest.mark.parametrize(
    ("number", "status", "told"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "ended by SIGTERM"),
        (signal.SIGHUP, 129, "ended by SIGHUP"),
    ],
)
def test_a_signal_leaves_nothing_behind_and_tells_the_way_on(
    run: Run, number: signal.Signals, status: int, told: str
) -> None:
    run.wait_until_it_boots()
    run.process.send_signal(number)
    _, said = run.process.communicate(timeout=120)
    assert said == f"temper: {told}\n  -> {WAY_ON}\n"
    assert run.process.returncode == status
    assert run.running() == []
    assert list(run.scratch.iterdir()) == []


def test_kill_9_ends_qemu_and_the_next_start_removes_what_is_left(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.wait_until_it_boots()
    run.process.kill()
    run.process.wait(60)
    deadline = time.monotonic() + 20
    while run.running():
        assert time.monotonic() < deadline, "QEMUs were left behind"
        time.sleep(0.05)
    assert list(run.scratch.iterdir())
    monkeypatch.setattr("tempfile.tempdir", str(run.scratch))
    with scratch_folder() as ours:
        names = {path.name for path in run.scratch.iterdir()}
        assert names == {ours.name, f"{ours.name}.lock"}
