"""Programs for the target out of Debian's packages."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from temper.arch import arch_named
from temper.debian import Apt, apt_for, plan_headers, ready_headers, root
from temper.digest import file_digest
from temper.errors import InfraError, InputError
from temper.kernel import Cache
from temper.progress import Quiet
from temper.record.plan import Package, Root

ARCH = arch_named("x86_64")
LIBRARY = Path("usr/lib/x86_64-linux-gnu")
SAY = """\
#!/bin/sh
echo "with $APT_CONFIG: $@" >>{log}
{body}
"""


class FakeApt:
    """Stands in for apt-get: it knows the packages in a folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.pool = folder / "pool"
        self.pool.mkdir(parents=True)
        self.log.touch()
        monkeypatch.setenv("PATH", str(folder / "bin"), prepend=os.pathsep)
        (folder / "bin").mkdir()
        self.answers(
            f'case "$1" in download) cp {self.pool}/*.deb .;; '
            f"install) cat {folder}/uris;; esac"
        )

    def answers(self, body: str) -> None:
        path = self.folder / "bin" / "apt-get"
        path.write_text(SAY.format(log=self.log, body=body))
        path.chmod(0o755)

    def add(self, name: str, version: str, tree: Path) -> Package:
        control = tree / "DEBIAN" / "control"
        control.parent.mkdir(parents=True)
        control.write_text(
            f"Package: {name}\nVersion: {version}\nArchitecture: amd64\n"
            "Maintainer: nobody <nobody@localhost>\nDescription: made up\n"
        )
        file = self.pool / f"{name}_{version.replace(':', '%3a')}_amd64.deb"
        subprocess.run(
            ["dpkg-deb", "--build", tree, file], check=True, capture_output=True
        )
        package = Package(name=name, version=version, digest=file_digest(file))
        with (self.folder / "uris").open("a") as uris:
            uris.write(f"'nowhere/x.deb' {file.name} 1 SHA256:{package.digest}\n")
        return package


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApt:
    return FakeApt(tmp_path / "fake", monkeypatch)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def program(tree: Path, libraries: Path) -> None:
    """Put a program into a tree, and the library that it needs into another."""
    # As in Debian 12, in a folder that is a link where it is installed.
    (tree / "lib").mkdir(parents=True)
    (tree / "lib/readme").touch()
    libraries.joinpath(LIBRARY).mkdir(parents=True)
    (tree / "usr/bin").mkdir(parents=True)
    made = libraries / LIBRARY / "libanswer.so.1.0"
    _compile(
        "int answer(void) { return 42; }", made, "-shared", "-Wl,-soname,libanswer.so.1"
    )
    # As packages have it; the program itself is an absolute link.
    (libraries / LIBRARY / "libanswer.so.1").symlink_to("libanswer.so.1.0")
    _compile(
        "int answer(void); int main(void) { return answer() != 42; }",
        tree / "usr/bin/ask-1",
        made,
        "-nostdlib",
        "-Wl,--unresolved-symbols=ignore-all",
    )
    (tree / "usr/bin/ask").symlink_to("/usr/bin/ask-1")


def _compile(code: str, output: Path, *options: str | Path) -> None:
    command = [
        "gcc",
        "-xc",
        "-",
        "-xnone",
        "-nostdlib",
        "-fPIC",
        *options,
        "-o",
        output,
    ]
    subprocess.run(command, input=code, text=True, check=True, capture_output=True)


@pytest.fixture
def planned(fake: FakeApt, tmp_path: Path) -> Root:
    one, other = tmp_path / "ask", tmp_path / "answer"
    program(one, other)
    loader = other / "usr" / "lib64" / "ld-linux-x86-64.so.2"
    # Packages since Debian 13 have no /lib64, which programs ask for.
    loader.parent.mkdir()
    shutil.copy(other / LIBRARY / "libanswer.so.1.0", loader)
    (other / "etc/answer").mkdir(parents=True)
    (other / "etc/answer/conf").write_text("42\n")
    packages = (fake.add("ask", "1:2.0-1", one), fake.add("answer", "3-1", other))
    return Root(packages=packages, programs=("/usr/bin/ask",), files=("/etc/ans*",))


