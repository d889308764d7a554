"""The table of hardening options: complete, consistent, and in step with its C code."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from temper.arch import ARCHES
from temper.errors import InputError
from temper.options import (
    MODULES,
    OPTIONS,
    Attacks,
    Option,
    Policy,
    Setting,
    all_options,
    options_on,
)
from temper.record.outcome import Outcome

CODE = {
    "probe": sorted((OPTIONS / "modules" / "probe").glob("*.c")),
    "user": [OPTIONS / "attacks" / "user.c"],
}
"""Kind -> the files with tables of its attacks."""
LISTED = re.compile(r'\{ "(\w+)", \w+')


def names(kind: str) -> list[str]:
    """Return the attacks of a kind in all tables."""
    return [
        name
        for option in all_options().values()
        for name, attacks in option.each()
        if attacks.kind == kind
    ]


@pytest.mark.parametrize("kind", CODE)
def test_the_code_has_every_attack_and_no_other(kind: str) -> None:
    found = [
        name for path in CODE[kind] for name in LISTED.findall(path.read_text("utf-8"))
    ]
    assert sorted(found) == sorted(set(names(kind)))


def test_an_object_that_kfence_watches_says_nothing_of_slabs() -> None:
    found = all_options()["slab-freelist-hardened"]
    for _, attacks in found.each():
        how = attacks.plan(found.name)
        assert re.search(how.gave_up, "BUG: KFENCE: invalid free in x")
        assert not re.search(how.reported, "BUG: KFENCE: invalid free in x")


@pytest.mark.parametrize("arch", ARCHES)
def test_an_attack_belongs_to_one_option(arch: str) -> None:
    every = [name for each in options_on(arch).values() for name, _ in each.each()]
    assert len(every) == len(set(every))


def test_there_are_as_many_as_promised() -> None:
    here = options_on("x86_64")
    assert sum(1 for option in here.values() for _ in option.each()) >= 45
    assert sum(not option.control.none for option in here.values()) >= 12


@pytest.mark.parametrize("name", all_options())
def test_an_option_says_what_it_promises(name: str) -> None:
    option = all_options()[name]
    assert option.promise.endswith(".")
    assert not option.title.endswith(".")
    assert not option.price or option.price.endswith(".")


@pytest.mark.parametrize("name", all_options())
def test_what_switches_an_option_on_is_not_what_weakens_it(name: str) -> None:
    option = all_options()[name]
    if not option.remedy.none:
        assert option.remedy.words != option.control.words


def test_settings_that_share_a_boot_do_not_contradict_each_other() -> None:
    for role in ("control", "remedy"):
        seen: dict[tuple[str, str], str] = {}
        for option in all_options().values():
            setting: Setting = getattr(option, role)
            for word in (*setting.cmdline.split(), *setting.cpu.split(",")):
                place = (setting.boot or option.name, word.partition("=")[0])
                other = seen.setdefault(place, word)
                assert other == word


@pytest.mark.parametrize("role", ["control", "remedy"])
def test_twins_do_not_contradict_each_other(role: str) -> None:
    seen: dict[str, str] = {}
    for option in all_options().values():
        setting: Setting = getattr(option, role)
        for line in setting.config:
            name = line.partition("=")[0]
            assert seen.setdefault(name, line) == line


def test_what_a_twin_weakens_another_one_switches_on() -> None:
    for option in all_options().values():
        assert not option.remedy.is_twin or option.control.is_twin
        on, off = option.remedy.config, option.control.config
        assert not on or not set(on) & set(off)


def test_every_module_is_there() -> None:
    for module in MODULES.values():
        assert (OPTIONS / "modules" / module / "Kbuild").is_file()


@pytest.mark.parametrize("arch", ARCHES)
def test_each_architecture_has_options(arch: str) -> None:
    assert len(options_on(arch)) > 20


def test_an_option_of_another_architecture_is_not_known() -> None:
    assert "smep" in options_on("x86_64")
    with pytest.raises(InputError, match="unknown option 'smep'"):
        options_on("arm64", ["smep"])


def option(**changes: object) -> Option:
    given: dict[str, object] = {
        "name": "made-up",
        "title": "a made-up option",
        "promise": "Nothing happens.",
        "control": {"cmdline": "made_up=0"},
        "attacks": [{"user": ["dmesg"]}],
    }
    return Option.model_validate({**given, **changes})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"attacks": []}, "at least 1 item"),
        ({"attacks": [{"lkdtm": ["WRITE_RO"]}]}, "LKDTM need 'by'"),
        ({"attacks": [{"by": "x"}]}, "of one kind"),
        ({"attacks": [{"probe": ["a"], "user": ["b"]}]}, "of one kind"),
        ({"attacks": [{"user": ["dmesg"], "by": "("}]}, "not a regular expression"),
        ({"attacks": [{"user": ["dmesg"], "most": 1}]}, "less than 1"),
        ({"control": {}}, "give cmdline, cpu, sysctls, what makes a twin"),
        ({"control": {"cmdline": "a", "config": ["CONFIG_X=y"]}}, "give cmdline"),
        ({"control": {"config": ["CONFIG_X"]}}, "String should match pattern"),
        ({"control": {"patches": ["nosuch.patch"]}}, "has no nosuch.patch"),
        ({"control": {"cmdline": "a", "none": "b"}}, "give cmdline"),
        ({"architectures": ["vax"]}, "unknown architecture"),
        ({"control": {"cmdlin": "a"}}, "Extra inputs"),
    ],
)
def test_a_broken_table_is_refused(changes: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        option(**changes)


def test_attacks_for_another_architecture_are_left_out() -> None:
    attacks = [
        {"user": ["dmesg"]},
        {"user": ["vsyscall"], "architectures": ["x86_64"]},
    ]
    made = option(attacks=attacks)
    here = made.on("arm64")
    assert here
    assert [name for name, _ in here.each()] == ["dmesg"]
    assert option(architectures=["x86_64"]).on("arm64") is None
    assert option(attacks=attacks[1:]).on("arm64") is None


def test_triggers_of_lkdtm_may_give_up() -> None:
    planned = Attacks(lkdtm=("WRITE_RO",), by="x").plan("made-up")
    line = "lkdtm: copy_to_user failed, but lacked Oops"
    assert re.search(planned.gave_up, line)
    assert not re.search(planned.gave_up, "lkdtm: attempting bad rodata write")


def test_a_broken_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.toml").write_text('title = "x"\n')
    monkeypatch.setattr("temper.options.OPTIONS", tmp_path)
    all_options.cache_clear()
    try:
        with pytest.raises(InputError, match=r"bad\.toml: promise: Field required"):
            all_options()
    finally:
        monkeypatch.undo()
        all_options.cache_clear()


def test_a_policy_demands_the_most_of_what_it_names_twice() -> None:
    policy = Policy(blocked=("smep",), detected=("smep", "kfence"))
    assert policy.least == {"smep": Outcome.BLOCKED, "kfence": Outcome.DETECTED}
