"""Fetches the source of one of Debian's packages, of any suite."""

from pathlib import Path

from temper.arch import DEFAULT_ARCH
from temper.debian.apt import Apt
from temper.errors import InfraError
from temper.kernel.cache import Cache
from temper.process import call, need_tool

_TIMEOUT = 300.0
_RELEASE = Path("/etc/os-release")
_UNKNOWN = "$("
"""With what apt begins a field that it does not know."""


def unpack_source(name: str, suite: str, cache: Cache, work: Path) -> Path:
    """Return the source of a package with Debian's patches, in a folder in ``work``.

    Raises InfraError if it cannot be fetched.
    """
    need_tool("dpkg-source")
    apt = Apt(DEFAULT_ARCH, cache.apt / f"source-{suite}", source_lines(suite))
    description = apt.fetch_source(name, work)
    tree = work / "source"
    # apt has checked the signature of what it fetched.
    words = ("dpkg-source", "--no-check", "--extract", description.name, tree)
    done = call(words, work, _TIMEOUT)
    if done.status:
        raise InfraError(f"the source of {name} cannot be unpacked: {done.tail(2)}")
    return tree


def source_lines(suite: str) -> str:
    """Return where a suite's source packages come from, for apt.

    These are the sites and keys of this host's own suite. Raises InfraError if it has
    none.
    """
    codename = _codename()
    form = "$(SITE)|$(SIGNED_BY)|$(RELEASE)|$(COMPONENT)"
    done = call(("apt-get", "indextargets", "--format", form), Path("/"), _TIMEOUT)
    found = dict.fromkeys(tuple(line.split("|")) for line in done.lines)
    lines = [
        _line(site, key, suite)
        for site, key, release, component in found
        if (release, component) == (codename, "main")
    ]
    if not lines:
        raise InfraError(
            f"apt knows no site of Debian {codename or 'on this host'}",
            "apt-get update, with Debian's main in /etc/apt",
        )
    return "\n".join(lines) + "\n"


def _line(site: str, key: str, suite: str) -> str:
    signed = "" if key.startswith(_UNKNOWN) else f" [signed-by={key}]"
    return f"deb-src{signed} {site} {suite} main"


def _codename() -> str:
    if _RELEASE.exists():
        for line in _RELEASE.read_text(encoding="utf-8").splitlines():
            name, _equals, value = line.partition("=")
            if name == "VERSION_CODENAME":
                return value.strip('"')
    return ""
