"""scripts/setup on hosts made up of a fake PATH: nothing is really installed."""

from pathlib import Path

import pytest
from fake_host import NEEDED, Host

from temper.catalog import feature_named
from temper.events import events_of


@pytest.fixture
def host(tmp_path: Path) -> Host:
    host = Host(tmp_path)
    host.is_user(0)
    return host


def test_what_is_needed_was_read_from_the_script() -> None:
    assert {"bc", "gcc", "qemu-system-x86_64", "setpriv"} <= set(NEEDED)


def test_nothing_is_installed_when_nothing_is_missing(host: Host) -> None:
    assert host.sets_up().returncode == 0
    assert host.notes == ["uv sync --locked"]


def test_only_what_is_missing_is_installed(host: Host) -> None:
    for program in ("bc", "setpriv"):
        host.loses(program)
    assert host.sets_up().returncode == 0
    assert host.notes == [
        "apt-get update",
        "apt-get install --yes --no-install-recommends bc util-linux",
        "uv sync --locked",
    ]


@pytest.mark.parametrize(
    ("codename", "packages"),
    [
        ("bookworm", "cargo-web rust-web-clippy rustfmt-web"),
        ("trixie", "cargo rust-clippy rustfmt"),
    ],
)
def test_debian_12_has_a_newer_rust_beside_its_own(
    host: Host, codename: str, packages: str
) -> None:
    host.gets("sed", f"echo {codename}")
    for program in ("cargo", "cargo-clippy", "rustfmt"):
        host.loses(program)
    assert host.sets_up("check").returncode == 0
    assert host.notes[1].endswith(f"--no-install-recommends {packages}")


@pytest.mark.parametrize(
    ("codename", "package"),
    [("bookworm", "libclang-rt-14-dev"), ("trixie", "libclang-rt-dev")],
)
def test_the_sanitizers_of_clang_are_a_package_of_their_own(
    host: Host, codename: str, package: str
) -> None:
    host.gets("sed", f"echo {codename}")
    host.runtime.unlink()
    done = host.sets_up("check")
    assert host.notes[1].endswith(f"--no-install-recommends {package}")
    assert done.returncode == 1
    assert f"libclang_rt.asan-*.a, of the package {package}\n" in done.stderr


def test_what_apt_get_does_not_bring_is_named_at_once(host: Host) -> None:
    host.loses("bc")
    host.loses_for_good("setpriv")
    done = host.sets_up()
    assert done.returncode == 1
    assert "not found, although apt-get has installed it" in done.stderr
    assert "setpriv, of the package util-linux" in done.stderr
    assert "bc, of" not in done.stderr
    assert not [note for note in host.notes if note.startswith("uv")]


def test_the_tools_of_other_work_are_installed_for_that_alone(host: Host) -> None:
    host.loses("dieharder")
    assert host.sets_up("check").returncode == 0
    assert host.notes == ["uv sync --locked"]
    host.sets_up("battery")
    assert "dieharder" in host.notes[2].split()


def test_a_list_names_packages_and_installs_none(host: Host) -> None:
    host.gets("sed", "echo bookworm")
    host.loses("bc")
    usual, check = (
        set(host.sets_up("--list", *words).stdout.split()) for words in ((), ("check",))
    )
    assert {"bc", "gcc", "util-linux", "python3-venv"} <= usual
    assert {"cargo-web", "libclang-rt-14-dev", "valgrind"} <= check - usual
    assert usual <= check
    assert host.notes == []


def test_the_tests_have_what_events_need_even_to_be_planned(host: Host) -> None:
    events = events_of(feature_named("kpkeys")).events.values()
    needed = {package for event in events for package in event.needs.values()}
    assert "ovmf" in needed
    for word in ("check", "check-all", "events"):
        assert needed <= set(host.sets_up("--list", word).stdout.split()), word


def test_sudo_is_used_by_who_is_not_root(host: Host, tmp_path: Path) -> None:
    host.is_user(1000)
    host.loses("bc")
    host.gets("sudo", f'echo sudo >>{tmp_path}/notes; exec "$@"')
    assert host.sets_up().returncode == 0
    assert host.notes[:2] == ["sudo", "apt-get update"]


def test_without_root_and_sudo_it_says_what_somebody_must_run(host: Host) -> None:
    host.is_user(1000)
    host.loses("bc")
    done = host.sets_up()
    assert done.returncode == 1
    assert "there is no sudo" in done.stderr
    assert "apt-get install --no-install-recommends bc" in done.stderr
    assert host.notes == []


def test_without_apt_get_it_names_what_is_missing(host: Host) -> None:
    host.loses("apt-get")
    host.loses("bc")
    done = host.sets_up()
    assert done.returncode == 1
    assert "missing: bc" in done.stderr
    assert host.notes == []


@pytest.mark.parametrize("known", ["", "make", "make|linux-source-6.12"])
def test_a_failed_installation_ends_it(host: Host, known: str) -> None:
    host.gets("apt-cache", f"case $2 in {known or 'none'}) ;; *) exit 100 ;; esac")
    host.loses("bc")
    host.gets("apt-get", "case $* in *install*) exit 100 ;; esac")
    done = host.sets_up()
    assert done.returncode == 1
    assert "apt-get could not install bc" in done.stderr
    assert ("is there a network" in done.stderr) == (known != "make")
    assert ("bookworm-security" in done.stderr) == (known == "make")
    assert host.notes == []


def test_a_failed_synchronisation_is_not_hidden(host: Host) -> None:
    host.gets("uv", "exit 2")
    done = host.sets_up()
    assert done.returncode == 3
    assert "could not make the Python environment" in done.stderr


def test_a_missing_uv_that_pip_cannot_fetch_is_named(host: Host) -> None:
    host.loses_for_good("uv")
    pip = "mkdir -p .tools/bin; printf '#!/bin/sh\nexit 1\n' >.tools/bin/pip"
    host.gets("python3", f"case $* in *venv*) {pip}; chmod +x .tools/bin/pip ;; esac")
    done = host.sets_up()
    assert done.returncode == 3
    assert "pip could not install uv" in done.stderr


def test_an_unknown_word_is_refused(host: Host) -> None:
    done = host.sets_up("tests")
    assert done.returncode == 1
    assert "usage" in done.stderr
