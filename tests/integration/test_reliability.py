"""Kernels, machines and hosts that fail: what is told, and what is kept."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab import kernel_of

from made_up import run_plan, variant_plan
from temper.analysis.models import PriceReport, ProofReport
from temper.analysis.price import price_report
from temper.arch import arch_named
from temper.catalog import feature_named
from temper.kernel import Cache, Kernel, build_module
from temper.machine import Limits
from temper.machine.tcg import Tcg
from temper.paths import cache_home
from temper.progress import Quiet
from temper.record.boot import KernelFacts, StoredBoot, StoredRun
from temper.record.plan import Work
from temper.run.execute import execute
from temper.run.prepare import Prepared, Setup
from temper.run.programs import build_programs, target_programs
from temper.run.threads import threads
from temper.store import Store

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

X86_64 = arch_named("x86_64")
TEMPER = str(Path(sys.executable).with_name("temper"))
PRICE = (
    *("price", "kstack", "--variants", "off,stock", "--calls", "1000"),
    *("--layouts", "1"),
)
PROVE = ("prove", "kstack", "--variants", "off,temper", "--proofs", "prediction")
WAY_ON = "finished boots are kept; resume with: temper {} --arch x86_64 --resume 1"
PATIENCE = 300.0
"""Seconds for what takes five on an idle host."""


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return kernel_of(feature_named("kstack"), "off")


def compiled(folder: Path, name: str, code: str) -> Path:
    """Build a C program that needs nothing of its host."""
    source, program = folder / f"{name}.c", folder / name
    source.write_text(code)
    command = ["gcc", "-static", "-O1", str(source), "-o", str(program)]
    subprocess.run(command, check=True, timeout=60)
    return program


# Kernels that fail.

WARNER = """\
#include <linux/module.h>

static int __init warner_init(void)
{
	WARN_ON(1);
	return 0;
}

module_init(warner_init);
MODULE_DESCRIPTION("Makes the kernel complain and go on");
MODULE_LICENSE("GPL");
"""


@pytest.fixture(scope="module")
def failures(
    kernel: Kernel, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, StoredBoot]:
    """Boot every kind of failure beside a good boot; return them by name."""
    folder = tmp_path_factory.mktemp("failures")
    programs = target_programs(X86_64, ["syscall"])
    init, syscall = build_programs(programs, X86_64, Cache(), Quiet())
    babbler = compiled(
        folder,
        "babbler",
        '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }',
    )
    crasher = compiled(
        folder, "crasher", "int main(void) { return *(volatile int *)8; }"
    )
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    leaver = compiled(elsewhere, "init", "int main(void) { return 3; }")
    module = folder / "broken.ko"
    module.write_bytes(b"\x7fELF" + bytes(4096))
    source = folder / "warner.c"
    source.write_text(WARNER)
    warner = build_module(kernel, source, Cache(), Quiet())
    usual = (init, syscall, babbler, crasher, module, warner)
    work = "run syscall getpid 100 10"
    cases: dict[str, tuple[tuple[str, ...], tuple[Path, ...]]] = {
        "hangs": (("settle 100000",), usual),
        "good": ((work,), usual),
        "garbage": (("run babbler",), usual),
        "crash": (("run crasher", work), usual),
        "module": (("module broken", work), usual),
        "warns": (("module warner", work), usual),
        "no-init": ((work,), (syscall,)),
        "init-dies": ((work,), (leaver,)),
    }
    return {
        name: booted(kernel, job, files, folder / "data")
        for name, (job, files) in cases.items()
    }


PLAN = run_plan({"off": variant_plan("off", cmdline="", cpu="")}, repeats=1)


def booted(
    kernel: Kernel, job: tuple[str, ...], files: tuple[Path, ...], data: Path
) -> StoredBoot:
    """Boot a kernel once, to do ``job`` with ``files``."""
    work = Work(job=job, cpus=2, exact=False)
    plan = PLAN.model_copy(update={"work": work})
    setup = Setup(kernel.image, KernelFacts(key=kernel.key), files)
    machine = Tcg(X86_64, Cache(), Quiet(), Limits(silence=12))
    whole = Prepared(plan, {"off": setup})
    with Store.open(data=data) as store, threads(whole, machine) as engine:
        run = execute(engine, store, Quiet())
    assert run.finished is not None
    (boot,) = run.boots
    return boot


def test_a_good_boot(failures: dict[str, StoredBoot]) -> None:
    boot = failures["good"]
    assert boot.facts.status == "ok", boot.facts.error
    assert boot.records[-1]["type"] == "end"


@pytest.mark.parametrize(
    ("variant", "error"),
    [
        (
            "hangs",
            "the kernel hung: it said nothing for 12 s; last on its console: ",
        ),
        (
            "garbage",
            "the target's records are corrupt: record 2 is not JSON: 'hello'",
        ),
        ("crash", "'crasher' was killed by SIGSEGV"),
        (
            "module",
            "the job did not end: temper init: /broken.ko: Exec format error",
        ),
        (
            "no-init",
            "the job did not end: Kernel panic - not syncing: ",
        ),
        (
            "init-dies",
            "the job did not end: Kernel panic - not syncing: Attempted to kill init!",
        ),
    ],
)
def test_a_kernel_that_fails_says_how(
    failures: dict[str, StoredBoot], variant: str, error: str
) -> None:
    facts = failures[variant].facts
    assert facts.status == "boot_error"
    assert facts.error.startswith(error)
    assert "\n" not in facts.error
    assert "Linux version" in failures[variant].console


def test_a_kernel_that_complains_has_no_price(
    failures: dict[str, StoredBoot],
) -> None:
    """It measured all it had to, beside what went wrong."""
    boot = failures["warns"]
    assert boot.facts.status == "ok", boot.facts.error
    run = StoredRun(id=1, plan=PLAN, started=boot.facts.started, boots=[boot])
    refused = price_report(run).refused["off"]
    assert refused.startswith("its kernel complained in boot 1: WARNING: CPU: ")
    assert "warner_init" in refused
    good = run.model_copy(update={"boots": [failures["good"]]})
    assert "complained" not in price_report(good).refused["off"]


# Hosts that fail: the command itself, as a user calls it.


@dataclass
class Host:
    """Where one test's results are, and how the command is called there."""

    data: Path

    @property
    def env(self) -> dict[str, str]:
        # A power cut leaves scratch files; here they go with the test's folder.
        return os.environ | {
            "TEMPER_DATA": str(self.data),
            "TMPDIR": str(self.data.parent),
        }

    def start(
        self, *words: str, env: dict[str, str] | None = None
    ) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            # Whoever runs the tests in the background has Ctrl-C ignored.
            ["env", "--default-signal=INT", TEMPER, *words],
            env=env or self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, *words: str, env: dict[str, str] | None = None) -> "Ended":
        return ended(self.start(*words, env=env))

    def boots(self) -> list[StoredBoot]:
        """Return the stored boots of the first run."""
        with Store.open(data=self.data) as store:
            return store.load(1).boots if store.runs() else []


