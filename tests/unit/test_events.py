"""Events: what is planned, how guests are led, what is stored and told of it."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fake_machine import FakeMachine
from kernels import fake_source
from rich.console import Console
from typer.testing import CliRunner

from made_up import kernel_facts
from temper.analysis.estimate import estimate
from temper.analysis.trial import TrialReport, trial_report
from temper.arch import Arch, arch_named
from temper.catalog import Feature, feature_named
from temper.cli import app
from temper.errors import InfraError, InputError
from temper.events import events_of
from temper.kernel import Cache
from temper.machine import (
    DEFAULT_KIND,
    KINDS,
    BootRequest,
    Needs,
    StoppedError,
    Watcher,
)
from temper.progress import Quiet
from temper.record.boot import StoredRun
from temper.record.plan import RunPlan
from temper.report.markdown import to_markdown
from temper.report.plan_document import plan_document
from temper.report.terminal import print_documents
from temper.report.trial_document import trial_document
from temper.run.events import plan_events
from temper.run.execute import execute
from temper.run.leading import Leader
from temper.run.planner import Planner
from temper.run.prepare import Prepared, Setup
from temper.run.threads import threads
from temper.store import Store

KPKEYS = feature_named("kpkeys")

TOML = """
cpus = 2
memory = 256
hardware = ["-M", "pc"]
config = ["CONFIG_MADE_UP=y"]
complaints = ["it hurts"]
used = ["looks"]
[events]
sleep = { title = "sleep" }
reboot = { title = "reboot", expected_complaints = ["Kernel panic"] }
[on.x86_64]
config = ["CONFIG_OF_X86=y"]
[on.x86_64.machines.max]
title = "the largest"
cpu = "max"
cmdline = "of=max"
[on.x86_64.machines.small]
title = "the smallest"
cpu = "qemu64"
"""

SCRIPTS = '''
"""Events."""

from temper.errors import BootError

__all__ = ["reboot", "sleep"]


def sleep(leader):
    with leader.boot("asleep", ["-disk"]) as guest:
        guest.ready()
        assert guest.do("read FILE") == "read FILE"
    with leader.boot() as guest:
        guest.ready()
    (leader.work / "own").write_text("")
    return {"looks": 3}


def reboot(leader):
    with leader.boot() as guest:
        guest.ready()
        guest.do(ORDER)
    return FOUND
'''


SECOND_FAILS = """
def reboot(leader):
    with leader.boot() as guest:
        guest.ready()
    with leader.boot("again") as guest:
        guest.ready()
        guest.do("fail now")
"""


class Bench:
    """A feature with events, on a fake kernel and a fake machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.machine = FakeMachine()
        fake_source(root / "linux")
        self.folder = root / "events"
        self.folder.mkdir()
        self.write(TOML)
        self.script()

    def write(self, toml: str) -> None:
        (self.folder / "events.toml").write_text(toml)

    def script(self, order: str = "use 3", found: str = "{'looks': 3}") -> None:
        text = SCRIPTS.replace("ORDER", repr(order)).replace("FOUND", found)
        (self.folder / "__init__.py").write_text(text)

    @property
    def feature(self) -> Feature:
        return KPKEYS.model_copy(update={"folder": self.root, "variants": self.plain})

    @property
    def plain(self) -> dict[str, object]:
        """Variants without patches, which do not fit the fake kernel's folder."""
        return {
            name: variant.model_copy(update={"patches": ()})
            for name, variant in KPKEYS.variants.items()
        }

    def plan(
        self,
        *events: str,
        feature: Feature | None = None,
        arch: Arch = arch_named("x86_64"),  # noqa: B008 (immutable)
    ) -> RunPlan:
        planner = Planner(arch, Cache(self.root / "cache"), self.root / "linux")
        return plan_events(planner, feature or self.feature, events)

    def run(self, *events: str, resume: int | None = None) -> StoredRun:
        plan = self.plan(*events)
        image = self.root / "bzImage"
        image.write_bytes(b"not really a kernel")
        setup = Setup(image, kernel_facts(), (image,))
        prepared = Prepared(plan, dict.fromkeys(plan.variants, setup))
        with (
            Store.open(data=self.root) as store,
            threads(prepared, self.machine) as engine,
        ):
            return execute(engine, store, Quiet(), resume)

    def report(self, *events: str) -> TrialReport:
        return trial_report(self.run(*events))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_each_event_happens_to_each_machine(bench: Bench) -> None:
    planned = bench.plan()
    names = ["sleep-max", "reboot-max", "sleep-small", "reboot-small"]
    assert [slot.variant for slot in planned.slots] == names
    assert len({variant.kernel.key for variant in planned.variants.values()}) == 1
    assert "CONFIG_MADE_UP=y" in planned.variants["sleep-max"].kernel.options
    reboot = planned.variants["reboot-small"]
    assert reboot.title == "reboot; the smallest"
    assert reboot.expected_complaints == ("Kernel panic",)
    assert (reboot.cpu, planned.variants["reboot-max"].cmdline) == ("qemu64", "of=max")
    assert planned.work.job == ()
    assert (planned.work.cpus, planned.work.memory) == (2, 256)
    (init,) = planned.work.programs
    assert init.sources == {"init": ("led.c",)}
    assert planned.scripts is not None
    assert planned.scripts.by_variant["reboot-small"] == "reboot"
    assert RunPlan.model_validate_json(planned.model_dump_json()) == planned


