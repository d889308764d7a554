"""Which workloads there are, and how large they are."""

from collections.abc import Callable
from pathlib import Path

import pytest

from temper import workloads as table
from temper.errors import InputError
from temper.paths import FEATURES
from temper.workloads import TARGET, all_workloads, common_workloads, workloads


def test_workloads_are_sized_from_one_number() -> None:
    sized = workloads(("syscall/getpid", "ctx/pipe"), 100_000)
    assert [workload.line for workload in sized] == [
        "run syscall getpid 100000 10000",
        "run ctx pipe 2000 200",
    ]
    assert workloads(("ctx/pipe",), 100)[0].samples == 100
    assert workloads(("vmalloc/p1",), 100)[0].line == "run vmalloc p1 3 1"


def test_all_workloads_can_be_asked_for() -> None:
    assert "syscall/getppid" in all_workloads()
    assert len(workloads(all_workloads(), 1000)) == len(all_workloads())


def test_what_takes_long_or_tells_nothing_of_a_kernel_is_asked_for() -> None:
    programs = {workload.program for workload in workloads(common_workloads(), 100)}
    assert programs == {"syscall", "ctx", "fs"}


def test_a_workload_says_what_else_it_needs() -> None:
    named = ("syscall/getpid", "vmalloc/p1")
    assert [each.module for each in workloads(named, 100)] == ["", "vmalloc_test.c"]


def test_the_words_are_those_of_the_programs() -> None:
    """As they stand in the sources: a word without a table entry is never run."""
    for each in workloads(all_workloads(), 100):
        word = each.name.partition("/")[2]
        source = (each.folder / f"{each.program}.c").read_text()
        assert each.real or f'"{word}"' in source


def test_a_real_program_is_run_by_the_program_for_them_all() -> None:
    (redis,) = workloads(("db/redis-get",), 100)
    assert redis.line == "run real db/redis-get 5 2"
    assert redis.real
    assert redis.real.programs == (
        "/usr/bin/redis-server",
        "/usr/bin/redis-cli",
        "/usr/bin/redis-benchmark",
    )
    texts = redis.real.written(redis.name)
    commands = {"commands/db/redis-get", "commands/db/redis-get.stdin"}
    assert set(texts) == commands | {"etc/passwd"}
    told = dict(
        line.split(" ", 1) for line in texts["commands/db/redis-get"].splitlines()
    )
    assert told["server"].startswith("/usr/bin/redis-server ")
    assert told["ready"] in told["server"]
    assert told["ready"] in told["client"]
    assert f"-n {told['operations']} " in told["client"]


def test_what_a_server_needs_is_written() -> None:
    (postgres, nginx) = workloads(("db/postgres-select", "net/nginx"), 100)
    assert postgres.real
    lines = postgres.real.written(postgres.name)["commands/db/postgres-select"]
    keys = [line.split(" ", 1)[0] for line in lines.splitlines()]
    assert keys[:6] == ["user", "setup", "server", "ready", "probe", "load"]
    # What is known by a pattern has a place that a command can name.
    assert "\nsetup /programs/initdb --pgdata=/tmp/data " in lines
    assert "\nclient /programs/pgbench -h /tmp " in lines
    # It takes connections before it answers queries.
    assert "\nprobe /programs/pg_isready -h /tmp\n" in lines
    assert any(path.endswith("/pg_isready") for path in postgres.real.programs)
    assert "*/bin/initdb" in postgres.real.programs[0]
    assert nginx.real
    written = nginx.real.written(nginx.name)
    assert "listen 127.0.0.1:8080" in written["nginx.conf"]


def test_a_compiler_gets_what_it_compiles() -> None:
    cc, objects = workloads(("build/cc", "build/kernel-objects"), 100)
    assert cc.real
    assert cc.real.written(cc.name)["init.c"] == (TARGET / "init.c").read_text()
    assert cc.line == "run real build/cc 3 1"
    assert objects.real
    makefile = "/commands/build/kernel-objects.mk"
    assert makefile in objects.real.client
    written = objects.real.written(objects.name)[makefile.removeprefix("/")]
    assert written.startswith(f"objects := {' '.join(objects.real.objects)}\n")
    # It prints how many it has compiled.
    assert objects.real.operations == len(objects.real.objects)
    assert objects.real.says == f"{objects.real.operations} objects"


def test_files_that_two_programs_write_are_the_same() -> None:
    """All are in one initramfs."""
    found: dict[str, str] = {}
    for each in workloads(all_workloads(), 100):
        for path, text in each.real.written(each.name).items() if each.real else ():
            assert found.setdefault(path, text) == text


def test_every_real_program_is_named_by_its_path() -> None:
    for each in workloads(all_workloads(), 100):
        if each.real:
            assert each.real.packages
            assert all(path.startswith("/") for path in each.real.programs)


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Have the real programs stand in a table of their own, with a word replaced."""

    def changed(old: str, new: str) -> Path:
        text = table.REAL_TABLE.read_text()
        assert old in text
        path = tmp_path / "real.toml"
        path.write_text(text.replace(old, new))
        monkeypatch.setattr(table, "REAL_TABLE", path)
        return path

    return changed


def test_a_line_of_the_table_that_means_nothing_is_refused(
    change: Callable[..., Path],
) -> None:
    path = change("operations", "rounds")
    with pytest.raises(InputError) as caught:
        all_workloads()
    assert caught.value.message.startswith(f"{path}: ")
    assert "operations" in caught.value.message


def test_a_source_that_is_not_there_is_named(change: Callable[..., Path]) -> None:
    change('["init.c"]', '["inti.c"]')
    (cc,) = workloads(("build/cc",), 100)
    assert cc.real
    with pytest.raises(InputError, match=r"there is no inti\.c in "):
        cc.real.written(cc.name)


def test_workloads_of_a_feature_stand_in_its_folder() -> None:
    ours, shared = workloads(("generator/lfsr", "ctx/pipe"), 100)
    assert ours.folder == FEATURES / "kstack" / "workloads"
    assert shared.folder == TARGET


def test_two_programs_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "made-up" / "workloads" / "workloads.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[ctx]\nwords = ["pipe"]\nshare = 1.0\n')
    monkeypatch.setattr(table, "FEATURES", tmp_path)
    with pytest.raises(InputError) as caught:
        all_workloads()
    assert caught.value.message == f"{path}: 'ctx' is in {TARGET}, too"
    assert caught.value.hint == "give it another name"


@pytest.mark.parametrize("name", ["syscall/fork", "fork", "syscall/", "", "a/b/c"])
def test_an_unknown_workload_is_refused(name: str) -> None:
    with pytest.raises(InputError) as caught:
        workloads((name,), 1000)
    assert caught.value.message == f"unknown workload '{name}'"
    assert caught.value.hint.startswith("known: syscall/getpid, ")


@pytest.mark.parametrize("calls", [99, 0, -1])
def test_too_few_calls_are_refused(calls: int) -> None:
    with pytest.raises(InputError) as caught:
        workloads(("syscall/getpid",), calls)
    assert caught.value.message == f"{calls} calls are too few"
    assert caught.value.hint == "use at least 100"
