import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from kernels import (
    FAKE_KERNEL,
    X86_64,
    Watcher,
    change,
    fake_source,
    fragments,
    make_patch,
    spec,
)

from temper.errors import BuildError, InfraError, InputError, SeriesError
from temper.kernel import builder
from temper.kernel.builder import build, expected_steps
from temper.kernel.cache import Cache
from temper.kernel.module import Beside, build_module
from temper.progress import Quiet
from temper.record.plan import USUAL_BASE

MODULE = '#include "answer.h"\n#include <linux/fake.h>\nint answer = ANSWER;\n'


@pytest.fixture(autouse=True)
def _fragments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fragments(tmp_path / "kernel", monkeypatch)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def contents(folder: Path) -> dict[str, bytes]:
    told_apart = {"manifest.json", "build.log.gz"}
    return {
        p.name: p.read_bytes() for p in folder.iterdir() if p.name not in told_apart
    }


def test_a_kernel_is_built_once(cache: Cache) -> None:
    wanted = spec(FAKE_KERNEL, cache, "CONFIG_EXTRA=y")
    first, second = build(wanted, cache, Quiet()), build(wanted, cache, Quiet())
    assert (first.built, second.built) == (True, False)
    assert first.image == second.image
    assert second.release == "6.12.99"
    assert "CONFIG_EXTRA=y" in second.config.read_text()
    assert b"temper Thu Jan  1 00:00:00 UTC 1970" in second.image.read_bytes()
    assert sorted(path.name for path in second.folder.iterdir()) == [
        *("Module.symvers", "System.map", "build.log.gz", "bzImage", "config"),
        *("devel.tar.gz", "manifest.json"),
    ]