@dataclass
class Ended:
    status: int
    out: str
    said: list[str]
    """Last lines on standard error: what went wrong, and the way out."""


def ended(process: "subprocess.Popen[str]") -> Ended:
    try:
        out, error = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert "Traceback" not in error, error
    return Ended(process.returncode, out, error.splitlines()[-2:])


@pytest.fixture
def host(tmp_path: Path, kernel: Kernel) -> Host:
    return Host(tmp_path / "data")


def guests(temper: int) -> list[int]:
    """Return the running QEMUs that a process has booted kernels in."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(") ", 1)[1].split()[1])
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        # Before it boots, temper also asks QEMU for versions.
        if parent == temper and words[0].startswith(b"qemu") and b"-kernel" in words:
            found.append(int(folder.name))
    return found


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until_all_end(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    while left := [pid for pid in pids if is_running(pid)]:
        if time.monotonic() > deadline:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            pytest.fail(f"QEMUs were left behind: {left}")
        time.sleep(0.05)


def wait_for_guests(host: Host, process: "subprocess.Popen[str]") -> list[int]:
    """Wait until boots are going on and a boot is stored; return the QEMUs."""
    deadline = time.monotonic() + PATIENCE
    while not (host.boots() and (running := guests(process.pid))):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return running


def way_on(verb: tuple[str, ...]) -> str:
    return WAY_ON.format(" ".join(verb))


def test_a_run_survives_ctrl_c_a_killed_qemu_and_a_power_cut(host: Host) -> None:
    process = host.start(*PRICE)
    running = wait_for_guests(host, process)
    process.send_signal(signal.SIGINT)
    temper = ended(process)
    assert temper.status == 130
    assert temper.said == ["temper: interrupted", f"  -> {way_on(PRICE)}"]
    wait_until_all_end(running)
    kept = host.boots()
    assert 1 <= len(kept) < 4

    # The command that users are told.
    resume = shlex.split(temper.said[1].partition(" temper ")[2])
    process = host.start(*resume)
    running = wait_for_guests(host, process)
    os.kill(running[0], signal.SIGKILL)
    temper = ended(process)
    assert temper.status == 3
    assert temper.said[0] == "temper: QEMU was killed by SIGKILL"
    assert "out-of-memory killer" in temper.said[1]
    assert temper.said[1].endswith(way_on(PRICE))
    wait_until_all_end(running)

    process = host.start(*resume)
    running = wait_for_guests(host, process)
    for qemu in running:
        # So that it cannot come to its end by itself.
        os.kill(qemu, signal.SIGSTOP)
    process.kill()
    assert ended(process).status == -signal.SIGKILL
    wait_until_all_end(running)
    assert all(boot in host.boots() for boot in kept)
    kept = host.boots()
    assert len(kept) < 4

    temper = host.finish(*resume, "--json", "-")
    assert temper.status == 0, temper
    boots = host.boots()
    assert len(boots) == 4
    assert all(boot in boots for boot in kept), "a finished boot was booted again"
    report = PriceReport.model_validate_json(temper.out)
    assert report.exact
    assert not report.refused
    assert {row.variant for row in report.rows} == {"stock"}


def test_two_at_once_on_one_store_and_one_cold_cache(
    host: Host, tmp_path: Path
) -> None:
    cache = tmp_path / "cache" / "temper"
    for kind in ("kernels", "modules", "digests"):
        shutil.copytree(cache_home() / kind, cache / kind)
    env = host.env | {"XDG_CACHE_HOME": str(cache.parent)}
    words = (*PROVE, "--json", "-")
    first, second = [
        ended(process)
        for process in [host.start(*words, env=env), host.start(*words, env=env)]
    ]
    assert (first.status, second.status) == (0, 0), (first, second)
    reports = [ProofReport.model_validate_json(each.out) for each in (first, second)]
    assert {report.run for report in reports} == {1, 2}
    assert all(report.proven for report in reports)
    with Store.open(data=host.data) as store:
        assert [run.boots_done for run in store.runs()] == [2, 2]


def test_without_qemu_its_package_is_named(host: Host, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(folder).glob("*"):
            if not program.name.startswith("qemu-system"):
                (tools / program.name).unlink(missing_ok=True)
                (tools / program.name).symlink_to(program)
    temper = host.finish(*PROVE, env=host.env | {"PATH": str(tools)})
    assert temper.status == 3
    assert temper.said == [
        "temper: the program 'qemu-system-x86_64' is missing",
        "  -> apt-get install qemu-system-x86",
    ]
    # It is told before anything is built, so there is no run to go on with.
    assert host.boots() == []


def test_a_file_that_is_no_kernel(host: Host, tmp_path: Path) -> None:
    image = tmp_path / "notes.txt"
    image.write_text("not a kernel\n" * 1000)
    temper = host.finish("compare", str(image), str(image))
    assert temper.status == 2
    assert temper.said == [
        f"temper: {image} is not a kernel for x86_64",
        "  -> use a bzImage or a vmlinux",
    ]


def test_an_elf_file_without_the_entry_for_virtual_machines(
    host: Host, tmp_path: Path
) -> None:
    image = compiled(tmp_path, "vmlinux", "int main(void) { return 0; }")
    temper = host.finish("compare", str(image), str(image))
    assert temper.status == 3
    assert "without PVH" in temper.said[0]
    assert temper.said[1].startswith("  -> this vmlinux has no PVH entry (CONFIG_PVH)")


# Full disks: a small one of memory, seen by the command only.

SMALL_DISK = """
mount -t tmpfs -o size="$SIZE" none "$DISK" || exit 99
"$@"
status=$?
cp -a "$DISK/." "$COPY"
exit $status
"""


@dataclass
class SmallDisk:
    path: Path
    copy: Path
    """What was on it in the end."""

    def finish(self, host: Host, size: str, **env: str) -> Ended:
        """Prove with this disk in place; it goes away with the command."""
        mine = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        process = subprocess.Popen(
            ["unshare", *mine, "--mount", "sh", "-c", SMALL_DISK, "sh", TEMPER, *PROVE],
            env=host.env
            | {"SIZE": size, "DISK": str(self.path), "COPY": str(self.copy)}
            | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return ended(process)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "disk", tmp_path / "copy")
    disk.path.mkdir()
    disk.copy.mkdir()
    yield disk


@pytest.mark.parametrize("size", ["600k", "9m"])
def test_no_room_to_work_in(host: Host, disk: SmallDisk, size: str) -> None:
    temper = disk.finish(host, size, TMPDIR=str(disk.path))
    assert temper.status == 3, temper
    assert str(disk.path) in temper.said[0]
    assert "set TMPDIR to another folder" in temper.said[1]
    assert temper.said[1].endswith(way_on(PROVE))
    assert list(disk.copy.iterdir()) == [], "scratch files were left behind"


def test_no_room_for_results(host: Host, disk: SmallDisk) -> None:
    temper = disk.finish(host, "140k", TEMPER_DATA=str(disk.path))
    assert temper.status == 3, temper
    assert temper.said[0].startswith("temper: no space left for ")
    assert temper.said[1].endswith(way_on(PROVE))
    roomy = Host(disk.copy)
    kept = roomy.boots()
    assert len(kept) < 2
    temper = roomy.finish(*PROVE, "--resume", "1")
    assert temper.status == 0, temper
    assert len(roomy.boots()) == 2
    assert all(boot in roomy.boots() for boot in kept)