def test_some_events_only(bench: Bench) -> None:
    planned = bench.plan("reboot")
    assert list(planned.variants) == ["reboot-max", "reboot-small"]
    assert "events kpkeys --events reboot" in planned.command


def test_another_script_is_another_plan(bench: Bench) -> None:
    before = bench.plan()
    bench.script(order="use 4")
    assert bench.plan() != before


def test_what_kpkeys_has_can_be_planned(bench: Bench) -> None:
    planned = bench.plan("kexec", feature=KPKEYS)
    assert planned.variants["kexec-isolation"].cmdline == "pti=on"
    kernel = planned.variants["kexec-isolation"].kernel
    assert "CONFIG_KPKEYS_HARDENED_PGTABLES=y" in kernel.options
    assert kernel.patches
    (module,) = planned.work.modules
    assert Path(module.source).name == "kpkeys_events.c"
    for pattern in (*KPKEYS.complaints, *events_of(KPKEYS).complaints):
        assert pattern in planned.complaints


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"feature": feature_named("kstack")}, "kstack has no events"),
        ({"arch": arch_named("arm64")}, "the events of kpkeys are not for arm64"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    bench: Bench, asked: dict[str, object], why: str
) -> None:
    with pytest.raises(InputError, match=why):
        bench.plan(**asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda b: b.write(TOML.replace("sleep =", "nap =")), "unknown event 'nap'"),
        (lambda b: b.write(TOML.replace("cpus = 2", "cpus = 0")), "cpus: "),
        (lambda b: b.write(TOML.replace("memory = 256", "memory = 0")), "memory: "),
        (lambda b: b.write(TOML.replace('["looks"]', "[]")), "used: "),
        (
            lambda b: b.write(
                TOML.replace('"sleep" }', '"sleep", architectures = ["arm64"] }')
            ),
            r"event 'sleep' is for \['arm64'\]",
        ),
        (lambda b: b.write('modules = ["x"]' + TOML), "events.toml: x.c is missing"),
        (lambda b: (b.folder / "__init__.py").unlink(), "__init__.py is missing"),
    ],
)
def test_events_that_are_incomplete_are_refused(
    bench: Bench, spoil: Callable[[Bench], object], why: str
) -> None:
    spoil(bench)
    with pytest.raises(InputError, match=why):
        bench.plan()


ON_ARM64 = """
[on.arm64]
hardware = ["-device", "x"]
[on.arm64.machines.only]
title = "the only one"
cpu = "arm"
"""


def test_an_architecture_has_machines_and_options_of_its_own(bench: Bench) -> None:
    bench.write(TOML + ON_ARM64)
    planned = bench.plan(arch=arch_named("arm64"))
    assert list(planned.variants) == ["sleep-only", "reboot-only"]
    assert planned.variants["sleep-only"].cpu == "arm"
    assert planned.scripts is not None
    assert planned.scripts.hardware == ("-M", "pc", "-device", "x")
    own = "CONFIG_OF_X86=y"
    assert own not in planned.variants["sleep-only"].kernel.options
    assert own in bench.plan().variants["sleep-max"].kernel.options


