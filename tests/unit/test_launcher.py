"""./temper in a checkout, on hosts made up of a fake PATH."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from fake_host import Host

SYNC = "uv sync --locked"


@pytest.fixture
def host(tmp_path: Path) -> Host:
    host = Host(tmp_path)
    host.is_user(0)
    return host


def test_the_first_call_sets_up_and_later_ones_do_not(host: Host) -> None:
    host.loses("bc")
    for _ in range(2):
        done = host.runs("./temper", "runs", cwd=host.checkout)
        assert done.stdout.splitlines() == [str(host.checkout), "./temper", "runs"]
    assert host.notes == [
        "apt-get update",
        "apt-get install --yes --no-install-recommends bc",
        SYNC,
    ]
    assert done.stderr == ""


def test_arguments_status_and_stdin_pass_unchanged(host: Host, tmp_path: Path) -> None:
    host.has_uv('cat; printf "<%%s>" "$@"; exit 42', meanwhile="cat")
    words = ("two words", "", "*", "$HOME", "-e", "--", "it's")
    command = [str(host.checkout / "temper"), *words]
    for _ in ("with the set-up", "without"):
        done = subprocess.run(
            command,
            input="in",
            env={"PATH": str(host.bin)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 42
        assert done.stdout == "in" + "".join(f"<{word}>" for word in words)


def test_it_is_called_through_links_and_on_the_path(host: Host, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "links" / "temper"
    second.parent.mkdir()
    first.symlink_to(host.checkout / "temper")
    second.symlink_to("../first")
    path = f"{second.parent}:{host.bin}"
    done = host.runs("sh", "-c", "temper runs", cwd=tmp_path, PATH=path)
    assert done.stdout.splitlines() == [str(tmp_path), str(second), "runs"]


def test_the_program_takes_the_launchers_place(host: Host) -> None:
    """So signals reach it, and whoever started it waits for it."""
    host.has_uv('trap "exit 7" TERM; echo $$; while :; do sleep 0.1; done')
    host.sets_up()
    process = subprocess.Popen(
        [host.checkout / "temper"],
        env={"PATH": str(host.bin)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    try:
        assert int(process.stdout.readline()) == process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 7
    finally:
        process.kill()
        process.stdout.close()


@pytest.mark.parametrize("name", ["pyproject.toml", "uv.lock", "scripts/setup"])
def test_what_git_pull_brings_is_set_up(host: Host, name: str) -> None:
    host.runs("./temper", cwd=host.checkout)
    with (host.checkout / name).open("a") as file:
        file.write("# new\n")
    for _ in range(2):
        assert host.runs("./temper", cwd=host.checkout).returncode == 0
    assert host.notes == [SYNC] * 2


def test_a_checkout_that_was_moved_is_set_up_again(host: Host, tmp_path: Path) -> None:
    host.sets_up()
    elsewhere = tmp_path / "elsewhere"
    host.checkout.rename(elsewhere)
    assert host.runs("./temper", cwd=elsewhere).returncode == 0
    assert host.notes == [SYNC] * 2


def test_another_python_is_set_up_for(host: Host) -> None:
    host.sets_up()
    python = host.bin / "python3"
    python.rename(host.bin / "python3.13")
    python.symlink_to("python3.13")
    assert host.runs("./temper", cwd=host.checkout).returncode == 0
    assert host.notes == [SYNC] * 2


def test_a_set_up_that_failed_is_done_again(host: Host) -> None:
    host.sets_up()
    lock = host.checkout / "uv.lock"
    before = lock.read_text()
    lock.write_text("new")
    host.gets("uv", "exit 2")
    done = host.runs("./temper", cwd=host.checkout)
    assert done.returncode == 3
    assert done.stderr.count("could not make the Python environment") == 1
    lock.write_text(before)
    host.has_uv()
    assert host.runs("./temper", cwd=host.checkout).returncode == 0
    assert host.notes == [SYNC] * 2


def test_two_at_once_set_up_one_after_the_other(host: Host, tmp_path: Path) -> None:
    """Both would write the same files."""
    busy = tmp_path / "busy"
    host.has_uv(meanwhile=f'mkdir "{busy}" || exit 9; sleep 0.5; rm -r "{busy}"')
    both = [
        subprocess.Popen(
            [host.checkout / "temper"],
            env={"PATH": str(host.bin)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    assert [each.wait(60) for each in both] == [0, 0]


def test_a_service_that_apt_get_starts_does_not_keep_the_lock(
    host: Host, tmp_path: Path
) -> None:
    host.loses("bc")
    apt_get = (host.bin / "apt-get").read_text()
    service = f"sleep 60 >/dev/null 2>&1 & echo $! >{tmp_path}/service"
    host.gets("apt-get", f"{service}\n{apt_get}")
    host.runs("./temper", cwd=host.checkout)
    (host.checkout / "uv.lock").write_text("new")
    began = time.monotonic()
    try:
        assert host.runs("./temper", cwd=host.checkout).returncode == 0
        assert time.monotonic() - began < 30
    finally:
        os.kill(int((tmp_path / "service").read_text()), signal.SIGKILL)


def test_a_user_who_may_not_install_can_still_use_what_is_there(host: Host) -> None:
    host.is_user(1000)
    host.loses("bc")
    first, second = (host.runs("./temper", cwd=host.checkout) for _ in range(2))
    assert "apt-get install --no-install-recommends bc" in first.stderr
    assert first.stdout.splitlines()[1] == "./temper"
    assert second.stderr == ""
    assert host.notes == [SYNC]


def test_without_python_it_cannot_go_on(host: Host) -> None:
    host.loses_for_good("python3")
    done = host.runs("./temper", cwd=host.checkout)
    assert done.returncode == 3
    assert "python3, of the package python3" in done.stderr
    assert done.stdout == ""


def test_a_shell_that_completes_a_word_installs_nothing(host: Host) -> None:
    words = {"_TEMPER_COMPLETE": "complete_bash", "COMP_WORDS": "temper "}
    done = host.runs("./temper", cwd=host.checkout, **words)
    assert (done.stdout, done.stderr) == ("", "")
    assert host.notes == []
    host.sets_up()
    assert host.runs("./temper", cwd=host.checkout, **words).stdout
