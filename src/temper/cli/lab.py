"""What commands need in order to plan, build and boot."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from temper.analysis.estimate import estimate, seconds_a_boot
from temper.arch import Arch, arch_named
from temper.cli.files import Files
from temper.cli.output import console, publish
from temper.cli.reports import conclude, report_of, show
from temper.cli.stored import with_strength
from temper.errors import InfraError, InputError, StoreError
from temper.invocation import as_typed
from temper.kernel import Cache, expected_seconds
from temper.machine import Machine
from temper.progress import Progress
from temper.record.boot import StoredRun
from temper.record.plan import USUAL_BASE, RunPlan
from temper.report.listings import print_shard
from temper.report.plan_document import plan_document
from temper.report.progress import on_stderr
from temper.run.engine import Engine
from temper.run.execute import check_resumable, execute
from temper.run.machines import check_cpus, machine_for
from temper.run.mutants import with_mutants
from temper.run.mutate import choice_of
from temper.run.planner import Planner
from temper.run.prepare import Workshop, prepare
from temper.run.threads import threads
from temper.store import Store


@dataclass(frozen=True)
class Lab:
    """Everything that commands need in order to plan, build and boot."""

    arch: Arch
    source: Path | None = None
    setting: str = ""
    cpu: str = ""
    base: str = USUAL_BASE
    packages_from: Path | None = None
    shard: str | None = None
    on: str | None = None

    @classmethod
    def of(
        cls,
        arch: str,
        source: Path | None = None,
        setting: str = "",
        cpu: str = "",
        base: str = USUAL_BASE,
        packages_from: Path | None = None,
        shard: str | None = None,
        on: str | None = None,
    ) -> "Lab":
        """Return the lab of the architecture with this name."""
        return cls(
            arch_named(arch), source, setting, cpu, base, packages_from, shard, on
        )

    @cached_property
    def progress(self) -> Progress:
        """Where long work shows how far it is."""
        return on_stderr()

    @cached_property
    def cache(self) -> Cache:
        """The cache of kernels and programs."""
        return Cache()

    @property
    def planner(self) -> Planner:
        """What makes plans."""
        return Planner(
            self.arch,
            self.cache,
            self.source,
            self.setting,
            self.cpu,
            self.base,
            self.packages_from,
        )

    @property
    def workshop(self) -> Workshop:
        """What builds kernels."""
        return Workshop(self.arch, self.cache, self.progress)

    def carry_out(
        self,
        plan: RunPlan,
        files: Files,
        resume: int | None,
        *,
        only_plan: bool,
        full: bool = False,
    ) -> None:
        """Do what a command has planned, and report it; or print what it takes.

        Raises typer.Exit with the report's status unless that is 0. A shard of mutants
        has a report, too, but succeeds if it was made.
        """
        if only_plan:
            return self._show(self._part(plan), files, resume)
        if self.shard and files and not plan.mutants:
            raise InputError(
                "a shard has no report",
                f"'{as_typed('temper merge')}' writes that of all shards",
            )
        run = self.run(plan, resume)
        if not run.plan.shard:
            return conclude(with_strength(report_of(run), run.plan), files, full=full)
        if not files.take_stdout:
            print_shard(console(), run.plan.shard, self._folder(run.id))
        if run.plan.mutants:
            show(report_of(run), files, full=full)

    def _part(self, plan: RunPlan) -> RunPlan:
        """Return the part of a plan that is to be made; see ``--shard``."""
        if self.shard is None:
            return plan
        found = re.fullmatch(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})", self.shard)
        if not found or int(found[1]) > int(found[2]):
            raise InputError(
                f"'{self.shard}' names no shard", "such as --shard 2/3: the second of 3"
            )
        try:
            return plan.part(int(found[1]), int(found[2]))
        except ValueError as error:
            raise InputError(str(error), "make fewer shards") from error

    def _show(self, plan: RunPlan, files: Files, resume: int | None) -> None:
        """Print what a plan takes, without building or booting anything."""
        if resume is not None:
            raise InputError("--plan shows a new run", "leave out --resume")
        if files.ktap or files.junit:
            raise InputError(
                "--plan makes no test results", "leave out --ktap and --junit"
            )
        machine = machine_for(plan, self.cache, self.progress)
        if plan.cpu:
            check_cpus(machine, plan)
        with Store.open_to_read(progress=self.progress) as store:
            known = seconds_a_boot(plan, _readable(store))
        takes = estimate(
            plan,
            built=self.cache.keys("kernels"),
            seconds_a_build=expected_seconds(self.arch, plan.base, self.cache),
            seconds_a_boot=known,
            at_once=machine.boots_at_once(plan.work.cpus, plan.work.memory),
        )
        data = plan.model_dump_json(indent=2) + "\n"
        publish(files.json, data, plan_document(plan, takes))

    @contextmanager
    def _engine(self, plan: RunPlan, machine: Machine) -> Iterator[Engine]:
        """Build what a plan needs, and lend what boots it."""
        if self.on:
            with self._fleet(self.on, plan, machine) as engine:
                yield engine
            return
        prepared = prepare(plan, self.cache, self.progress)
        with (
            with_mutants(prepared, self.workshop) as complete,
            threads(complete, machine) as engine,
        ):
            yield engine

    def _fleet(
        self, place: str, plan: RunPlan, machine: Machine
    ) -> AbstractContextManager[Engine]:
        try:
            from temper.run.fleet import fleet  # noqa: PLC0415 (an extra)
        except ImportError as error:
            raise InfraError(
                f"--on needs Dask, which is not installed: {error}",
                "pip install 'temper[fleet]'",
            ) from error
        return fleet(place, plan, machine, self.progress)

    def _folder(self, run: int) -> Path:
        """Return where the raw files of a run are."""
        with Store.open_to_read(progress=self.progress) as store:
            return store.run_folder(run)

    def run(self, plan: RunPlan, resume: int | None) -> StoredRun:
        """Build what a plan needs, boot it, and return the run; or resume one."""
        plan = self._part(plan)
        choice = choice_of(plan)
        machine = machine_for(plan, self.cache, self.progress)
        with Store.open(progress=self.progress) as store:
            # First, since building kernels is useless if they cannot be booted then.
            if resume is not None:
                check_resumable(store, plan, resume, choice)
            check_cpus(machine, plan)
            machine.prepare()
            with self._engine(plan, machine) as engine:
                run = execute(engine, store, self.progress, resume, choice)
            return run


def _readable(store: Store) -> Iterator[StoredRun]:
    """Yield stored runs, newest first; a damaged one is no matter for an estimate."""
    for run in store.runs():
        with suppress(StoreError):
            yield store.load(run.id)
