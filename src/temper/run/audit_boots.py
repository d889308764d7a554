"""Which boots an audit takes, and what is attacked in each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from temper.options import MODULES, Attacks, Option, Setting
from temper.record.plan import Role

SHIPPED = "shipped"
"""The variant that is the kernel as it is."""

LOADS = "attack module "
"""How lines begin that load a module for the attacks after them."""

_TWIN = "twin"


@dataclass(frozen=True)
class Boot:
    """A variant of the audited kernel, and the attacks in its boot."""

    name: str
    role: Role
    settings: tuple[Setting, ...]
    attacks: Mapping[str, Attacks]
    """Attack -> what it has in common with others."""
    sysctls: Mapping[str, tuple[str, ...]]
    """Attack -> the sysctls of its option's setting."""
    beside: Mapping[str, Attacks] = field(default_factory=dict)
    """Attacks of which each boot of the kernel is a try."""

    @property
    def is_twin(self) -> bool:
        """Whether it is of another kernel, built for the audit."""
        return any(each.is_twin for each in self.settings)

    @property
    def config(self) -> tuple[str, ...]:
        """The lines in which a twin differs."""
        return tuple(line for each in self.settings for line in each.config)

    @property
    def patches(self) -> tuple[str, ...]:
        """The patches of a twin."""
        return tuple(name for each in self.settings for name in each.patches)

    @property
    def title(self) -> str:
        """What it is, in short."""
        if self.is_twin:
            return "a kernel built for the audit"
        words = _once(each.words for each in self.settings if not each.sysctls)
        if self.sysctls:
            words.append("sysctls")
        return f"the same with {', '.join(words)}" if words else "the kernel as it is"

    @property
    def cmdline(self) -> str:
        """More of the kernel's command line."""
        return " ".join(_once(each.cmdline for each in self.settings))

    @property
    def cpu(self) -> str:
        """Properties of the CPU model."""
        return ",".join(_once(each.cpu for each in self.settings))

    @property
    def job(self) -> tuple[str, ...]:
        """Its lines; attacks that may damage the kernel come last."""
        made = {**self.beside, **self.attacks}
        kinds = dict.fromkeys(each.kind for each in made.values())
        loads = [f"run {LOADS}{MODULES[kind]}" for kind in kinds if kind in MODULES]
        ordered = sorted(made.items(), key=lambda item: item[1].apart)
        lines = [
            " ".join(
                (
                    f"run attack {each.kind} {name}",
                    *each.sysctls,
                    *self.sysctls.get(name, ()),
                )
            )
            for name, each in ordered
        ]
        return (*loads, *lines)


def _once(words: Iterable[str]) -> list[str]:
    """Return what is not empty, once each: options may share what they set."""
    return list(dict.fromkeys(filter(None, words)))


def all_boots(options: Mapping[str, Option], *, twins: bool) -> Iterator[Boot]:
    """Yield all boots: of the kernel as it is, then of it with options changed.

    ``twins``: also those of kernels that have to be built for it.
    """
    everywhere = {
        name: each for name, each in _every(options.values()) if each.across_boots
    }
    for boot in _each_boot(options, twins=twins):
        yield boot if boot.is_twin else replace(boot, beside=everywhere)


def _each_boot(options: Mapping[str, Option], *, twins: bool) -> Iterator[Boot]:
    yield from _shipped(dict(_every(options.values())))
    for role, which in ((Role.CONTROL, "off"), (Role.REMEDY, "on")):
        for name, together in _together(options.values(), role, twins).items():
            settings = {each.name: setting_of(each, role) for each in together}
            yield Boot(
                name=f"{name} {which}",
                role=role,
                settings=tuple(settings.values()),
                attacks=dict(_every(together)),
                sysctls={
                    attack: settings[each.name].sysctls
                    for each in together
                    for attack, _ in each.each()
                    if settings[each.name].sysctls
                },
            )


def _every(options: Iterable[Option]) -> Iterator[tuple[str, Attacks]]:
    for option in options:
        yield from option.each()


def _shipped(attacks: Mapping[str, Attacks]) -> Iterator[Boot]:
    """Yield the boot of all attacks that leave the kernel whole, and one of each other.

    An attack that damages the kernel could decide how those after it end.
    """
    whole = {name: each for name, each in attacks.items() if not each.apart}
    if whole:
        yield Boot(SHIPPED, Role.SHIPPED, (), whole, {})
    for name, each in attacks.items():
        if each.apart:
            yield Boot(f"{SHIPPED} ({name})", Role.SHIPPED, (), {name: each}, {})


def _together(
    options: Iterable[Option], role: Role, twins: bool
) -> dict[str, list[Option]]:
    """Return boot -> the options that are changed in it."""
    found: dict[str, list[Option]] = {}
    for option in options:
        setting = setting_of(option, role)
        if is_made(setting, twins=twins):
            boot = _TWIN if setting.is_twin else setting.boot or option.name
            found.setdefault(boot, []).append(option)
    return found


def is_made(setting: Setting, *, twins: bool) -> bool:
    """Return whether an audit boots with a setting."""
    return not setting.none and (twins or not setting.is_twin)


def setting_of(option: Option, role: Role) -> Setting:
    """Return what weakens an option, or switches it on."""
    return option.control if role is Role.CONTROL else option.remedy