def test_the_key_is_of_what_goes_in_only(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = spec(FAKE_KERNEL, cache).key()
    monkeypatch.setenv("HOME", "/elsewhere")
    monkeypatch.setenv("USER", "somebody")
    monkeypatch.setenv("KCFLAGS", "-O3")
    elsewhere = fake_source(tmp_path / "elsewhere")
    assert spec(elsewhere, Cache(tmp_path / "other")).key() == key
    patch = make_patch(FAKE_KERNEL, tmp_path, "a", ("init/main.c", "1;", "11;"))
    renamed = shutil.copy(patch, tmp_path / "b.patch")
    with_patch = spec(FAKE_KERNEL, cache, patches=(patch,)).key()
    assert spec(FAKE_KERNEL, cache, patches=(Path(renamed),)).key() == with_patch
    assert with_patch != key
    assert spec(FAKE_KERNEL, cache, "CONFIG_EXTRA=y").key() != key
    change(elsewhere, "init/main.c", "1;", "11;")
    assert spec(elsewhere, cache).key() != key
    monkeypatch.setattr(builder, "compiler_version", lambda arch: "gcc 99")
    assert spec(FAKE_KERNEL, cache).key() != key


def test_two_folders_give_the_same_bytes(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build(spec(FAKE_KERNEL, cache), cache, Quiet())
    monkeypatch.setenv("KCFLAGS", "-O3")
    monkeypatch.setenv("KBUILD_BUILD_USER", "somebody")
    monkeypatch.setenv("LOCALVERSION", "-mine")
    other = Cache(tmp_path / "another, with a longer name".replace(" ", "-"))
    second = build(spec(FAKE_KERNEL, other), other, Quiet())
    assert second.built
    assert second.release == first.release
    assert contents(first.folder) == contents(second.folder)


def test_a_patched_kernel_leaves_the_source_alone(cache: Cache, tmp_path: Path) -> None:
    edit = ("init/main.c", "int second(void)", "int patched(void)")
    patch = make_patch(FAKE_KERNEL, tmp_path, "0001-x", edit)
    patched = build(spec(FAKE_KERNEL, cache, patches=(patch,)), cache, Quiet())
    plain = build(spec(FAKE_KERNEL, cache), cache, Quiet())
    assert "patched" in (patched.folder / "System.map").read_text()
    assert "patched" not in (plain.folder / "System.map").read_text()
    assert cache.verify() == []


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the compiler note how it is called, in the file that is returned."""
    log, compiler = tmp_path / "log", tmp_path / "bin" / "gcc"
    compiler.parent.mkdir()
    real = shutil.which("gcc")
    compiler.write_text(f'#!/bin/sh\necho "$*" >>{log}\nexec {real} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{compiler.parent}:{os.environ['PATH']}")
    return log


def test_what_another_host_compiled_is_not_compiled_again(
    cache: Cache, compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCACHE_REMOTE_STORAGE", f"file:{tmp_path}/objects")
    first = build(spec(FAKE_KERNEL, cache), cache, Quiet())
    other = Cache(tmp_path / "other")
    second = build(spec(FAKE_KERNEL, other), other, Quiet())
    assert (first.built, second.built) == (True, True)
    # Once preprocessed, once compiled, and both for the first alone.
    assert compiled.read_text().count("init/main.c") == 2
    assert contents(first.folder) == contents(second.folder)
    # Its URL may have a password.
    log = gzip.decompress((second.folder / "build.log.gz").read_bytes())
    assert b"/objects" not in log


def test_a_kernel_that_another_host_built_is_not_built_again(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPER_SHARED_CACHE", f"file://{tmp_path}/store")
    first = build(spec(FAKE_KERNEL, cache), cache, Quiet())
    other = Cache(tmp_path / "other")
    second = build(spec(FAKE_KERNEL, other), other, Quiet())
    assert (first.built, second.built) == (True, False)
    assert contents(first.folder) == contents(second.folder)
    module = tmp_path / "answer.c"
    module.write_text(MODULE)
    (tmp_path / "answer.h").write_text("#define ANSWER 42\n")
    assert build_module(second, module, other, Quiet()).is_file()


def test_the_compiler_cache_sees_a_header_that_changes(
    cache: Cache, tmp_path: Path
) -> None:
    edit = ("include/linux/fake.h", "FAKE_FOUR 4", "FAKE_FOUR 44")
    patch = make_patch(FAKE_KERNEL, tmp_path, "0001-x", edit)
    plain = build(spec(FAKE_KERNEL, cache), cache, Quiet())
    patched = build(spec(FAKE_KERNEL, cache, patches=(patch,)), cache, Quiet())
    assert plain.image.read_bytes() != patched.image.read_bytes()


def test_the_compiler_cache_sees_a_file_that_an_object_includes_as_it_is(
    cache: Cache, tmp_path: Path
) -> None:
    """Such as the compressed kernel in an image; its length alone is in the source."""
    patch = make_patch(
        FAKE_KERNEL, tmp_path, "0001-x", ("init/payload.txt", "four", "five")
    )
    plain = build(spec(FAKE_KERNEL, cache), cache, Quiet())
    patched = build(spec(FAKE_KERNEL, cache, patches=(patch,)), cache, Quiet())
    assert b"four" in plain.image.read_bytes()
    assert b"five" in patched.image.read_bytes()


def test_a_patch_the_source_has_is_told(cache: Cache, tmp_path: Path) -> None:
    edit = ("init/main.c", "return 2;", "return 22;")
    patch = make_patch(FAKE_KERNEL, tmp_path, "0001-x", edit)
    source = fake_source(tmp_path / "has-it")
    change(source, *edit)
    wanted = spec(source, cache, patches=(patch,))
    assert build(wanted, cache, Quiet()).skipped == ("0001-x.patch",)
    assert build(wanted, cache, Quiet()).skipped == ("0001-x.patch",)


def test_a_patch_that_does_not_apply_leaves_no_kernel(
    cache: Cache, tmp_path: Path
) -> None:
    edit = ("init/main.c", "return 2;", "return 22;")
    patch = make_patch(FAKE_KERNEL, tmp_path, "0001-x", edit)
    source = fake_source(tmp_path / "other")
    change(source, "init/main.c", "return 2;", "return two;")
    with pytest.raises(SeriesError, match=r"0001-x.patch .* init/main.c: hunk 1"):
        build(spec(source, cache, patches=(patch,)), cache, Quiet())
    assert cache.facts("kernels") == []


def test_an_option_that_did_not_take_stops_the_build(cache: Cache) -> None:
    with pytest.raises(BuildError, match=r"without effect: CONFIG_NOSUCH=y"):
        build(spec(FAKE_KERNEL, cache, "CONFIG_NOSUCH=y"), cache, Quiet())


def test_a_failed_build_shows_why_and_keeps_the_log(
    cache: Cache, tmp_path: Path
) -> None:
    source = fake_source(tmp_path / "broken")
    change(source, "init/main.c", "return 2;", "return two;")
    with pytest.raises(BuildError, match="'two' undeclared") as error:
        build(spec(source, cache), cache, Quiet())
    log = Path(error.value.hint.removeprefix("the full log is in "))
    assert "'two' undeclared" in log.read_text()
    assert list((cache.root / "tmp").iterdir()) == []


def test_a_disk_that_fills_up_is_said(cache: Cache) -> None:
    with pytest.raises(InfraError, match="is full") as error:
        build(spec(FAKE_KERNEL, cache, "CONFIG_FILL=y"), cache, Quiet())
    assert error.value.hint == "temper cache prune"


def test_a_missing_tool_is_named(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = spec(FAKE_KERNEL, cache)
    tools = (*builder.BUILD_TOOLS, "no-such-tool")
    monkeypatch.setattr(builder, "BUILD_TOOLS", tools)
    with pytest.raises(InfraError, match="'no-such-tool' is missing"):
        build(wanted, cache, Quiet())


def test_a_missing_header_is_named(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "BUILD_HEADERS", {"no/such.h": "no-such-dev"})
    with pytest.raises(InfraError, match=r"'no/such\.h' is missing") as error:
        build(spec(FAKE_KERNEL, cache), cache, Quiet())
    assert error.value.hint == "apt-get install no-such-dev"


def test_plugins_of_the_compiler_are_used_only_where_they_are_wanted(
    cache: Cache,
) -> None:
    without = build(spec(FAKE_KERNEL, cache), cache, Quiet())
    assert "CONFIG_GCC_PLUGINS=y" not in without.config.read_text()


def test_missing_headers_of_plugins_are_named_before_the_build(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("strange-linux-gcc", "strange-linux-ld"):
        (tools / name).write_text("#!/bin/sh\necho 13.2.0\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    given = spec(FAKE_KERNEL, cache, "CONFIG_GCC_PLUGINS=y")
    wanted = replace(given, arch=replace(X86_64, compiler="strange-linux-gcc"))
    with pytest.raises(InfraError, match="headers of strange-linux-gcc's") as error:
        build(wanted, cache, Quiet())
    assert error.value.hint == "apt-get install gcc-13-plugin-dev-strange-linux"


def test_a_damaged_kernel_is_built_again(cache: Cache) -> None:
    wanted, watcher = spec(FAKE_KERNEL, cache), Watcher()
    image = build(wanted, cache, Quiet()).image
    good = image.read_bytes()
    image.write_bytes(b"bad")
    again = build(wanted, cache, watcher)
    assert again.built
    assert again.image.read_bytes() == good
    assert "bzImage has changed" in watcher.said[0]


def test_a_base_has_its_own_start_and_steps(tmp_path: Path, cache: Cache) -> None:
    other = tmp_path / "kernel" / "other"
    other.mkdir()
    (other / "x86_64.config").write_text("CONFIG_FAKE=y\n")
    (other / "base.toml").write_text(
        'title = "other"\nstart = "alldefconfig"\nbuild_steps = { x86_64 = 9 }\n'
    )
    usual = build(spec(FAKE_KERNEL, cache), cache, Quiet())
    assert expected_steps(X86_64, "other", cache) == 9
    made = build(replace(spec(FAKE_KERNEL, cache), base="other"), cache, Quiet())
    assert made.key != usual.key
    assert "CONFIG_EXTRA=y" in made.config.read_text()
    assert "CONFIG_EXTRA=y" not in usual.config.read_text()
    assert expected_steps(X86_64, "other", cache) == 6


def test_progress_counts_steps_towards_the_last_build(cache: Cache) -> None:
    watcher = Watcher()
    assert expected_steps(X86_64, USUAL_BASE, cache) == 4
    build(spec(FAKE_KERNEL, cache), cache, watcher)
    notes = [note for _, _, note in watcher.updates]
    assert sorted(notes[:2]) == ["drivers/clock.o", "init/main.o"]
    assert notes[2:] == ["vmlinux", "arch/x86/boot/bzImage"] * 2
    assert [done for done, _, _ in watcher.updates] == [1, 2, 3, 4, 5, 6]
    assert expected_steps(X86_64, USUAL_BASE, cache) == 6


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from kernels import FAKE_KERNEL, spec
from temper.kernel import bases
from temper.kernel.builder import build
from temper.kernel.cache import Cache
from temper.progress import Quiet
bases.FOLDER = Path(sys.argv[2])
cache = Cache(Path(sys.argv[3]))
print(build(spec(FAKE_KERNEL, cache, *sys.argv[4:]), cache, Quiet()).built)
"""


def start(cache: Cache, *options: str) -> "subprocess.Popen[str]":
    fragments_ = cache.root.parent / "kernel"
    here = Path(__file__).parent
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, here, fragments_, cache.root, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_runs_at_once_build_once(cache: Cache) -> None:
    outputs = [run.communicate(timeout=120) for run in [start(cache), start(cache)]]
    assert sorted(out for out, _ in outputs) == ["False\n", "True\n"], outputs


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_ended_in_the_middle_leaves_no_entry(
    number: signal.Signals, cache: Cache
) -> None:
    run = start(cache, "CONFIG_SLOW=y")
    # Minutes, on a host that builds kernels meanwhile.
    for _ in range(3000):
        if list(cache.root.glob("tmp/*/work/linux/build/slow")):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("the build never came to where it waits")
    run.send_signal(number)
    _, errors = run.communicate(timeout=60)
    assert cache.facts("kernels") == []
    if number == signal.SIGINT:
        assert "KeyboardInterrupt" in errors
        assert list((cache.root / "tmp").iterdir()) == []
    assert nobody_works_in(cache.root)
    assert build(spec(FAKE_KERNEL, cache), cache, Quiet()).built
    assert cache.prune()
    assert not list((cache.root / "tmp").iterdir())


def nobody_works_in(folder: Path) -> bool:
    for _ in range(100):
        busy = [link for link in Path("/proc").glob("[0-9]*/cwd") if at(link, folder)]
        if not busy:
            return True
        time.sleep(0.1)
    return False


def at(link: Path, folder: Path) -> bool:
    try:
        return str(link.readlink()).startswith(str(folder))
    except OSError:
        return False


@pytest.fixture
def module_source(tmp_path: Path) -> Path:
    folder = tmp_path / "proof"
    folder.mkdir()
    (folder / "answer.h").write_text("#define ANSWER FAKE_FOUR\n")
    (folder / "probe.c").write_text(MODULE)
    return folder / "probe.c"


def test_a_module_is_built_once_and_away_from_its_source(
    cache: Cache, module_source: Path
) -> None:
    kernel = build(spec(FAKE_KERNEL, cache), cache, Quiet())
    before = sorted(module_source.parent.iterdir())
    watcher = Watcher()
    first = build_module(kernel, module_source, cache, watcher)
    assert first.name == "probe.ko"
    assert first.read_bytes()[:4] == b"\x7fELF"
    assert build_module(kernel, module_source, cache, watcher) == first
    assert watcher.titles == ["Building module probe"]
    assert sorted(module_source.parent.iterdir()) == before


def test_a_module_follows_its_headers(
    cache: Cache, module_source: Path, tmp_path: Path
) -> None:
    kernel = build(spec(FAKE_KERNEL, cache), cache, Quiet())
    first = build_module(kernel, module_source, cache, Quiet())
    (module_source.parent / "answer.h").write_text("#define ANSWER 5\n")
    assert build_module(kernel, module_source, cache, Quiet()) != first
    (module_source.parent / "answer.h").rename(tmp_path / "answer.h")
    with pytest.raises(BuildError, match=r"answer\.h: No such file"):
        build_module(kernel, module_source, cache, Quiet())
    header = tmp_path / "answer.h"
    beside = Beside("an answer", lambda: [header])
    assert build_module(kernel, module_source, cache, Quiet(), beside)
    # It is not asked for again, since what it decides is there; another is.
    header.unlink()
    assert build_module(kernel, module_source, cache, Quiet(), beside)
    with pytest.raises(FileNotFoundError):
        build_module(kernel, module_source, cache, Quiet(), replace(beside, key="x"))


def test_a_module_without_a_source_is_said(cache: Cache, tmp_path: Path) -> None:
    kernel = build(spec(FAKE_KERNEL, cache), cache, Quiet())
    with pytest.raises(InputError, match="no module source"):
        build_module(kernel, tmp_path / "no.c", cache, Quiet())


def test_the_manifest_tells_what_a_kernel_is(cache: Cache) -> None:
    kernel = build(spec(FAKE_KERNEL, cache, "CONFIG_EXTRA=y"), cache, Quiet())
    manifest = json.loads((kernel.folder / "manifest.json").read_text())
    facts = manifest["facts"]
    assert facts["options"] == {"CONFIG_FAKE": "y", "CONFIG_EXTRA": "y"}
    assert facts["source"]["version"] == "6.12.99"
    assert manifest["sha256"]["config"] == kernel.config_hash
