"""The doctor on hosts made up of a fake PATH, fake folders and fake devices."""

import errno
import fcntl
import json
import os
import re
import shutil
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from temper import doctor
from temper.doctor import LIBRARIES, TOOLS, Finding, State, examine
from temper.paths import REPOSITORY
from temper.report.doctor_table import print_findings

GIB = 1 << 30
QEMU = "qemu-system-x86_64"
QEMU_ARM64 = "qemu-system-aarch64"
GCC_ARM64 = "aarch64-linux-gnu-gcc"
ARM64 = (QEMU_ARM64, GCC_ARM64, "aarch64-linux-gnu-ld")
PROGRAMS = (*TOOLS, QEMU, "gcc", "ld", "dpkg-query", *ARM64)

ANSWERS = {
    QEMU: """
        case $1 in
        -help) echo '-plugin [file=]<file>[,<argname>=<argvalue>]' ;;
        *) echo 'QEMU emulator version 10.0.13 (Debian 1:10.0.13+ds-0+deb13u1)' ;;
        esac""",
    "gcc": """
        case $1 in
        -dumpmachine) echo x86_64-linux-gnu ;;
        *) echo 'gcc (Debian 14.2.0-19) 14.2.0' ;;
        esac""",
    GCC_ARM64: """
        case $1 in
        -dumpmachine) echo aarch64-linux-gnu ;;
        *) echo 'aarch64-linux-gnu-gcc (Debian 14.2.0-19) 14.2.0' ;;
        esac""",
    "dpkg-query": "printf 6.12.107-1",
    # An empty line, and numbers that are no version.
    "flex": "echo; echo 'This is flex 2, revision 6 (v2.6.4), for 32 bits'",
}

ANSWERS[QEMU_ARM64] = ANSWERS[QEMU]

Usage = namedtuple("Usage", "total used free")


