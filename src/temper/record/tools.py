"""What an outcome depends on besides the plan, and whether it was the same."""

from collections.abc import Mapping

from temper.record.boot import BootFacts


def tools_of(facts: BootFacts) -> dict[tuple[str, ...], str]:
    """Return (what it is, for which boots it must be the same) -> what it was."""
    machine, kernel = facts.machine, facts.kernel
    tools = {
        ("the machine",): f"{machine.name}, {machine.version}",
        ("the CPU model", facts.variant, str(machine.exact)): machine.cpu_model,
        ("the compiler", kernel.key): kernel.compiler,
        ("the kernel's configuration", kernel.key): kernel.config_hash,
        ("the kernel's image", kernel.key): kernel.image_hash,
    }
    if plugin := machine.details.get("plugin"):
        tools["QEMU's plugin",] = plugin
    return tools


class SeenTools:
    """Tools of several places, which have to be the same."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], tuple[str, str]] = {}

    def difference(self, tools: Mapping[tuple[str, ...], str], where: str) -> str:
        """Return in words how tools differ from those seen before; empty: not at all.

        ``where`` says where they are: ``here``, ``in FOLDER``.
        """
        for (tool, *scope), value in tools.items():
            first, place = self._seen.setdefault((tool, *scope), (value, where))
            if first != value:
                return f"{tool} is another one {place} ({first}) than {where} ({value})"
        return ""
