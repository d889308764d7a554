"""Image files of kernels: whose architecture they are, and how they are packed."""

import lzma
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from temper.arch import ARCHES, Arch
from temper.errors import InputError
from temper.process import call

_HEAD = 4096
"""Bytes at the start of a file, which tell what it is."""

_GZIP = b"\x1f\x8b\x08"
_ZBOOT = b"zimg"
"""At byte 4 of an EFI program that holds a compressed image."""

_TIMEOUT = 300.0


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, /) -> bytes: ...


_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "lzma": lzma.LZMADecompressor,
    "xz": lzma.LZMADecompressor,
}


def image_arch(file: Path) -> Arch | None:
    """Return the architecture of the kernel in ``file``; None: it is no image.

    A compressed image counts. Raises OSError if the file cannot be read.
    """
    head = _head(file)
    for arch in ARCHES.values():
        for form in arch.magic:
            if all(head.startswith(word, offset) for offset, word in form):
                return arch
    return None


def check_image(file: Path, arch: Arch, name: str) -> None:
    """Raise InputError if ``file`` is not an image of a kernel for ``arch``.

    ``name``: what to call it in messages. Raises OSError if it cannot be read.
    """
    found = image_arch(file)
    if found is None:
        raise InputError(
            f"{name} is not a kernel for {arch.name}", f"use {arch.images}"
        )
    if found != arch:
        raise InputError(
            f"{name} is a kernel for {found.name}, not for {arch.name}",
            f"--arch {found.name}",
        )


def is_packed(file: Path) -> bool:
    """Return whether the image ``file`` must be unpacked before QEMU boots it."""
    with file.open("rb") as opened:
        start = opened.read(8)
    return start.startswith(_GZIP) or start[4:] == _ZBOOT


def unpack_image(file: Path, result: Path, work: Path, name: str) -> None:
    """Write what the packed image ``file`` contains to ``result``.

    ``work`` is a folder for scratch files, ``name`` what to call ``file`` in messages.
    Raises InputError if the file is damaged
    or compressed by a program that Temper does not know, InfraError if that program
    is missing.
    """
    data = file.read_bytes()
    method, payload = ("gzip", data)
    if not data.startswith(_GZIP):
        method, payload = _zboot_payload(data)
    if method == "zstd":
        _unzstd(name, payload, result, work)
    elif method in _DECOMPRESSORS:
        result.write_bytes(_decompressed(name, method, payload))
    else:
        raise InputError(
            f"{name} is compressed by {method or 'nothing known'}, which Temper cannot "
            "unpack",
            "give the Image that it was made of",
        )


def _head(file: Path) -> bytes:
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    if not head.startswith(_GZIP):
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    except zlib.error:
        return b""


def _zboot_payload(data: bytes) -> tuple[str, bytes]:
    """Return how the image in an EFI program is compressed, and the image."""
    offset, size = struct.unpack_from("<II", data, 8)
    method = data[24:56].split(b"\0")[0].decode("ascii", "replace")
    return method, data[offset : offset + size]


def _decompressed(name: str, method: str, payload: bytes) -> bytes:
    decompressor = _DECOMPRESSORS[method]()
    try:
        image = decompressor.decompress(payload)
    except (zlib.error, lzma.LZMAError) as error:
        raise _damaged(name) from error
    if not decompressor.eof:
        raise _damaged(name)
    return image


def _unzstd(name: str, payload: bytes, result: Path, work: Path) -> None:
    packed = work / "image.zst"
    packed.write_bytes(payload)
    command = ("zstd", "--quiet", "--decompress", "--force", packed, "-o", result)
    if call(command, work, _TIMEOUT).status:
        raise _damaged(name)


def _damaged(name: str) -> InputError:
    return InputError(
        f"{name} cannot be unpacked: it is truncated or damaged",
        "copy or download it again",
    )