class Host:
    """A host that has everything, until a test takes something away."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self._patch = monkeypatch
        self._bin = root / "bin"
        self._bin.mkdir()
        for program in PROGRAMS:
            self.answers(program, ANSWERS.get(program, f"echo '{program} 1.2.3'"))
        self.source = root / "src" / "linux-source-6.12.tar.xz"
        self.postgresql = root / "postgresql" / "17" / "bin" / "postgres"
        self.kvm = root / "kvm"
        for path in (self.source, self.postgresql, self.kvm):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        monkeypatch.setenv("PATH", str(self._bin))
        monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
        monkeypatch.setenv("TEMPER_DATA", str(root / "data"))
        monkeypatch.delenv("TEMPER_SHARED_CACHE", raising=False)
        monkeypatch.setattr(doctor, "DEBIAN_SOURCES", self.source.parent)
        monkeypatch.setattr(doctor, "POSTGRESQL", root / "postgresql")
        monkeypatch.setattr(doctor, "KVM", self.kvm)
        self.has_own_qemu = True
        monkeypatch.setattr(doctor, "is_built", lambda cache: self.has_own_qemu)
        self.kvm_says(lambda: 12)
        self.has_free(100 * GIB)
        self.has_memory(8 * GIB)

    def answers(self, program: str, script: str) -> None:
        path = self._bin / program
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def loses(self, program: str) -> None:
        (self._bin / program).unlink()

    def kvm_says(self, answer: Callable[[], int]) -> None:
        self._patch.setattr(fcntl, "ioctl", lambda device, request: answer())

    def has_free(self, size: int) -> None:
        usage = Usage(200 * GIB, 200 * GIB - size, size)
        self._patch.setattr(shutil, "disk_usage", lambda path: usage)

    def has_memory(self, size: int) -> None:
        values = {"SC_PHYS_PAGES": size // 4096, "SC_PAGE_SIZE": 4096}
        self._patch.setattr(os, "sysconf", values.__getitem__)

    def may_not_write(self, folder: Path) -> None:
        real = os.access
        self._patch.setattr(
            os, "access", lambda path, mode: path != folder and real(path, mode)
        )


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def finding(name: str) -> Finding:
    (found,) = [found for found in examine().findings if found.name == name]
    return found


def only_lack() -> Finding:
    """Return what is lacking; fail if that is not exactly one thing."""
    (lack,) = examine().lacking
    return lack


def test_a_host_with_everything_lacks_nothing(host: Host) -> None:
    findings = examine().findings
    assert {found.state for found in findings} == {State.OK}
    assert not any(found.cure for found in findings)


def test_a_qemu_of_ours_is_built_when_it_is_needed(host: Host) -> None:
    host.has_own_qemu = False
    found = finding("QEMU with permission overlays")
    assert (found.found, found.state) == ("not built yet", State.OPTIONAL)
    assert found.cure.endswith("temper emulator")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (QEMU, "10.0.13"),
        ("gcc", "14.2.0"),
        ("flex", "2.6.4"),
        ("ccache", "1.2.3"),
        ("linux-source-6.12", "6.12.107-1"),
        ("memory", "8.0 GiB"),
        ("KVM", "API 12; not used by this version yet"),
        ("PostgreSQL server", "17"),
    ],
)
def test_versions_and_amounts_are_told(host: Host, name: str, found: str) -> None:
    assert finding(name).found == found


@pytest.mark.parametrize("program", [*TOOLS, "ld"])
def test_a_missing_program_is_lacking(host: Host, program: str) -> None:
    host.loses(program)
    lack = only_lack()
    assert (lack.name, lack.found) == (program, "missing")
    package = {"ld": "binutils", "setpriv": "util-linux", "xz": "xz-utils"}
    assert lack.cure == f"apt-get install {package.get(program, program)}"


def test_a_missing_qemu_lacks_its_plugins_too(host: Host) -> None:
    host.loses(QEMU)
    lacks = examine().lacking
    assert [lack.name for lack in lacks] == [QEMU, f"{QEMU} plugins"]
    assert lacks[0].cure == "apt-get install qemu-system-x86"


def test_a_qemu_without_plugins_is_lacking(host: Host) -> None:
    host.answers(QEMU, "echo 'QEMU emulator version 9.2.0'")
    lack = only_lack()
    assert lack.name == f"{QEMU} plugins"
    assert "qemu-system-x86" in lack.cure


def test_a_missing_compiler_lacks_what_it_would_build(host: Host) -> None:
    host.loses("gcc")
    lacks = {lack.name: lack.cure for lack in examine().lacking}
    assert lacks.keys() == {"gcc", *LIBRARIES}
    assert lacks["gcc"] == "apt-get install gcc"


def test_a_compiler_for_another_machine_is_lacking(host: Host) -> None:
    host.answers("gcc", "echo aarch64-linux-gnu 14.2.0")
    lack = only_lack()
    assert lack.name == "gcc"
    assert "aarch64" in lack.found


def test_arm64_can_be_done_without(host: Host) -> None:
    for program in ARM64:
        host.loses(program)
    assert not examine().lacking
    cures = {
        found.name: found.cure
        for found in examine().findings
        if found.state is State.OPTIONAL
    }
    qemu = "apt-get install qemu-system-arm"
    assert cures == {
        QEMU_ARM64: qemu,
        f"{QEMU_ARM64} plugins": f"{qemu}, and put it first on the PATH",
        GCC_ARM64: "apt-get install gcc-aarch64-linux-gnu",
        "aarch64-linux-gnu-ld": "apt-get install binutils-aarch64-linux-gnu",
        "static libc for arm64": "apt-get install libc6-dev-arm64-cross",
    }


def test_a_cross_compiler_must_be_one(host: Host) -> None:
    host.answers(GCC_ARM64, ANSWERS["gcc"])
    found = finding(GCC_ARM64)
    assert found.state is State.OPTIONAL
    assert found.found == "compiles for 'x86_64-linux-gnu', not for arm64"


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_that_nothing_builds_with_is_lacking(host: Host, name: str) -> None:
    package, arguments = LIBRARIES[name]
    fails = f'case "$*" in *{arguments[-1]}*) exit 1 ;; esac'
    host.answers("gcc", f"{fails}{ANSWERS['gcc']}")
    lack = only_lack()
    assert (lack.name, lack.cure) == (name, f"apt-get install {package}")


def test_a_program_that_fails_is_lacking(host: Host) -> None:
    host.answers("flex", "exit 127")
    lack = only_lack()
    assert lack.found == "'flex --version' fails"
    assert lack.cure == "apt-get install --reinstall flex"


def test_a_program_that_hangs_is_lacking(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_TIMEOUT", 0.5)
    host.answers("bison", "exec /bin/sleep 60")
    assert only_lack().name == "bison"


def test_a_missing_source_is_lacking(host: Host) -> None:
    host.source.unlink()
    lack = only_lack()
    assert lack.name == "linux-source-6.12"
    assert lack.cure.startswith("apt-get install linux-source-6.12")


def test_a_source_need_not_come_from_a_package(host: Host) -> None:
    host.loses("dpkg-query")
    assert finding("linux-source-6.12").state is State.OK


def test_too_little_memory_is_lacking(host: Host) -> None:
    host.has_memory(GIB)
    assert only_lack().name == "memory"


def test_a_first_build_needs_more_disk_than_a_later_one(host: Host) -> None:
    host.has_free(2 * GIB)
    lack = only_lack()
    assert lack.name == "disk for kernels"
    assert "free 3.0 GiB there" in lack.cure
    (host.root / "cache" / "temper" / "sources" / "one").mkdir(parents=True)
    assert not examine().lacking


def test_a_full_disk_is_lacking(host: Host) -> None:
    host.has_free(0)
    names = [lack.name for lack in examine().lacking]
    assert names == ["disk for kernels", "disk for results"]


def test_a_folder_that_cannot_be_written_to_is_lacking(host: Host) -> None:
    data = host.root / "data"
    data.mkdir()
    host.may_not_write(data)
    lack = only_lack()
    assert (lack.name, lack.found) == (
        "disk for results",
        f"{data} is not writable",
    )
    assert "TEMPER_DATA" in lack.cure


def no_kvm(host: Host) -> None:
    host.kvm.unlink()


def raising(error: OSError) -> Callable[[Host], None]:
    def refuse() -> int:
        raise error

    return lambda host: host.kvm_says(refuse)


@pytest.mark.parametrize(
    ("sabotage", "cure"),
    [
        (no_kvm, "virtualisation"),
        (raising(PermissionError()), 'adduser "$USER" kvm'),
        (raising(OSError(errno.ENODEV, "No such device")), "modprobe kvm"),
        (lambda host: host.kvm_says(lambda: 11), "a newer host"),
    ],
)
def test_kvm_can_be_done_without(
    host: Host, sabotage: Callable[[Host], None], cure: str
) -> None:
    sabotage(host)
    found = finding("KVM")
    assert found.state is State.OPTIONAL
    assert cure in found.cure
    assert not examine().lacking


def test_postgresql_can_be_done_without(host: Host) -> None:
    host.postgresql.unlink()
    found = finding("PostgreSQL server")
    assert found.state is State.OPTIONAL
    assert found.cure == "apt-get install postgresql"
    assert not examine().lacking


def test_a_shared_cache_is_tried(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "shared cache" not in {found.name for found in examine().findings}
    store = tmp_path / "store"
    monkeypatch.setenv("TEMPER_SHARED_CACHE", f"file://{store}")
    assert finding("shared cache") == Finding(
        name="shared cache",
        found=f"file://{store} can be read and written",
        state=State.OK,
    )
    assert not [path for path in store.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("file:///dev/null/store", "cannot be written: "),
        ("s4://me:secret@bucket", "is no URL that fsspec opens"),
    ],
)
def test_a_shared_cache_can_be_done_without(
    host: Host, monkeypatch: pytest.MonkeyPatch, url: str, found: str
) -> None:
    monkeypatch.setenv("TEMPER_SHARED_CACHE", url)
    lack = finding("shared cache")
    assert lack.state is State.OPTIONAL
    assert found in lack.found
    assert lack.cure
    assert "secret" not in f"{lack}"


def test_the_setup_script_installs_every_package_that_cures(host: Host) -> None:
    for program in PROGRAMS:
        host.loses(program)
    host.source.unlink()
    host.postgresql.unlink()
    cures = " ".join(found.cure for found in examine().findings)
    cured = set(re.findall(r"apt-get install ([\w.-]*\w)", cures))
    script = (REPOSITORY / "scripts" / "setup").read_text()
    installed = set(re.findall(r"^(\S+) +\S+$", script, re.MULTILINE))
    # The compiler brings the linker.
    linkers = {"binutils", "binutils-aarch64-linux-gnu"}
    assert cured - installed == linkers


def test_as_json(host: Host) -> None:
    host.loses("bc")
    report = json.loads(examine().to_json())
    assert report["schema_version"] == 1
    assert {
        "name": "bc",
        "found": "missing",
        "state": "lacking",
        "cure": "apt-get install bc",
    } in report["findings"]


def printed() -> list[str]:
    console = Console(width=200, no_color=True)
    with console.capture() as capture:
        print_findings(console, examine())
    return capture.get().splitlines()


def test_the_table_fits_and_ends_with_the_verdict(host: Host) -> None:
    lines = printed()
    assert max(map(len, lines)) <= 78
    assert lines[-1].strip() == "This host has everything that Temper needs."


def test_the_table_shows_the_cure_under_the_lack(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.loses("bc")
    host.kvm.unlink()
    lines = [" ".join(line.split()) for line in printed()]
    lack = lines.index("bc lacking missing")
    assert lines[lack + 1] == "cure: apt-get install bc"
    verdict = " ".join(lines[lines.index("") :]).strip()
    setup = REPOSITORY / "scripts" / "setup"
    assert verdict.startswith(f"Lacking: 1. {setup} installs every package")
    monkeypatch.setattr("temper.invocation.IN_CHECKOUT", False)
    assert printed()[-1].strip() == "Lacking: 1."