def test_what_cannot_happen_on_an_architecture_is_left_out(bench: Bench) -> None:
    mine = '"sleep", architectures = ["arm64"] }'
    bench.write(TOML.replace('"sleep" }', mine) + ON_ARM64)
    assert list(bench.plan().variants) == ["reboot-max", "reboot-small"]
    with pytest.raises(InputError, match="sleep cannot happen on x86_64") as caught:
        bench.plan("sleep")
    assert caught.value.hint == "known: reboot"
    assert list(bench.plan("sleep", arch=arch_named("arm64")).variants) == [
        "sleep-only"
    ]


def test_an_unknown_event_is_refused(bench: Bench) -> None:
    with pytest.raises(InputError, match="unknown event 'fire'"):
        bench.plan("fire")


def test_what_an_event_needs_is_looked_for_first(bench: Bench) -> None:
    needs = TOML.replace('"sleep" }', '"sleep", needs = { "/no/firmware" = "firm" } }')
    bench.write(needs)
    with pytest.raises(InfraError, match="sleep needs /no/firmware") as caught:
        bench.plan()
    assert caught.value.hint == "apt-get install firm"
    assert bench.plan("reboot")


def test_scripts_lead_guests_and_their_findings_are_stored(bench: Bench) -> None:
    report = bench.report("sleep")
    assert report.clean
    assert report.kind == "events"
    assert [boot.counters for boot in report.boots] == [{"looks": 3}] * 2
    assert {boot.kernel_release for boot in report.boots} == {"6.12"}
    pc = ("-M", "pc")
    led = bench.machine.led
    assert sorted((each.cmdline, each.hardware) for each in led) == [
        ("", pc),
        ("asleep", (*pc, "-disk")),
        ("of=max", pc),
        ("of=max asleep", (*pc, "-disk")),
    ]
    assert {(each.cpus, each.memory, each.exact) for each in led} == {(2, 256, False)}
    assert {each.cpu for each in led} == {"max", "qemu64"}


def test_the_console_of_every_guest_is_kept(bench: Bench) -> None:
    consoles = {b.facts.variant: b.console for b in bench.run("sleep").boots}
    assert consoles["sleep-max"].split("Linux version 6.12\n") == [
        "",
        "of=max asleep\n",
        "of=max\n",
    ]


def test_an_order_that_fails_is_told_and_the_rest_goes_on(bench: Bench) -> None:
    bench.script(order="fail now")
    report = bench.report()
    assert not report.clean
    wrong = {boot.variant: boot.wrong for boot in report.boots if boot.wrong}
    why = ["fail now: init: failed No such file or directory"]
    assert wrong == {"reboot-max": why, "reboot-small": why}


def test_an_init_that_is_silent_is_given_up(bench: Bench) -> None:
    bench.machine.patience = 2
    bench.script(order="hang")
    (boot, _) = bench.report("reboot").boots
    assert boot.wrong == [
        "hang: no word from the guest's port in 2 s; last on its console: 'of=max'"
    ]


def test_a_script_that_found_nothing_shows_nothing(bench: Bench) -> None:
    bench.script(found="{}")
    (boot, _) = bench.report("reboot").boots
    assert boot.never_done == ["looks"]


@pytest.mark.parametrize(
    ("line", "clean"),
    [("BUG: bad", False), ("it hurts", False), ("Kernel panic", True)],
)
def test_consoles_are_read(bench: Bench, line: str, clean: bool) -> None:
    bench.write(TOML.replace("of=max", line))
    found = {boot.variant: boot.clean for boot in bench.report("reboot").boots}
    assert found == {"reboot-max": clean, "reboot-small": True}


@pytest.mark.parametrize(
    ("found", "error"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("exit(0)", "SystemExit"),
        ("None", "AttributeError"),
        ("'looks'", "AttributeError"),
        ("{'looks': 2**64}", "ValidationError"),
    ],
)
def test_a_bug_in_a_script_is_its_authors(bench: Bench, found: str, error: str) -> None:
    bench.script(found=found)
    with pytest.raises(InputError, match=f"the event 'reboot' cannot go on: {error}"):
        bench.run("reboot")


def test_a_host_that_fails_a_script_is_told_and_the_run_goes_on(bench: Bench) -> None:
    bench.script(found="open('/dev/full', 'w').write('x' * 99999)")
    with pytest.raises(InfraError, match=r"the disk of .* is full") as caught:
        bench.run("reboot")
    assert "--resume 1" in caught.value.hint


def test_when_a_guest_fails_the_consoles_of_all_are_kept(bench: Bench) -> None:
    sleep, _ = SCRIPTS.split("def reboot")
    (bench.folder / "__init__.py").write_text(sleep + SECOND_FAILS)
    (boot, _) = bench.run("reboot").boots
    assert boot.facts.status == "boot_error"
    assert boot.console.count("Linux version 6.12") == 2


