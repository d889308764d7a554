"""Kernels that others built: an image, a Debian package, or a folder of a build."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from temper.arch import ARCHES, Arch
from temper.digest import file_digest, key_of
from temper.errors import InputError
from temper.kernel.cache import Cache, EntryFacts
from temper.kernel.config import Options, parse_config
from temper.kernel.image import check_image, image_arch, is_packed, unpack_image
from temper.kernel.package import (
    BOOT,
    check_package,
    is_package,
    read_package,
    unpack_boot,
)
from temper.progress import Progress

RECIPE = 1
"""Raise it if a change to this file changes what is unpacked."""

_IMAGE = "image"
_CONFIG = "config"
_COMPILER = re.compile(r'^CONFIG_CC_VERSION_TEXT="(.*)"$', re.MULTILINE)
_SHOWN = 5

_NO_IMAGE_IN_PACKAGE = "the package of a kernel is called linux-image-VERSION"
_NO_IMAGE_IN_FOLDER = "give the folder of a build, or the one with the image"


@dataclass(frozen=True)
class Given:
    """What a user gave, looked at but not unpacked."""

    file: Path
    """An image or a package."""
    digest: str
    """SHA-256 of ``file``."""
    package: str = ""
    """Name and version of the package; empty: ``file`` is an image."""
    config: Path | None = None
    """Its configuration, which goes before one that is packed; None: unknown."""


@dataclass(frozen=True)
class Image:
    """An image that QEMU boots, and what is known about it."""

    path: Path
    name: str = ""
    """Its name in what it was unpacked from; empty: it was not packed."""
    digest: str = ""
    """SHA-256 of ``path`` if it was packed."""
    config_hash: str = ""
    """SHA-256 of its configuration; empty: unknown."""
    compiler: str = ""
    """According to its configuration; empty: unknown."""
    options: Options | None = None
    """Those of its configuration; None: unknown."""


def find_given(path: Path, arch: Arch) -> Given:
    """Find the kernel in what a user gave, without unpacking anything.

    ``path`` is an image, a package, the folder of a build, the folder of an unpacked
    package, or any folder with exactly one image. Raises InputError if there is no
    kernel for ``arch``, or more than one.
    """
    try:
        if path.is_dir():
            return _in_folder(path, arch)
        if is_package(path):
            package = read_package(path)
            check_package(path, package, arch)
            return _given(path, package.title)
        check_image(path, arch, str(path))
        return _given(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def ready_image(given: Given, arch: Arch, cache: Cache, progress: Progress) -> Image:
    """Return the image of ``given`` as QEMU boots it.

    What is packed is unpacked once, into the cache. Raises InputError if it is damaged
    or has no image, or more than one.
    """
    if not (given.package or is_packed(given.file)):
        return _described(given.file, given.config)

    def make(result: Path, work: Path) -> EntryFacts:
        with progress.task(f"Unpacking {given.file.name}"):
            return _unpack(given, arch, result, work)

    key = key_of({"recipe": RECIPE, "given": given.digest})
    title = f"the kernel in {given.file.name}"
    entry = cache.entry("images", key, title, make, progress)
    config = entry.folder / _CONFIG
    return _described(
        entry.folder / _IMAGE,
        given.config or _existing(config),
        entry.facts["name"],
        entry.facts["digest"],
    )


def _given(file: Path, package: str = "", config: Path | None = None) -> Given:
    return Given(file, file_digest(file), package, config)


def _unpack(given: Given, arch: Arch, result: Path, work: Path) -> EntryFacts:
    packed, name, title = given.file, given.file.name, str(given.file)
    if given.package:
        boot = unpack_boot(given.file, work)
        packed = _only_image(boot, title, _NO_IMAGE_IN_PACKAGE)
        name = f"{BOOT}/{packed.name}"
        title = f"{given.file}: {name}"
        if config := _config_beside(packed):
            shutil.copy(config, result / _CONFIG)
    image = result / _IMAGE
    if is_packed(packed):
        unpack_image(packed, image, work, title)
    else:
        shutil.copy(packed, image)
    check_image(image, arch, title)
    return {"name": name, "digest": file_digest(image)}


def _described(
    path: Path, config: Path | None, name: str = "", digest: str = ""
) -> Image:
    if config is None:
        return Image(path, name, digest)
    text = config.read_text(encoding="utf-8", errors="replace")
    found = _COMPILER.search(text)
    compiler = found[1] if found else ""
    return Image(path, name, digest, file_digest(config), compiler, parse_config(text))


def _in_folder(folder: Path, arch: Arch) -> Given:
    for built in (arch, *ARCHES.values()):
        image = folder / built.image
        if image.is_file():
            check_image(image, arch, str(image))
            return _given(image, config=_existing(folder / ".config"))
    if (folder / "Kbuild").is_file():
        raise InputError(
            f"{folder} is a kernel's source without {arch.image}",
            f"build it first: make {arch.image_target}",
        )
    boot = folder / BOOT
    within = boot if boot.is_dir() else folder
    image = _only_image(within, str(folder), _NO_IMAGE_IN_FOLDER)
    check_image(image, arch, str(image))
    return _given(image, config=_config_beside(image))


def _only_image(folder: Path, what: str, hint: str) -> Path:
    """Return the only image in ``folder``, which is ``what`` in messages.

    ``hint``: the way out if there is none.
    """
    images = [path for path in sorted(folder.iterdir()) if _is_image(path)]
    if not images:
        raise InputError(f"{what} has no kernel image", hint)
    if len(images) > 1:
        names = [path.name for path in images]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        raise InputError(
            f"{what} has {len(names)} kernel images: {', '.join(names[:_SHOWN])}{more}",
            "give one of them",
        )
    return images[0]


def _is_image(path: Path) -> bool:
    # A link is another name of an image. Other programs have the format of a vmlinux.
    if path.is_symlink() or not path.is_file() or image_arch(path) is None:
        return False
    with path.open("rb") as file:
        is_elf = file.read(4) == b"\x7fELF"
    return not is_elf or path.name.startswith("vmlinu")


def _config_beside(image: Path) -> Path | None:
    """Return config-VERSION for vmlinuz-VERSION, or else config or .config."""
    _, dash, version = image.name.partition("-")
    names = [f"config-{version}"] if dash else ["config", ".config"]
    found = (_existing(image.with_name(name)) for name in names)
    return next(filter(None, found), None)


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None
