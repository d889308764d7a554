"""Packs a target's job and files as an initramfs."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from temper.errors import InfraError
from temper.process import SCRATCH_FULL_HINT, call

_TIMEOUT = 120.0
_PAGE = 4096


def pack(
    job: list[str],
    files: list[Path],
    work: Path,
    *,
    trees: Sequence[Path] = (),
    texts: Mapping[str, str] = MappingProxyType({}),
    spacer: int = 0,
) -> Path:
    """Make an initramfs of ``files`` and the lines of a job, in ``work``.

    The files in ``trees`` keep their path there. ``texts``: path -> what the file there
    says. ``spacer``: pages of a file that takes memory and does nothing else. The same
    contents give the same bytes.
    """
    root = work / "root"
    root.mkdir()
    if spacer:
        (root / "spacer").write_bytes(bytes(spacer * _PAGE))
    for name, text in {**texts, "job": "\n".join(job) + "\n"}.items():
        _make_folders(root / name)
        (root / name).write_text(text, encoding="utf-8")
        (root / name).chmod(0o644)
    for tree in trees:
        for path in filter(Path.is_file, tree.rglob("*")):
            _put(path, root / path.relative_to(tree))
    return _packed(root, files, work / "initramfs")


def pack_for_kexec(image: Path, files: list[Path], work: Path) -> Path:
    """Make an initramfs of ``files``, in ``work``, from which a kernel can kexec.

    It also has the kernel image, as ``/kernel``, and an initramfs without those two,
    as ``/initramfs``.
    """
    inner, outer, kernel = work / "inner", work / "outer", work / "kernel"
    inner.mkdir()
    outer.mkdir()
    kernel.symlink_to(image)
    initramfs = _packed(inner, files, inner.parent / "initramfs")
    return _packed(outer, [*files, kernel, initramfs], work / "initramfs-kexec")


def _packed(root: Path, files: Sequence[Path], archive: Path) -> Path:
    """Pack what is in ``root`` and the files as ``archive``."""
    for path in files:
        _put(path, root / path.name)
    # Sorted, so that folders come before their contents.
    packed = sorted(root.rglob("*"))
    names = [str(path.relative_to(root)) for path in packed]
    for path in (*packed, root):
        os.utime(path, (0, 0))
    listing = archive.with_suffix(".listing")
    listing.write_text("".join(f"{name}\n" for name in names))
    options = ("-o", "-H", "newc", "--reproducible", "-R", "0:0")
    command: tuple[str | Path, ...] = ("cpio", *options, "-F", archive)
    with listing.open("rb") as stdin:
        done = call(command, root, _TIMEOUT, stdin=stdin, full_hint=SCRATCH_FULL_HINT)
    if done.status:
        raise InfraError(f"cpio failed with status {done.status}: {done.tail(1)}")
    return archive


def _put(path: Path, place: Path) -> None:
    _make_folders(place)
    shutil.copy(path, place)
    place.chmod(0o755)


def _make_folders(place: Path) -> None:
    for folder in reversed(place.parents):
        if not folder.exists():
            folder.mkdir()
            folder.chmod(0o755)
