"""The command line: parse, call, print."""

import json as json_module
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from temper import catalog
from temper.analysis.estimate import estimate, seconds_a_boot
from temper.analysis.models import PriceReport, ProofReport
from temper.analysis.price import price_report
from temper.analysis.proof import proof_report
from temper.analysis.trial import TrialReport, trial_report
from temper.arch import ARCHES, DEFAULT_ARCH, Arch, arch_named
from temper.catalog import feature_named
from temper.doctor import examine
from temper.errors import InputError, StoreError
from temper.exits import exit_with_message
from temper.kernel import Cache, expected_seconds, find_source
from temper.kernel.tree import export_series, make_tree
from temper.machine import Limits, Machine, kind_named
from temper.progress import Progress
from temper.record.boot import StoredRun
from temper.record.plan import Kind, RunPlan
from temper.report.as_json import Report, to_json
from temper.report.doctor_table import print_findings
from temper.report.document import Document
from temper.report.html import to_html
from temper.report.listings import (
    kernels_as_data,
    print_feature,
    print_features,
    print_items,
    print_kernels,
    print_runs,
)
from temper.report.markdown import to_markdown
from temper.report.plan_document import plan_document
from temper.report.price_document import price_document
from temper.report.progress import on_stderr
from temper.report.proof_document import proof_document
from temper.report.terminal import print_documents
from temper.report.trial_document import trial_document
from temper.run.events import plan_events
from temper.run.execute import execute
from temper.run.planner import Planner
from temper.run.prepare import Workshop, prepare
from temper.run.stress import plan_stress
from temper.run.workloads import all_workloads
from temper.store import Store