@pytest.mark.parametrize("count", [0, -1])
def test_a_check_that_looked_at_nothing_shows_nothing(bench: Bench, count: int) -> None:
    bench.script(found=f"{{'looks': {count}}}")
    (boot, _) = bench.report("reboot").boots
    assert boot.never_done == ["looks"]


def test_a_torn_line_hides_nothing_of_the_next_guest(tmp_path: Path) -> None:
    leader = Leader(FakeMachine(), request(tmp_path), tmp_path, watcher())
    with leader.boot("torn by WARN") as guest:
        guest.ready()
    with leader.boot() as guest:
        guest.ready()
    lines = leader.console.splitlines()
    assert lines.count("Linux version 6.12") == 2


def test_scripts_know_what_their_guests_have(tmp_path: Path) -> None:
    asked = replace(request(tmp_path), cmdline="of=max", cpus=3)
    machine = FakeMachine()
    machine.needs = lambda exact: Needs("console=fake", ())  # type: ignore[method-assign]
    leader = Leader(machine, asked, tmp_path, watcher())
    assert (leader.cpus, leader.cmdline) == (3, "console=fake of=max")


def test_a_run_that_is_stopped_does_not_wait_for_a_guest(tmp_path: Path) -> None:
    stop = threading.Event()
    machine = FakeMachine(patience=60)
    leader = Leader(machine, request(tmp_path), tmp_path, watcher(stop))
    threading.Timer(1, stop.set).start()
    with pytest.raises(StoppedError), leader.boot() as guest:
        guest.ready()
        guest.do("hang")
    stop.clear()
    threading.Timer(1, stop.set).start()
    with pytest.raises(StoppedError), leader.boot() as guest:
        guest.ended()


def request(folder: Path) -> BootRequest:
    initramfs = folder / "initramfs"
    initramfs.write_bytes(b"")
    return BootRequest(
        image=folder / "bzImage",
        initramfs=initramfs,
        cmdline="",
        cpu="",
        exact=False,
        cpus=2,
        led=True,
    )


def watcher(stop: threading.Event | None = None) -> Watcher:
    return Watcher(stop or threading.Event())


def test_an_interrupted_run_goes_on(bench: Bench) -> None:
    lead = bench.machine.lead
    bench.machine.boots_at_once = lambda cpus, memory: 1  # type: ignore[method-assign]

    def fails(request: object, *rest: object) -> object:
        if "of=max" not in str(request):
            raise InfraError("the disk is full")
        return lead(request, *rest)  # type: ignore[arg-type]

    bench.machine.lead = fails  # type: ignore[assignment,method-assign]
    with pytest.raises(InfraError) as caught:
        bench.run("reboot")
    assert "--resume 1" in caught.value.hint
    bench.machine.lead = lead  # type: ignore[method-assign]
    bench.machine.led.clear()
    assert trial_report(bench.run("reboot", resume=1)).clean
    assert [each.cmdline for each in bench.machine.led] == [""]


def test_the_report_has_a_line_for_each_boot(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    print_documents(Console(width=78), [trial_document(bench.report())])
    text = capsys.readouterr().out
    assert "Events of kpkeys, run 1" in text
    # A line of the command may be longer if it is one word.
    lines = [line for line in text.splitlines() if len(line.split()) > 2]
    assert max(map(len, lines)) <= 78
    for name in ("sleep-max", "reboot-small"):
        (line,) = [x for x in text.splitlines() if name in x and "clean" in x]
        assert line


def test_the_plan_says_what_leads_its_boots(bench: Bench) -> None:
    takes = estimate(bench.plan(), set(), None, None, at_once=2)
    plain = to_markdown([plan_document(bench.plan(), takes)])
    assert "leads each boot through an event" in " ".join(plain.split())


def test_the_command_plans_without_a_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = FakeMachine()
    fake_source(tmp_path / "linux")
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(KINDS, DEFAULT_KIND, lambda *_: machine)
    words = ("events", "kpkeys", "--events", "kexec", "--plan", "--json", "-")
    source = ("--source", str(tmp_path / "linux"))
    done = CliRunner().invoke(app, [*words, *source], catch_exceptions=False)
    assert done.exit_code == 0
    assert json.loads(done.output)["kind"] == "events"
    assert machine.led == []
