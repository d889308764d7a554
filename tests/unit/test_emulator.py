"""The QEMU of our own: how it is built, and how its overlays are checked."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from temper.cli import emulator
from temper.debian import source
from temper.errors import BootError, BuildError, InfraError, SeriesError
from temper.kernel import Cache
from temper.machine.qemu import overlays, own
from temper.progress import Quiet

SITES = """\
http://deb.example/debian|/usr/share/keyrings/d.gpg|bookworm|main
http://deb.example/debian|/usr/share/keyrings/d.gpg|bookworm|main
http://deb.example/security|$(SIGNED_BY)|bookworm-security|main
http://other.example/tools|$(SIGNED_BY)|stable|main
http://deb.example/debian|/usr/share/keyrings/d.gpg|bookworm|contrib
"""
PATCH = """\
--- a/words
+++ b/words
@@ -1 +1 @@
-before
+after
"""
DEPENDENCIES = """\
[meson]
meson = { accepted = ">=1.5.0", installed = "1.5.0", canary = "meson" }

[docs]
sphinx = { accepted = ">=3.4.3", installed = "5.3.0" }
"""
# An environment whose pip says what it was asked for.
PYTHON = """\
#!/bin/sh
mkdir -p "$3/bin"
{ echo '#!/bin/sh'; echo 'echo "$@" >asked; true'; } >"$3/bin/pip"
chmod +x "$3/bin/pip"
"""
CONFIGURE = '#!/bin/sh\necho "$@" >options\n'
# Answers as QEMU does, with what the patch made of the source.
NINJA = """\
#!/bin/sh
echo '[1/2] Compiling'
{ echo '#!/bin/sh'; echo "echo QEMU emulator version $(cat ../words)"; } >"$1"
chmod +x "$1"
echo '[2/2] Linking'
"""


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder whose programs come first."""
    folder = tmp_path / "bin"
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    for tool in ("flex", "bison", "pkg-config", "dpkg-source"):
        script(folder / tool, "#!/bin/sh\n")
    script(folder / "ninja", NINJA)
    return folder


@pytest.fixture
def patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the one patch that a QEMU of our own has."""
    path = tmp_path / "patches" / "0001-words.patch"
    path.parent.mkdir()
    path.write_text(PATCH)
    monkeypatch.setattr(own, "PATCHES", path.parent)
    return path


@pytest.fixture
def sources(programs: Path, patch: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have sources unpacked from nowhere; return which ones were."""
    asked = []

    def unpack(name: str, suite: str, _cache: Cache, work: Path) -> Path:
        asked.append(f"{name} of {suite}")
        tree = work / "source"
        script(tree / "configure", CONFIGURE)
        (tree / "words").write_text("before\n")
        (tree / "pythondeps.toml").write_text(DEPENDENCIES)
        return tree

    monkeypatch.setattr(own, "unpack_source", unpack)
    monkeypatch.setattr("sys.executable", str(script(programs / "python", PYTHON)))
    return asked


def built(tmp_path: Path) -> own.OwnQemu:
    return own.own_qemu(Cache(tmp_path / "cache"), Quiet())


def test_it_is_debians_source_with_our_patches(
    tmp_path: Path, sources: list[str]
) -> None:
    qemu = built(tmp_path)
    assert sources == ["qemu of trixie"]
    assert qemu.version == "after"
    assert qemu.patches == ("0001-words.patch",)
    assert qemu.built


def test_it_is_known_whether_it_is_built(tmp_path: Path, sources: list[str]) -> None:
    assert not own.is_built(Cache(tmp_path / "cache"))
    built(tmp_path)
    assert own.is_built(Cache(tmp_path / "cache"))


def test_it_is_built_once(tmp_path: Path, sources: list[str]) -> None:
    first, second = built(tmp_path), built(tmp_path)
    assert sources == ["qemu of trixie"]
    assert (second.built, second.program) == (False, first.program)


def test_another_patch_is_another_qemu(
    tmp_path: Path, sources: list[str], patch: Path
) -> None:
    built(tmp_path)
    patch.write_text(PATCH.replace("after", "later"))
    assert built(tmp_path).version == "later"


def test_a_patch_that_does_not_fit_is_named(
    tmp_path: Path, sources: list[str], patch: Path
) -> None:
    patch.write_text(PATCH.replace("-before", "-else"))
    with pytest.raises(SeriesError, match="0001-words"):
        built(tmp_path)