def files(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}


def test_packages_are_resolved_by_name_and_version(planned: Root, cache: Cache) -> None:
    found = apt_for(ARCH, cache).resolve(["ask"])
    assert found == tuple(sorted(planned.packages, key=lambda each: each.name))
    assert {each.version for each in found} == {"1:2.0-1", "3-1"}


def test_lists_are_fetched_once_a_day(
    planned: Root, fake: FakeApt, cache: Cache
) -> None:
    apt = apt_for(ARCH, cache)
    for _ in range(2):
        apt.resolve(["ask"])
    # Without it apt-get would take old lists for a success.
    assert fake.log.read_text().count("update --quiet=2 --error-on=any") == 1
    os.utime(apt.folder / "fresh", (0, 0))
    apt.resolve(["ask"])
    assert fake.log.read_text().count("update") == 2


def test_the_hosts_hooks_are_not_ours(planned: Root, cache: Cache) -> None:
    apt = apt_for(ARCH, cache)
    apt.resolve(["ask"])
    ours = (apt.folder / "apt.conf").read_text()
    assert "Invoke" not in ours
    assert f'Dir::State "{apt.folder}/state";' in ours
    assert 'APT::Architecture "amd64";' in ours
    assert 'APT::Install-Recommends "false";' in ours


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("deb http://nowhere old main\n", "chosen.list"),
        ("# Old.\nTypes: deb\nURIs: http://nowhere\n", "chosen.sources"),
    ],
)
def test_sources_that_the_user_chose_replace_the_hosts(
    text: str, name: str, planned: Root, cache: Cache
) -> None:
    usual, apt = apt_for(ARCH, cache), apt_for(ARCH, cache, text)
    assert apt.folder != usual.folder
    for each in (usual, apt):
        each.resolve(["ask"])
    assert (apt.folder / name).read_text() == text
    ours = (apt.folder / "apt.conf").read_text()
    assert f'Dir::Etc::sourcelist "{apt.folder}/{name}";' in ours
    assert 'Dir::Etc::sourceparts "/dev/null";' in ours
    assert "sourcelist" not in (usual.folder / "apt.conf").read_text()


def test_a_program_known_by_a_pattern_is_where_commands_find_it(
    planned: Root, cache: Cache
) -> None:
    chosen = planned.model_copy(update={"programs": ("/usr/*/ask-1",), "files": ()})
    found = files(root(chosen, ARCH, cache, Quiet()))
    assert "programs/ask-1" in found
    assert "lib/x86_64-linux-gnu/libanswer.so.1" in found
    for pattern, why in (
        ("/usr/*/nosuch", "none of the packages has"),
        ("/usr/lib/*/libanswer.so*", "is more than one program"),
    ):
        wrong = planned.model_copy(update={"programs": (pattern,)})
        with pytest.raises(InputError, match=why):
            root(wrong, ARCH, cache, Quiet())


def test_what_a_file_loads_comes_as_well(planned: Root, cache: Cache) -> None:
    """A server's plug-ins are not programs, but need libraries."""
    chosen = planned.model_copy(
        update={"programs": (), "files": ("/usr/bin/ask-1", "/etc/answer/conf")}
    )
    assert "lib/x86_64-linux-gnu/libanswer.so.1" in files(
        root(chosen, ARCH, cache, Quiet())
    )


def test_packages_are_fetched_from_where_they_were_found(
    planned: Root, fake: FakeApt, cache: Cache
) -> None:
    chosen = planned.model_copy(update={"sources": "deb http://nowhere old main\n"})
    apt_for(ARCH, cache, chosen.sources).resolve(["ask"])
    root(chosen, ARCH, cache, Quiet())
    folder = apt_for(ARCH, cache, chosen.sources).folder
    assert f"with {folder}/apt.conf: download" in fake.log.read_text()


