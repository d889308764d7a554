"""Finds and fetches Debian's packages for any architecture.

apt does the work, with a configuration and lists of our own: it neither reads nor
changes what is installed on the host. Of the host's configuration it takes where
packages come from, which keys sign them, and how to reach the network.
"""

import os
import re
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from filelock import FileLock

from temper.arch import Arch
from temper.digest import file_digest
from temper.errors import InfraError, InputError
from temper.process import Finished, call, need_tool
from temper.record.plan import Package

_FRESH = 86_400.0
"""Seconds that lists of packages serve, so that the runs of a day are alike."""
_TIMEOUT = 600.0
_UNKNOWN = re.compile(
    r"E: (?:Unable to locate package |Version '[^']+' for '|Package ')([^\s':]+)"
)
_FIELD = re.compile(r"^Types:", re.MULTILINE)
_ARCHIVE = re.compile(
    r"^'\S+' (?P<name>[^_]+)_(?P<version>[^_]+)_\S+\.deb \d+ SHA256:(?P<digest>\w{64})$"
)
_CONFIGURATION = """\
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::ForceHash "SHA256";
"""


@dataclass(frozen=True)
class Apt:
    """apt for packages of one architecture, with its files in ``folder``."""

    arch: Arch
    folder: Path
    sources: str = ""
    """Where packages come from, as in a file of /etc/apt; empty: as on the host."""
    named_by: str = "/etc/apt"
    """What says so, for who has to mend it."""

    def resolve(self, names: Collection[str]) -> tuple[Package, ...]:
        """Return packages and all that they depend on, by name.

        Raises InputError for a package that Debian does not have, InfraError if the
        lists of packages cannot be fetched.
        """
        with self._locked():
            self._update()
            install = ("install", "--print-uris", "--quiet=2", *sorted(names))
            done = self._apt(install)
        return self._found(done)

    def _found(self, done: Finished) -> tuple[Package, ...]:
        """Return the packages that apt-get named."""
        self._check(done)
        found = [
            Package(
                name=each["name"],
                version=unquote(each["version"]),
                digest=each["digest"],
            )
            for each in map(_ARCHIVE.match, done.lines)
            if each
        ]
        if not found:
            raise InfraError(f"apt-get named no packages: {done.tail(1)}")
        return tuple(sorted(found, key=lambda package: package.name))

    def only(self, names: Collection[str]) -> tuple[Package, ...]:
        """Return packages without what they depend on; raises as ``resolve`` does."""
        with self._locked():
            self._update()
            done = self._apt(("download", "--print-uris", "--quiet=2", *names))
        return self._found(done)

    def depends(self, name: str) -> list[str]:
        """Name what a package depends on, alternatives included.

        Raises InputError if Debian does not have it, InfraError if the lists of
        packages cannot be fetched.
        """
        with self._locked():
            self._update()
            words = ("apt-cache", "show", "--no-all-versions", name)
            done = call(words, self.folder, _TIMEOUT, env=self._env)
        for line in done.lines:
            if line.startswith("Depends: "):
                return re.findall(r"(?:^Depends: |[,|] )(\S+?)(?=[,\s]|$)", line)
        raise InputError(f"Debian has no package {name} for {self.arch.name}")

    def fetch(self, packages: Iterable[Package], into: Path) -> list[Path]:
        """Download exactly these packages, checked by apt's signatures.

        Raises InputError if one is no longer to be had, InfraError without a network.
        """
        wanted = {package.digest: package for package in packages}
        names = [f"{each.name}={each.version}" for each in wanted.values()]
        with self._locked():
            done = self._apt(("download", "--quiet=2", *names), into)
        self._check(done)
        archives = sorted(into.glob("*.deb"))
        if missing := wanted.keys() - {file_digest(path) for path in archives}:
            package = wanted[min(missing)]
            raise InputError(
                f"{package.name} {package.version} is no longer the package that the "
                "run was planned with",
                "start a new run",
            )
        return archives

    def fetch_source(self, name: str, into: Path) -> Path:
        """Download a source package, checked by apt's signatures; return its .dsc.

        Raises InfraError if it is not to be had.
        """
        with self._locked():
            self._update()
            words = ("source", "--download-only", "--only-source", "--quiet=2", name)
            done = self._apt(words, into)
        self._check(done)
        return next(into.glob("*.dsc"))

    def _locked(self) -> FileLock:
        self.folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self.folder / "lock", timeout=_TIMEOUT)

    def _update(self) -> None:
        """Fetch the lists of packages, unless those here are of today."""
        fresh = self.folder / "fresh"
        if fresh.exists() and time.time() - fresh.stat().st_mtime < _FRESH:
            return
        self._configure()
        # Otherwise old lists would count as a success.
        done = self._apt(("update", "--quiet=2", "--error-on=any"))
        if done.status:
            raise InfraError(
                f"Debian's lists of packages for {self.arch.name} cannot be fetched: "
                f"{done.tail(1)}",
                self._cure,
            )
        fresh.touch()

    def _configure(self) -> None:
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        need_tool("apt-config")
        host = call(["apt-config", "dump"], self.folder, _TIMEOUT)
        # Without the lists for software centres, which no program needs.
        network = [
            line
            for line in host.lines
            if line.startswith("Acquire::") and "::IndexTargets::" not in line
        ]
        ours = _CONFIGURATION.format(folder=self.folder, arch=self.arch.debian)
        text = "\n".join([*network, ours, *self._chosen()])
        (self.folder / "apt.conf").write_text(text, encoding="utf-8")

    def _chosen(self) -> list[str]:
        """Return the lines that have apt read our sources instead of the host's."""
        if not self.sources:
            return []
        # apt tells the two forms of such a file by its name.
        form = "sources" if _FIELD.search(self.sources) else "list"
        path = self.folder / f"chosen.{form}"
        path.write_text(self.sources, encoding="utf-8")
        return [f'Dir::Etc::sourcelist "{path}";', 'Dir::Etc::sourceparts "/dev/null";']

    @property
    def _cure(self) -> str:
        return f"check the network and {self.named_by}, as for 'apt-get update'"

    def _apt(self, words: Iterable[str], cwd: Path | None = None) -> Finished:
        need_tool("apt-get")
        return call(["apt-get", *words], cwd or self.folder, _TIMEOUT, env=self._env)

    @property
    def _env(self) -> dict[str, str]:
        return {**os.environ, "APT_CONFIG": str(self.folder / "apt.conf")}

    def _check(self, done: Finished) -> None:
        """Raise the error that a failure of apt-get is."""
        if not done.status:
            return
        # Old or damaged lists may be the cause.
        (self.folder / "fresh").unlink(missing_ok=True)
        for unknown in filter(None, map(_UNKNOWN.match, done.lines)):
            raise InputError(f"Debian has no package {unknown[1]} for {self.arch.name}")
        raise InfraError(
            f"apt-get failed: {done.tail(1)}",
            self._cure,
        )
