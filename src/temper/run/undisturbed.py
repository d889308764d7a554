"""Leaves Ctrl-C to the process that started a worker, which ends it in good order.

A module that Dask loads into workers of ours on this host: a terminal sends the signal
to all of them, too.
"""

import signal

from distributed import Worker


def dask_setup(_worker: Worker) -> None:
    """Ignore Ctrl-C from now on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