app = typer.Typer(
    help="Linux kernel hardening, proven and priced.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
cache_app = typer.Typer(help="Manage the cache of kernels and other built files.")
kernel_app = typer.Typer(help="Work on a feature's patches in a git tree.")
app.add_typer(cache_app, name="cache", no_args_is_help=True)
app.add_typer(kernel_app, name="kernel", no_args_is_help=True)


def _complete_feature(begun: str) -> list[str]:
    return [name for name in catalog.feature_names() if name.startswith(begun)]


def _complete_arch(begun: str) -> list[str]:
    return [name for name in ARCHES if name.startswith(begun)]


def _complete_setting(begun: str) -> list[str]:
    names = {name for arch in ARCHES.values() for name in arch.settings}
    return sorted(name for name in names if name.startswith(begun))


def _complete_part(table: str) -> Callable[[typer.Context, str], list[str]]:
    """Complete a comma-separated list of names from a feature's ``table``."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        begun, comma, last = incomplete.rpartition(",")
        # The parser leaves the words of an incomplete line in args.
        features = set(catalog.feature_names())
        named = features & {context.params.get("feature"), *context.args}
        names = {
            name
            for feature in named or features
            for name in getattr(feature_named(feature), table)
        }
        left = sorted(names - set(begun.split(",")))
        return [begun + comma + name for name in left if name.startswith(last)]

    return complete


def _complete_workload(begun: str) -> list[str]:
    return [name for name in all_workloads() if name.startswith(begun)]


_complete_variants = _complete_part("variants")
_complete_attacked = _complete_part("all_variants")
_complete_proofs = _complete_part("proofs")

_ALL_SETTINGS = "; ".join(
    f"{', '.join(arch.settings)} ({arch.name})"
    for arch in ARCHES.values()
    if arch.settings
)

FeatureName = Annotated[
    str,
    typer.Argument(
        help="A hardening feature; [bold]temper features[/] lists them.",
        autocompletion=_complete_feature,
        metavar="FEATURE",
    ),
]
ArchName = Annotated[
    str,
    typer.Option(
        "--arch", help="Architecture of the kernel.", autocompletion=_complete_arch
    ),
]
Setting = Annotated[
    str,
    typer.Option(
        help="A setting of the architecture for every boot, including the baseline's: "
        f"{_ALL_SETTINGS}.",
        autocompletion=_complete_setting,
        metavar="NAME",
    ),
]
SourcePath = Annotated[
    Path | None,
    typer.Option(
        "--source",
        help="Linux source: a tarball, a folder or a git tree. "
        "Default: Debian's linux-source package.",
        metavar="PATH",
    ),
]
JsonPath = Annotated[
    str,
    typer.Option(
        "--json", help="Write the result as JSON; - is stdout.", metavar="FILE"
    ),
]
Calls = Annotated[
    int,
    typer.Option(
        help="System calls to time in each boot; other workloads scale with it."
    ),
]
_LARGEST_RUN = 2**63 - 1
"""What a database holds."""

Resume = Annotated[
    int | None,
    typer.Option(
        help="Resume this interrupted run.", metavar="RUN", min=1, max=_LARGEST_RUN
    ),
]

OnlyPlan = Annotated[
    bool,
    typer.Option(
        "--plan",
        help="Print what it would build and boot and how long that takes, without "
        "doing it. With --json: the whole plan.",
    ),
]

DEFAULT_CALLS = 1_000_000


@dataclass(frozen=True)
class _Lab:
    """Everything that commands need in order to plan, build and boot."""

    arch: Arch
    source: Path | None = None
    setting: str = ""

    @classmethod
    def of(cls, arch: str, source: Path | None = None, setting: str = "") -> "_Lab":
        return cls(arch_named(arch), source, setting)

    @cached_property
    def progress(self) -> Progress:
        return on_stderr()

    @cached_property
    def cache(self) -> Cache:
        return Cache()

    @property
    def planner(self) -> Planner:
        return Planner(self.arch, self.cache, self.source, self.setting)

    @property
    def workshop(self) -> Workshop:
        return Workshop(self.arch, self.cache, self.progress)

    def show(self, plan: RunPlan, json: str, resume: int | None) -> None:
        """Print what a plan takes, without building or booting anything."""
        if resume is not None:
            raise InputError("--plan shows a new run", "leave out --resume")
        machine = self._machine(plan)
        with Store.open(progress=self.progress) as store:
            known = seconds_a_boot(plan, _readable(store))
        takes = estimate(
            plan,
            built=self.cache.keys("kernels"),
            seconds_a_build=expected_seconds(self.arch, self.cache),
            seconds_a_boot=known,
            at_once=machine.boots_at_once(plan.work.cpus, plan.work.memory),
        )
        if json:
            _write(json, plan.model_dump_json(indent=2) + "\n")
        if json != "-":
            _print(plan_document(plan, takes))

    def run(self, plan: RunPlan, resume: int | None) -> StoredRun:
        machine = self._machine(plan)
        # First, since building kernels is useless if the machine is not available.
        machine.prepare()
        prepared = prepare(plan, self.cache, self.progress)
        with Store.open(progress=self.progress) as store:
            return execute(prepared, machine, store, self.progress, resume)

    def _machine(self, plan: RunPlan) -> Machine:
        kind = kind_named(plan.machine)
        return kind(self.arch, self.cache, self.progress, _limits(plan, self.arch))


def _readable(store: Store) -> Iterator[StoredRun]:
    """Yield stored runs, newest first; a damaged one is no matter for an estimate."""
    for run in store.runs():
        with suppress(StoreError):
            yield store.load(run.id)


def _limits(plan: RunPlan, arch: Arch) -> Limits:
    if plan.trial and plan.trial.seconds:
        return Limits.for_stress(plan.trial.seconds)
    return Limits.for_calls(plan.calls, arch)


@app.command()
def doctor(json: JsonPath = "") -> None:
    """Say what this host has and what it lacks, with the cure for each lack."""
    findings = examine()
    if json:
        _write(json, findings.to_json())
    if json != "-":
        print_findings(_console(), findings)
    if findings.lacking:
        raise typer.Exit(1)


@app.command()
def features(json: JsonPath = "") -> None:
    """List the catalogue of hardening features."""
    known = [feature_named(name) for name in catalog.feature_names()]
    if json:
        _write_data(json, [feature.model_dump(mode="json") for feature in known])
    if json != "-":
        print_features(_console(), known)


@app.command()
def show(feature: FeatureName, json: JsonPath = "") -> None:
    """Show one feature: variants, proofs, workloads."""
    described = feature_named(feature)
    if json:
        _write_data(json, described.model_dump(mode="json"))
    if json != "-":
        print_feature(_console(), described)


@app.command()
def build(
    feature: FeatureName,
    variants: Annotated[
        str,
        typer.Option(
            help="Build only these (comma-separated); may include sabotages.",
            autocompletion=_complete_attacked,
            metavar="NAMES",
        ),
    ] = "",
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    json: JsonPath = "",
) -> None:
    """Build the kernels of all variants, or find them in the cache."""
    lab = _Lab.of(arch, source)
    described = feature_named(feature)
    part = described.only(_names(variants) or described.variants, proofs=())
    kernels = {
        name: lab.workshop.kernel(lab.planner.kernel(part, variant))
        for name, variant in part.all_variants.items()
    }
    if json:
        _write_data(json, kernels_as_data(kernels))
    if json != "-":
        print_kernels(_console(), kernels)


@app.command()
def prove(
    feature: FeatureName,
    variants: Annotated[
        str,
        typer.Option(
            help="Attack only these (comma-separated) and the control; may include "
            "sabotages.",
            autocompletion=_complete_attacked,
            metavar="NAMES",
        ),
    ] = "",
    proofs: Annotated[
        str,
        typer.Option(
            help="Use only these attacks (comma-separated).",
            autocompletion=_complete_proofs,
            metavar="NAMES",
        ),
    ] = "",
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    setting: Setting = "",
    sabotage: Annotated[
        bool,
        typer.Option(
            "--sabotage",
            help="Attack all sabotaged variants as well; each must come out as "
            "expected, or the attacks prove nothing.",
        ),
    ] = False,
    resume: Resume = None,
    only_plan: OnlyPlan = False,
    json: JsonPath = "",
) -> None:
    """Attack every variant, to prove that the feature stops the attacks.

    Exit status 0 means proven: the control is VULNERABLE, the hardened variants
    are BLOCKED, and the others come out as expected.

    With --variants or --proofs, the verdict covers only what you name. If you name
    no hardened variant, it covers the variants that every named proof is expected
    to find BLOCKED. If there are none of those either, nothing is proven.
    """
    lab = _Lab.of(arch, source, setting)
    described = feature_named(feature)
    plan = lab.planner.prove(
        described, _names(variants), _names(proofs), sabotage=sabotage
    )
    if only_plan:
        return lab.show(plan, json, resume)
    report = proof_report(lab.run(plan, resume))
    if json:
        _write(json, to_json(report))
    if json != "-":
        _print(proof_document(report))
    if not (report.proven and report.as_expected):
        raise typer.Exit(1)


@app.command()
def price(
    feature: FeatureName,
    variants: Annotated[
        str,
        typer.Option(
            help="Price only these (comma-separated); the baseline is always measured.",
            autocompletion=_complete_variants,
            metavar="NAMES",
        ),
    ] = "",
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    setting: Setting = "",
    calls: Calls = DEFAULT_CALLS,
    resume: Resume = None,
    only_plan: OnlyPlan = False,
    json: JsonPath = "",
) -> None:
    """Measure what the feature costs, to the instruction.

    Each variant is booted twice; counts are exact only if both boots agree.
    """
    lab = _Lab.of(arch, source, setting)
    described = feature_named(feature)
    plan = lab.planner.price(described, calls, _names(variants))
    if only_plan:
        return lab.show(plan, json, resume)
    _show_price(price_report(lab.run(plan, resume)), json)


@app.command()
def compare(
    kernel_a: Annotated[Path, typer.Argument(help="Kernel image: the baseline.")],
    kernel_b: Annotated[Path, typer.Argument(help="Kernel image to price.")],
    cmdline_a: Annotated[str, typer.Option(help="Command line of the first.")] = "",
    cmdline_b: Annotated[str, typer.Option(help="Command line of the second.")] = "",
    workload: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure this workload; may be repeated. Default: all common ones.",
            autocompletion=_complete_workload,
            metavar="NAME",
        ),
    ] = None,
    arch: ArchName = DEFAULT_ARCH.name,
    setting: Setting = "",
    calls: Calls = DEFAULT_CALLS,
    resume: Resume = None,
    only_plan: OnlyPlan = False,
    json: JsonPath = "",
) -> None:
    """Compare the cost of any two kernels, e.g. before and after a patch."""
    lab = _Lab.of(arch, setting=setting)
    kernels = {"A": (kernel_a, cmdline_a), "B": (kernel_b, cmdline_b)}
    plan = lab.planner.compare(kernels, tuple(workload or ()), calls)
    if only_plan:
        return lab.show(plan, json, resume)
    _show_price(price_report(lab.run(plan, resume)), json)


@app.command()
def stress(
    feature: FeatureName,
    kernels: Annotated[
        str,
        typer.Option(
            help="Boot only these debug kernels (comma-separated).", metavar="NAMES"
        ),
    ] = "",
    seconds: Annotated[
        int, typer.Option(help="Seconds of stress in each boot, in the guest's time.")
    ] = 180,
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    resume: Resume = None,
    only_plan: OnlyPlan = False,
    json: JsonPath = "",
) -> None:
    """Put the feature's debug kernels under stress, to find bugs.

    Exit status 0 means clean: no complaint on the console, no failure counted, and
    each operation done at least once.
    """
    lab = _Lab.of(arch, source)
    described = feature_named(feature)
    plan = plan_stress(lab.planner, described, seconds, _names(kernels))
    if only_plan:
        return lab.show(plan, json, resume)
    _show_trial(trial_report(lab.run(plan, resume)), json)


@app.command()
def events(
    feature: FeatureName,
    names: Annotated[
        str,
        typer.Option(
            "--events", help="Only these events (comma-separated).", metavar="NAMES"
        ),
    ] = "",
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    resume: Resume = None,
    only_plan: OnlyPlan = False,
    json: JsonPath = "",
) -> None:
    """Lead the feature's kernel through machine events, and check it after each.

    Events are, for example, suspend, hibernation, kexec, hotplug and machine checks.
    Exit status 0 means clean: every check passed, and the console has no complaint.
    """
    lab = _Lab.of(arch, source)
    described = feature_named(feature)
    plan = plan_events(lab.planner, described, _names(names))
    if only_plan:
        return lab.show(plan, json, resume)
    _show_trial(trial_report(lab.run(plan, resume)), json)


def _show_trial(report: TrialReport, json: str) -> None:
    if json:
        _write(json, to_json(report))
    if json != "-":
        _print(trial_document(report))
    if not report.clean:
        raise typer.Exit(1)


def _show_price(report: PriceReport, json: str) -> None:
    if json:
        _write(json, to_json(report))
    if json != "-":
        _print(price_document(report))
    if report.refused or not report.exact:
        raise typer.Exit(1)


@app.command()
def report(
    run: Annotated[
        int | None,
        typer.Argument(
            help="The run's number; default: the newest price and proof.",
            min=1,
            max=_LARGEST_RUN,
        ),
    ] = None,
    html: Annotated[
        str, typer.Option(help="Write a page with plots.", metavar="FILE")
    ] = "",
    md: Annotated[
        str, typer.Option(help="Write Markdown for mail.", metavar="FILE")
    ] = "",
    json: JsonPath = "",
) -> None:
    """Show a stored run again: as tables, a page, Markdown or JSON."""
    with Store.open(progress=on_stderr()) as store:
        found = _reports(store, run)
    if json:
        _write(json, to_json(found[-1]))
    documents = [_document(each) for each in found]
    if md:
        _write(md, to_markdown(documents))
    if html:
        _write(html, to_html(documents))
    if not (json or md or html):
        _print(*documents)


def _reports(store: Store, number: int | None) -> list[Report]:
    """Return one run's report, or the newest proof and the price that goes with it."""
    if number is not None:
        return [_report(store.load(number))]
    newest = store.latest(_BY_DEFAULT)
    if newest is None:
        raise InputError("there is no finished run yet", "temper price kstack")
    begun = store.load(newest)
    found = [_report(begun)]
    other = _other_half(store, begun.plan)
    if other is not None:
        found.append(_report(store.load(other)))
    return sorted(found, key=lambda report: isinstance(report, PriceReport))


_BY_DEFAULT = (Kind.PRICE, Kind.PROVE, Kind.COMPARE)


def _other_half(store: Store, plan: RunPlan) -> int | None:
    """Return the newest proof for a price, or the other way round."""
    kind = Kind.PRICE if plan.kind is Kind.PROVE else Kind.PROVE
    wanted = (kind, plan.feature, plan.arch, plan.setting)
    for run in store.runs():
        found = (run.kind, run.feature, run.arch, run.setting)
        if run.finished and run.current and found == wanted:
            return run.id
    return None


def _report(run: StoredRun) -> Report:
    match run.plan.kind:
        case Kind.PROVE:
            return proof_report(run)
        case Kind.STRESS | Kind.EVENTS:
            return trial_report(run)
        case Kind.PRICE | Kind.COMPARE:
            return price_report(run)


def _document(report: Report) -> Document:
    match report:
        case ProofReport():
            return proof_document(report)
        case TrialReport():
            return trial_document(report)
        case PriceReport():
            return price_document(report)


def _print(*documents: Document) -> None:
    print_documents(_console(), documents)


@app.command()
def runs(json: JsonPath = "") -> None:
    """List all runs, newest first."""
    with Store.open(progress=on_stderr()) as store:
        found = store.runs()
    if json:
        _write_data(json, [run.model_dump(mode="json") for run in found])
    if json != "-":
        print_runs(_console(), found)


@cache_app.command("list")
def cache_list() -> None:
    """List what is in the cache, most recently used first."""
    print_items(_console(), Cache().items(), "The cache is empty.")


@cache_app.command("prune")
def cache_prune(
    days: Annotated[
        float, typer.Option(help="Keep entries used within this many days.")
    ] = 0,
) -> None:
    """Remove entries from the cache; Temper builds them again when needed."""
    print_items(_console(), Cache().prune(days), "Nothing to remove.")


@cache_app.command("verify")
def cache_verify() -> None:
    """Check every file in the cache and remove what is damaged."""
    damaged = Cache().verify()
    print_items(_console(), damaged, "All files are intact.")
    if damaged:
        raise typer.Exit(1)


TreeFolder = Annotated[Path, typer.Argument(help="The git tree.", metavar="DIR")]


@kernel_app.command("tree")
def kernel_tree(
    feature: FeatureName, folder: TreeFolder, source: SourcePath = None
) -> None:
    """Make a git tree of the source with the feature's patches as commits."""
    progress, cache, described = on_stderr(), Cache(), feature_named(feature)
    found = find_source(source, described.series, cache)
    patches = make_tree(described, folder, found, cache, progress)
    _console().print(f"{folder}: Linux {found.version} and {len(patches)} patches")


@kernel_app.command("export")
def kernel_export(feature: FeatureName, folder: TreeFolder) -> None:
    """Write the git tree's commits back to the feature's patches."""
    patches = export_series(feature_named(feature), folder)
    _console().print(f"{feature}: {len(patches)} patches written")


def _names(listed: str) -> tuple[str, ...]:
    """Split comma-separated names; an empty string has none."""
    return tuple(name.strip() for name in listed.split(",")) if listed else ()


def _console() -> Console:
    return Console(highlight=False)


def _write(file: str, text: str) -> None:
    """Write to a file, or to stdout if its name is ``-``."""
    if file == "-":
        sys.stdout.write(text)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {file}: {error.strerror}") from error
    Console(stderr=True, highlight=False).print(f"wrote {Path(file).resolve()}")


def _write_data(file: str, data: object) -> None:
    _write(file, json_module.dumps(data, indent=2) + "\n")


def main() -> None:
    """Run the command line; print a TemperError and exit with its code."""
    with exit_with_message():
        _check_words(sys.argv)
        app()


def _check_words(words: Iterable[str]) -> None:
    """Refuse what no report could show: file names that are not UTF-8."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            shown = word.encode(errors="surrogateescape")
            raise InputError(f"{shown!r} is not UTF-8", "rename the file") from None
