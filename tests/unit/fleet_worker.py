"""What ``dask worker --preload`` makes a worker whose boots wait for a test.

A boot writes a file with its worker's process, and waits while the file ``held`` is
there. TEMPER_TEST_FLEET names the folder of both.
"""

import os
import time
from pathlib import Path

from distributed import Worker
from fake_machine import FakeMachine, prepared, result

from temper.machine import KINDS, BootResult, StoppedError, Watcher
from temper.record.plan import RunPlan
from temper.run import worker as tested
from temper.run.prepare import Prepared

FOLDER = "TEMPER_TEST_FLEET"


def dask_setup(_worker: Worker) -> None:
    folder = Path(os.environ[FOLDER])

    def waits(watcher: Watcher) -> BootResult:
        (folder / f"boot-{os.getpid()}-{time.monotonic_ns()}").touch()
        while (folder / "held").exists():
            if watcher.stop.wait(0.02):
                raise StoppedError
        return result()

    def prepare(plan: RunPlan, *_: object) -> Prepared:
        scratch = folder / str(os.getpid())
        scratch.mkdir(exist_ok=True)
        return Prepared(plan, prepared(scratch).setups)

    machine = FakeMachine(dict.fromkeys(("off", "stock"), waits))
    KINDS["fake"] = lambda *_: machine
    vars(tested)["prepare"] = prepare
