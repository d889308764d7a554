"""Lists the functions that switch stacks: ``python features/scs-switch/analysis``.

It builds stock Linux with shadow call stacks and all that might switch stacks, or finds
it in the cache. It fails if there is a function that functions.toml does not explain.
"""

import sys

from scan import Write, explained, writes

from temper.arch import arch_named
from temper.errors import TemperError
from temper.kernel import Cache, Kernel, KernelSpec, build, find_source
from temper.kernel.symbols import Symbols
from temper.progress import Quiet

_WIDE = (
    "CONFIG_SHADOW_CALL_STACK=y",
    *("CONFIG_EFI=y", "CONFIG_SUSPEND=y", "CONFIG_CPU_IDLE=y"),
    *("CONFIG_BLOCK=y", "CONFIG_SWAP=y", "CONFIG_HIBERNATION=y"),
    *("CONFIG_KEXEC=y", "CONFIG_KEXEC_FILE=y", "CONFIG_CRASH_DUMP=y"),
    *("CONFIG_VIRTUALIZATION=y", "CONFIG_KVM=y"),
    *("CONFIG_ACPI=y", "CONFIG_ACPI_APEI=y", "CONFIG_ARM_SDE_INTERFACE=y"),
    *("CONFIG_KPROBES=y", "CONFIG_FTRACE=y", "CONFIG_FUNCTION_TRACER=y"),
    "CONFIG_COMPAT=y",
)


def main() -> None:
    """Print the functions, with what is known of each."""
    try:
        kernel = _kernel()
    except TemperError as error:
        sys.exit(f"{error.message}\n  -> {error.hint}" if error.hint else error.message)
    found = writes(kernel.image, Symbols.of(kernel.folder / "System.map"))
    for name, instructions in found.items():
        print(f"{name}: {_told(instructions)}: {explained(name)}")
    if unknown := [name for name in found if not explained(name)]:
        sys.exit(f"functions.toml does not explain {', '.join(unknown)}")


def _kernel() -> Kernel:
    cache = Cache()
    spec = KernelSpec(
        arch=arch_named("arm64"),
        source=find_source(None, "6.12", cache),
        options=_WIDE,
    )
    return build(spec, cache, Quiet())


def _told(instructions: list[Write]) -> str:
    return ", ".join(
        f"{register} {sum(register in each.registers for each in instructions)}"
        for register in ("sp", "x18")
        if any(register in each.registers for each in instructions)
    )


if __name__ == "__main__":
    main()