def test_the_root_has_the_program_and_what_it_loads(
    planned: Root, cache: Cache
) -> None:
    tree = root(planned, ARCH, cache, Quiet())
    assert files(tree) == {
        "usr/bin/ask",
        "lib64/ld-linux-x86-64.so.2",
        "lib/x86_64-linux-gnu/libanswer.so.1",
        "etc/answer/conf",
    }
    # Links lead nowhere in an initramfs that lacks what they lead to.
    assert not any(path.is_symlink() for path in tree.rglob("*"))


def test_it_is_made_once(planned: Root, fake: FakeApt, cache: Cache) -> None:
    for _ in range(2):
        root(planned, ARCH, cache, Quiet())
    # Those versions and no others.
    assert fake.log.read_text().count("download --quiet=2 ask=1:2.0-1 answer=3-1") == 1


def test_other_versions_make_another(planned: Root, cache: Cache) -> None:
    other = planned.packages[0].model_copy(update={"version": "9"})
    changed = planned.model_copy(update={"packages": (other, *planned.packages[1:])})
    assert root(planned, ARCH, cache, Quiet()) != root(changed, ARCH, cache, Quiet())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"programs": ("/usr/bin/nosuch",)},
            "none of the packages has /usr/bin/nosuch",
        ),
        ({"files": ("/etc/nosuch*",)}, "none of the packages has /etc/nosuch*"),
    ],
)
def test_what_no_package_has_is_named(
    changes: dict[str, tuple[str, ...]], message: str, planned: Root, cache: Cache
) -> None:
    with pytest.raises(InputError) as caught:
        root(planned.model_copy(update=changes), ARCH, cache, Quiet())
    assert caught.value.message == message


def test_a_library_that_no_package_has_is_named(
    planned: Root, fake: FakeApt, cache: Cache
) -> None:
    (fake.pool / "answer_3-1_amd64.deb").unlink()
    alone = planned.model_copy(update={"packages": planned.packages[:1], "files": ()})
    with pytest.raises(InputError, match=r"which none of the packages has"):
        root(alone, ARCH, cache, Quiet())
    assert not list((cache.root / "roots").glob("*"))


def test_an_archive_that_is_not_the_planned_one_is_refused(
    planned: Root, cache: Cache
) -> None:
    forged = planned.packages[0].model_copy(update={"digest": "0" * 64})
    changed = planned.model_copy(update={"packages": (forged, *planned.packages[1:])})
    with pytest.raises(InputError) as caught:
        root(changed, ARCH, cache, Quiet())
    assert "ask 1:2.0-1 is no longer the package" in caught.value.message
    assert caught.value.hint == "start a new run"


@pytest.mark.parametrize(
    "said",
    [
        "E: Unable to locate package nosuch",
        "E: Version '1' for 'nosuch' was not found",
        "E: Package 'nosuch' has no installation candidate",
    ],
)
def test_an_unknown_package_is_named(said: str, fake: FakeApt, cache: Cache) -> None:
    fake.answers(f'[ "$1" = update ] || {{ echo "{said}" >&2; exit 100; }}')
    with pytest.raises(InputError) as caught:
        apt_for(ARCH, cache).resolve(["nosuch"])
    assert caught.value.message == "Debian has no package nosuch for x86_64"
    # Perhaps only the lists are old.
    assert not (cache.root / "apt" / "amd64" / "fresh").exists()


def test_lists_that_cannot_be_fetched_are_a_fault_of_the_host(
    fake: FakeApt, cache: Cache
) -> None:
    fake.answers("echo 'E: Failed to fetch nowhere'; exit 100")
    apt = apt_for(ARCH, cache)
    with pytest.raises(InfraError) as caught:
        apt.resolve(["ask"])
    assert "E: Failed to fetch nowhere" in caught.value.message
    assert "apt-get update" in caught.value.hint
    assert not (apt.folder / "fresh").exists()


