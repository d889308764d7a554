"""The modules of attacks build without a warning, by the kernel's stricter rules."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from lab import kernel_of

from temper.catalog import feature_named, feature_names
from temper.kernel import Kernel, module_files
from temper.options import OPTIONS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

KBUILD = "obj-m := {name}.o\n"


FEATURES = [feature_named(name) for name in feature_names()]
MODULES = sorted(
    {
        feature.folder / "proof" / f"{program.module}.c"
        for feature in FEATURES
        for program in feature.target_programs
        if program.module
    }
    | {OPTIONS / "modules" / "probe"}
)


def call(*command: str | Path, cwd: Path) -> str:
    """Run a program; return what it says on standard error."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def warnings(kernel: Kernel, source: Path, work: Path) -> str:
    """Build a module with W=1 against the kernel's headers; return complaints."""
    devel, folder = work / "devel", work / "module"
    devel.mkdir()
    folder.mkdir()
    for file in module_files(source):
        shutil.copy(file, folder)
    if not source.is_dir():
        (folder / "Kbuild").write_text(KBUILD.format(name=source.stem))
    call("tar", "-xzf", kernel.devel, cwd=devel)
    arch = f"ARCH={kernel.arch.kernel_arch}"
    said = call("make", f"M={folder}", arch, "W=1", "modules", cwd=devel)
    assert (folder / f"{source.stem}.ko").is_file()
    return said


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return kernel_of(feature_named("kstack"), "stock")


@pytest.mark.parametrize("source", MODULES, ids=lambda path: f"{path.name}")
def test_modules_build_without_a_warning(
    source: Path, kernel: Kernel, tmp_path: Path
) -> None:
    assert warnings(kernel, source, tmp_path) == ""


def test_a_warning_is_found(kernel: Kernel, tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text(
        "#include <linux/module.h>\n"
        'MODULE_LICENSE("GPL");\n'
        'MODULE_DESCRIPTION("Bad");\n'
        "int bad(void);\n"
        "int bad(void) { int unused; return 0; }\n"
        "int undeclared(void) { return 0; }\n"
    )
    work = tmp_path / "work"
    work.mkdir()
    found = warnings(kernel, source, work)
    # The second is what W=1 adds to the usual ones.
    assert "-Wunused-variable" in found
    assert "-Wmissing-prototypes" in found
