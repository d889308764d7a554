"""Programs to which permissions of files apply, whoever runs the tests."""

import os
import subprocess
import sys
from pathlib import Path

_CAPABILITIES = "-dac_override,-dac_read_search"
# The user stays the same, since a user called nobody may not even read Python.
_AS_ROOT = (
    "setpriv",
    f"--bounding-set={_CAPABILITIES}",
    f"--inh-caps={_CAPABILITIES}",
    "--",
)


def run_python(
    code: str, *arguments: str | Path, **env: str
) -> "subprocess.CompletedProcess[str]":
    """Run ``code`` where not even root may do what permissions forbid."""
    prefix = _AS_ROOT if os.geteuid() == 0 else ()
    return subprocess.run(
        [*prefix, sys.executable, "-c", code, *arguments],
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
