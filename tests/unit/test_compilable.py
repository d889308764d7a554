"""What Kbuild notes on an object, as a guest without Kbuild has it."""

from pathlib import Path

import pytest
from kernels import fake_source, fragments, spec

from temper.errors import BuildError
from temper.kernel import Cache, compilable
from temper.kernel.objects import command_of
from temper.progress import Quiet

NOTE = """\
savedcmd_lib/x.o := {compiler} -nostdinc -DA='"a ; b"' -c -o lib/x.o ../lib/x.c{then}

source_lib/x.o := ../lib/x.c
"""
COMMAND = """\
savedcmd_lib/x.o := gcc -nostdinc -DA='"a ; b"' -c -o lib/x.o ../lib/x.c
"""


@pytest.mark.parametrize(
    "compiler", ["gcc", "ccache gcc", "aarch64-linux-gnu-gcc", "ccache /opt/x-gcc"]
)
@pytest.mark.parametrize("then", ["", "   ; ./tools/objtool/objtool --x lib/x.o"])
def test_a_command_has_nothing_that_only_the_host_has(compiler: str, then: str) -> None:
    assert command_of(NOTE.format(compiler=compiler, then=then)) == COMMAND


def test_objtool_is_not_called_for_assembly_either() -> None:
    note = "savedcmd_x.o := gcc -c -o x.o ../x.S   ; ./tools/objtool/objtool x.o\n"
    assert command_of(note) == "savedcmd_x.o := gcc -c -o x.o ../x.S\n"


def test_an_object_that_does_not_compile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fragments(tmp_path / "fragments", monkeypatch)
    source = fake_source(tmp_path / "linux")
    (source / "init" / "main.c").write_text("no C\n")
    cache = Cache(tmp_path / "cache")
    with pytest.raises(BuildError, match=r"objects of Linux 6\.12\.99 do not compile"):
        compilable(spec(source, cache), ("init/main.o",), cache, Quiet())
