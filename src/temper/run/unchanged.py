"""Whether this host has the files that a plan from elsewhere was made with.

Kernels and images are not looked at: whoever builds or unpacks them does that.
"""

from collections.abc import Iterator
from pathlib import Path

from temper.arch import arch_named
from temper.digest import code_digest
from temper.errors import InputError
from temper.kernel import module_digest
from temper.paths import absolute
from temper.record.plan import Programs, RunPlan
from temper.run.programs import programs


def check_unchanged(plan: RunPlan) -> None:
    """Raise InputError naming a file or folder that is not what the plan says."""
    for path, is_same in _found(plan):
        if not is_same:
            raise InputError(
                f"{path} is not what the plan was made with",
                "give all hosts the same commit of Temper, and the same files",
            )


def _found(plan: RunPlan) -> Iterator[tuple[Path, bool]]:
    """Yield what a plan names, and whether it is the same here."""
    work = plan.work
    for each in work.programs:
        yield absolute(each.folder), _programs_here(each, plan) == each
    for module in work.modules:
        source = absolute(module.source)
        yield source, source.exists() and module_digest(source) == module.digest
    for code in (plan.scripts, plan.outside):
        if code:
            folder = absolute(code.folder)
            yield folder, code_digest(folder) == code.digest


def _programs_here(planned: Programs, plan: RunPlan) -> Programs | None:
    """Plan programs again, with the compiler and the libc of this host."""
    try:
        return programs(
            arch_named(plan.arch),
            absolute(planned.folder),
            planned.sources,
            planned.title,
            planned.wanted,
            [absolute(each) for each in planned.include],
        )
    except OSError:
        return None