@pytest.mark.parametrize(
    ("tool", "message"), [("configure", "configured"), ("ninja", "does not build")]
)
def test_a_build_that_fails_says_its_last_lines(
    tool: str,
    message: str,
    tmp_path: Path,
    programs: Path,
    sources: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = "#!/bin/sh\necho that went wrong\nexit 1\n"
    if tool == "ninja":
        script(programs / tool, broken)
    else:
        monkeypatch.setattr(f"{__name__}.CONFIGURE", broken)
    with pytest.raises(BuildError, match=f"(?s){message}.*that went wrong"):
        built(tmp_path)


def test_it_has_the_meson_that_qemu_wants(tmp_path: Path, sources: list[str]) -> None:
    tree = own.patched_source(Cache(tmp_path / "cache"), tmp_path, Quiet())
    wheels = tree / "python" / "wheels"
    assert (tree / "asked").read_text() == (
        f"download --no-deps --quiet --dest {wheels} meson==1.5.0\n"
    )


def test_without_a_network_it_says_what_cannot_be_fetched(
    tmp_path: Path, sources: list[str]
) -> None:
    script(tmp_path / "bin" / "python", PYTHON.replace("true", "exit 1"))
    with pytest.raises(InfraError, match=r"meson==1\.5\.0 cannot be fetched"):
        built(tmp_path)


def test_what_the_build_needs_is_missed_before_anything_is_fetched(
    tmp_path: Path, sources: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "_TOOLS", ("gcc", "no-such-tool"))
    with pytest.raises(InfraError, match="'no-such-tool' is missing"):
        built(tmp_path)
    assert sources == []


def release(codename: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "os-release"
    path.write_text(f'ID=debian\nVERSION_CODENAME="{codename}"\n')
    monkeypatch.setattr(source, "_RELEASE", path)


def test_sources_come_from_the_sites_of_the_hosts_own_suite(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(programs / "apt-get", f"#!/bin/sh\ncat <<'END'\n{SITES}END\n")
    release("bookworm", tmp_path, monkeypatch)
    assert source.source_lines("trixie") == (
        "deb-src [signed-by=/usr/share/keyrings/d.gpg] "
        "http://deb.example/debian trixie main\n"
    )


def test_a_host_without_debians_sites_says_so(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(programs / "apt-get", f"#!/bin/sh\ncat <<'END'\n{SITES}END\n")
    release("noble", tmp_path, monkeypatch)
    with pytest.raises(InfraError, match="no site of Debian noble"):
        source.source_lines("trixie")


def test_a_source_that_cannot_be_fetched_blames_the_hosts_own_sites(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = f"""#!/bin/sh
case $1 in indextargets) cat <<'END'
{SITES}END
;; *) echo 'Err: no network'; exit 100;; esac
"""
    script(programs / "apt-get", fails)
    release("bookworm", tmp_path, monkeypatch)
    with pytest.raises(InfraError) as caught:
        source.unpack_source("qemu", "trixie", Cache(tmp_path / "cache"), tmp_path)
    assert caught.value.hint.startswith("check the network and /etc/apt,")


def checked(programs: Path, said: str) -> overlays.OverlayCheck:
    script(programs / "aarch64-linux-gnu-gcc", "#!/bin/sh\n")
    qemu = script(programs / "qemu", f"#!/bin/sh\nprintf '{said}'\n")
    return overlays.check_overlays(qemu)


def test_a_check_tells_what_differs(programs: Path) -> None:
    found = checked(programs, "load, page: differs\\n1204 accesses, 1 differ\\n")
    assert (found.tries, found.differences) == (1204, 1)
    assert found.shown == ("load, page: differs",)


@pytest.mark.parametrize("said", ["", "load, page: differs\\n", "12 accesses, 0 di"])
def test_a_check_that_does_not_end_is_no_success(said: str, programs: Path) -> None:
    with pytest.raises(BootError, match="did not end"):
        checked(programs, said)


@pytest.mark.parametrize("differences", [0, 2])
def test_the_command_fails_if_an_access_differs(
    differences: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qemu = own.OwnQemu(tmp_path / "qemu", "10.0.13", ("0001-words.patch",), True)
    found = overlays.OverlayCheck(1204, differences, ("load: differs",))
    monkeypatch.setattr(emulator, "own_qemu", lambda *_: qemu)
    monkeypatch.setattr(emulator, "check_overlays", lambda _program: found)
    result = CliRunner().invoke(emulator.app, [])
    assert result.exit_code == bool(differences)
    assert f"1,204 accesses: {differences} did not do" in result.output
    assert "QEMU 10.0.13, with 0001-words.patch" in result.output
    assert "load: differs" in result.output
