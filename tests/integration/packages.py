"""Which of Debian's packages files are of, and which others come with a package."""

import re
import shutil
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from temper.paths import REPOSITORY
from temper.process import call

_TIMEOUT = 60.0
_FIELDS = ("Package", "Pre-Depends", "Depends", "Provides", "Essential", "Priority")
# `strace -y` tells what an opened file really is.
_OPENED = re.compile(r" = \d+<(/[^>]+)>$", re.MULTILINE)
_STARTED = re.compile(r'execve\("(/[^"]+)"')
# Meson asks these where they are there, and on a clean root does without them.
_TAKEN_WHERE_THERE = ("dpkg-dev", "llvm")
_STRACE = ("strace", "-f", "--seccomp-bpf", "-z", "-y", "-A")


@dataclass(frozen=True)
class Package:
    """An installed one."""

    name: str
    needs: tuple[tuple[str, ...], ...]
    """Alternatives each; what is only recommended is not among them."""
    provides: tuple[str, ...]
    in_every_debian: bool


@dataclass
class Started:
    """The commands that this process ran."""

    commands: set[tuple[str, ...]] = field(default_factory=set)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a command; a hook of Python's."""
        if event == "subprocess.Popen":
            words = arguments[1]
            self.commands.add((words,) if isinstance(words, str) else tuple(words))

    @property
    def programs(self) -> set[Path]:
        return {path for command in self.commands for path in programs(command)}


def traced(log: Path, *calls: str) -> tuple[str | Path, ...]:
    """Return what to put before a command to have a log of its system ``calls``."""
    return (*_STRACE, "-e", f"trace={','.join(calls)}", "-o", log)


def used(log: Path) -> set[Path]:
    """Return the programs and files in such a log."""
    text = log.read_text(errors="replace")
    return {Path(name) for name in (*_OPENED.findall(text), *_STARTED.findall(text))}


def not_by_setup(files: Iterable[Path], word: str = "check") -> set[str]:
    """Return the packages of ``files`` that setup does not install for the tests.

    ``word`` is setup's: ``check``, or ``check-all``.
    """
    return owners(files) - setups_packages(word) - closure(_TAKEN_WHERE_THERE)


@cache
def setups_packages(word: str) -> set[str]:
    """Return what scripts/setup installs for the tests, and all that comes with it."""
    done = call([REPOSITORY / "scripts" / "setup", "--list", word], Path("/"), 60)
    assert done.status == 0, done.lines
    return closure(done.lines)


def closure(names: Iterable[str]) -> set[str]:
    """Return ``names``, what is in every Debian, and all that these depend on."""
    packages = installed()
    wanted = [
        *names,
        *(each.name for each in packages.values() if each.in_every_debian),
    ]
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in packages and name not in found:
            found.add(name)
            wanted += [
                each for needed in packages[name].needs for each in _best(needed)
            ]
    return found


def _best(alternatives: Sequence[str]) -> Collection[str]:
    """Return what stands for the first of them that there is, as apt would choose."""
    for name in alternatives:
        if name in installed():
            return (name,)
        if name in providers():
            return providers()[name]
    return ()


@cache
def providers() -> dict[str, list[str]]:
    """Return the installed packages that provide another name."""
    found: dict[str, list[str]] = {}
    for package in installed().values():
        for name in package.provides:
            found.setdefault(name, []).append(package.name)
    return found


@cache
def installed() -> dict[str, Package]:
    """Return the packages of this machine by name."""
    form = "\t".join(f"${{{name}}}" for name in _FIELDS) + "\n"
    done = call(["dpkg-query", "--show", f"--showformat={form}"], Path("/"), _TIMEOUT)
    assert done.status == 0, done.tail(3)
    return {line.split("\t")[0]: _package(line) for line in done.lines if line}


def _package(line: str) -> Package:
    name, before, depends, provides, essential, priority = line.split("\t")
    needs = [
        tuple(re.sub(r"[ (:].*", "", each.strip()) for each in needed.split("|"))
        for needed in f"{before},{depends}".split(",")
        if needed.strip()
    ]
    return Package(
        name,
        tuple(needs),
        tuple(re.findall(r"([a-z0-9][\w.+-]*)(?: \([^)]*\))?,? *", provides)),
        # What mmdebstrap's minbase has.
        essential == "yes" or priority == "required" or name == "apt",
    )


def owners(files: Iterable[Path]) -> set[str]:
    """Return the packages of ``files``; no package has what was made here."""
    names = {
        name
        for file in files
        for real in {file, file.resolve()}
        # Folders are of many packages, and pkg-config reads all that there is.
        if file.is_file() and file.suffix != ".pc"
        for name in (str(real), str(real).removeprefix("/usr"))
    }
    if not names:
        return set()
    # It fails when one of them is of no package.
    done = call(["dpkg-query", "--search", *sorted(names)], Path("/"), _TIMEOUT)
    return {
        package.split(":")[0]
        for line in done.lines
        if not line.startswith(("dpkg-query: ", "diversion "))
        for package in line.rpartition(": ")[0].split(", ")
    }


def programs(command: Sequence[str | Path]) -> set[Path]:
    """Return the program that a command starts, and those that start it in turn."""
    found = set()
    words = [str(word) for word in command]
    while words and (program := shutil.which(words[0])):
        found.add(Path(program))
        before, words = words[0], words[1:]
        if Path(before).name not in ("env", "nice", "setpriv", "strace"):
            break
        while words and not shutil.which(words[0]):
            words = words[1:]
    return found
