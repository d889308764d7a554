"""A host made up of a fake PATH, with a checkout: nothing is really installed."""

import re
import shutil
import subprocess
from pathlib import Path

from temper.paths import REPOSITORY

SETUP = REPOSITORY / "scripts" / "setup"
LAUNCHER = REPOSITORY / "temper"
REAL = (
    *("cat", "dirname", "env", "flock", "id", "readlink", "rm", "sed", "sh"),
    *("sha256sum", "sleep"),
)
NEEDED = re.findall(r"^\S+ +(\w[\w+-]*)$", SETUP.read_text(), re.MULTILINE)

# What uv makes of a checkout: a program that says how it was called.
_UV = """\
echo "uv $*" >>{notes}
{meanwhile}
mkdir -p .venv/bin
printf '#!/bin/sh\\n{program}\\n' >.venv/bin/temper
chmod +x .venv/bin/temper
ln -sf {bin}/python3 .venv/bin/python
"""
SAYS_HOW = 'printf "%%s\\\\n" "$PWD" "$TEMPER_COMMAND" "$@"'


class Host:
    """A host with every program that is needed; apt-get and uv only take notes.

    What a host loses, apt-get brings back, whatever it is asked for.
    """

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self._lost = root / "lost"
        self._notes = root / "notes"
        self._notes.touch()
        for folder in (self.bin, self._lost):
            folder.mkdir()
        for name in NEEDED:
            self.gets(name, "")
        for name in (*REAL, "chmod", "ln", "mkdir"):
            self.gets(name, f'exec {shutil.which(name)} "$@"')
        self.runtime = root / "clang" / "lib" / "linux" / "libclang_rt.asan-x86_64.a"
        self.runtime.parent.mkdir(parents=True)
        self.runtime.touch()
        self.gets("clang", f"echo {root}/clang")
        self.has_uv()
        self.gets("apt-cache", "exit 0")
        takes_note = f'echo "apt-get $*" >>{self._notes}'
        brings_back = f"/bin/mv {self._lost}/* {self.bin} 2>/dev/null"
        self.gets("apt-get", f"{takes_note}\n{brings_back}\nexit 0")
        self.checkout = root / "check out"
        (self.checkout / "scripts").mkdir(parents=True)
        shutil.copy(SETUP, self.checkout / "scripts")
        shutil.copy(LAUNCHER, self.checkout)
        for name in ("pyproject.toml", "uv.lock"):
            (self.checkout / name).write_text(name)

    def has_uv(self, program: str = SAYS_HOW, meanwhile: str = "") -> None:
        """Give it a uv that installs ``program`` and does something else meanwhile."""
        given = {"program": program, "meanwhile": meanwhile}
        self.gets("uv", _UV.format(notes=self._notes, bin=self.bin, **given))

    def gets(self, name: str, script: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def loses(self, name: str) -> None:
        (self.bin / name).rename(self._lost / name)

    def loses_for_good(self, name: str) -> None:
        (self.bin / name).unlink()

    def is_user(self, number: int) -> None:
        self.gets("id", f"echo {number}")

    def sets_up(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return self.runs(self.checkout / "scripts" / "setup", *arguments)

    def runs(
        self, *command: str | Path, cwd: Path | None = None, **env: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            cwd=cwd,
            env={"PATH": str(self.bin), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @property
    def notes(self) -> list[str]:
        """What apt-get and uv were called with, without apt-get's settings."""
        lines = self._notes.read_text().splitlines()
        return [re.sub(r" -q| -o \S+", "", line) for line in lines]