def test_without_apt_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InfraError, match="the program 'apt-config' is missing"):
        Apt(replace(ARCH), tmp_path / "apt").resolve(["ask"])


RELEASE = "6.12.1+deb12-amd64"
HEADERS = {
    f"linux-headers-{RELEASE}": f"usr/src/linux-headers-{RELEASE}/.config",
    "linux-headers-6.12.1+deb12-common": "usr/src/linux-headers-6.12.1-common/Makefile",
    "linux-kbuild-6.12.1+deb12": "usr/lib/linux-kbuild-6.12.1/scripts/mod/modpost",
}
SHOWN = f"""\
Package: linux-headers-{RELEASE}
Depends: linux-base, linux-headers-6.12.1+deb12-common (= 6.12.1-1), \
linux-image-a (= 1) | linux-image-b (= 1), linux-kbuild-6.12.1+deb12, gcc-12
"""


@pytest.fixture
def served(fake: FakeApt, tmp_path: Path) -> FakeApt:
    """Serve a kernel's headers: apt gives those packages that it is asked for."""
    for name, file in HEADERS.items():
        path = tmp_path / name / file
        path.parent.mkdir(parents=True)
        path.write_text(name)
        fake.add(name, "6.12.1-1", tmp_path / name)
    fake.answers(
        'case "$1" in download) for name; do '
        f"file={fake.pool}/${{name%=*}}_6.12.1-1_amd64.deb; "
        '[ -f "$file" ] || continue; '
        'if [ "$2" = --print-uris ]; then '
        f'grep "/x.deb. ${{name}}_" {fake.folder}/uris; '
        'else cp "$file" .; fi; done;; esac'
    )
    show = fake.folder / "bin" / "apt-cache"
    (fake.folder / "shown").write_text(SHOWN)
    show.write_text(f"#!/bin/sh\ncat {fake.folder}/shown\n")
    show.chmod(0o755)
    return fake


def test_headers_are_found_by_what_their_package_depends_on(
    served: FakeApt, cache: Cache
) -> None:
    found = plan_headers(RELEASE, ARCH, cache)
    assert [each.name for each in (*found.packages, *found.tools)] == list(HEADERS)
    assert "install" not in served.log.read_text()


def test_headers_are_unpacked_into_one_tree(served: FakeApt, cache: Cache) -> None:
    planned = plan_headers(RELEASE, ARCH, cache)
    ready = ready_headers(planned, ARCH, cache, Quiet())
    assert files(ready.root) == set(HEADERS.values())
    common, words = ready.ready(cache.root)
    assert (common / "Makefile").is_file()
    assert words[0] == f"O={ready.root}/usr/src/linux-headers-{RELEASE}"
    assert served.log.read_text().count("download --quiet=2") == 2


def test_a_kernel_without_headers_is_named(served: FakeApt, cache: Cache) -> None:
    (served.folder / "shown").write_text("N: Unable to locate package\n")
    with pytest.raises(InputError, match=r"Debian has no package linux-headers-6\.12"):
        plan_headers(RELEASE, ARCH, cache)
    (served.folder / "shown").write_text("Depends: linux-base\n")
    with pytest.raises(InputError, match="depends on no package like"):
        plan_headers(RELEASE, ARCH, cache)


@pytest.mark.parametrize(
    ("sources", "place"),
    [("", "/etc/apt"), ("deb http://nowhere bookworm main", "the file of --packages")],
)
def test_what_names_the_sources_is_to_be_checked(
    sources: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeApt(tmp_path / "fake", monkeypatch).answers("exit 100")
    with pytest.raises(InfraError) as caught:
        apt_for(ARCH, Cache(tmp_path / "cache"), sources).resolve(["ask"])
    assert caught.value.hint.startswith(f"check the network and {place}, ")
