# SPDX-License-Identifier: MIT OR Apache-2.0
"""The sources of random bytes to compare, and what each needs."""

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vgetrandom_bench.builds import Built

VDSO = "raw vDSO"
SYSTEM_CALL = "system call"
HOST_LIBC = "host libc"
GLIBC = "glibc 2.41"
LIBRARY = "vgetrandom"
STATIC = "vgetrandom, static"
LTO = "vgetrandom, LTO"
"""Linked statically, and inlined into the program by the linker."""
BATCH = "batch"
STATIC_BATCH = "batch, static"
LTO_BATCH = "batch, LTO"
CEILING = "ChaCha20"
FLOOR = "vDSO, wrapped"
"""The vDSO function behind a function of a shared library that does nothing else."""
FLOOR_LTO = "vDSO, wrapped, LTO"
MARKED = "vDSO, marked"
"""The same with a mark that the state is busy, since a signal handler may draw, too."""
MARKED_LTO = "vDSO, marked, LTO"
FLOOR_BATCH = "bare buffer"
"""Numbers of a buffer, erased, without what makes that safe."""
FLOOR_LTO_BATCH = "bare buffer, LTO"
MARKED_BATCH = "buffer, marked"
"""The same with such a mark, and one that the kernel has not dropped the buffer."""
MARKED_LTO_BATCH = "buffer, marked, LTO"
GO_CHACHA8 = "Go math/rand/v2"
THREAD_RNG = "Rust ThreadRng"

SIMD = {
    "x86_64": ("avx512", "avx2", "sse2"),
    "aarch64": ("neon",),
}
"""The vector instructions that the library knows, by machine, widest first."""


@dataclass(frozen=True)
class RandomPath:
    """One source of random bytes, with the worker that times it."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""
    """Why it cannot be run here, and how to get it; empty: it can."""


def random_paths(built: Built) -> list[RandomPath]:
    """Return all paths in the order of the tables, including missing ones."""
    simd = SIMD.get(platform.machine(), ())
    return [
        _in_c(built, VDSO, "vdso"),
        _in_c(built, SYSTEM_CALL, "syscall"),
        _in_c(built, HOST_LIBC, "libc"),
        _glibc(built),
        _in_c(built, "musl", "libc_musl", package="musl-tools"),
        _in_c(built, LIBRARY, "pass_through"),
        _in_c(built, STATIC, "pass_through_static"),
        _in_c(built, LTO, "pass_through_lto"),
        *_by_simd(built, LIBRARY, "pass_through_simd", simd),
        _preloaded(built, "preload, host libc", "libc"),
        _preloaded(built, "preload, musl", "libc_musl", package="musl-tools"),
        _in_c(built, BATCH, "batch"),
        _in_c(built, STATIC_BATCH, "batch_static"),
        _in_c(built, LTO_BATCH, "batch_lto"),
        *_by_simd(built, BATCH, "batch_simd", simd),
        *_by_simd(built, CEILING, "ceiling", simd),
        _in_c(built, FLOOR, "floor_pass_through"),
        _in_c(built, FLOOR_LTO, "floor_pass_through_lto"),
        _in_c(built, MARKED, "floor_pass_through_marked"),
        _in_c(built, MARKED_LTO, "floor_pass_through_marked_lto"),
        _in_c(built, FLOOR_BATCH, "floor_batch"),
        _in_c(built, FLOOR_LTO_BATCH, "floor_batch_lto"),
        _in_c(built, MARKED_BATCH, "floor_batch_marked"),
        _in_c(built, MARKED_LTO_BATCH, "floor_batch_marked_lto"),
        *_by_simd(built, FLOOR_BATCH, "floor_batch_simd", simd),
        _in_c(built, "OpenSSL", "openssl", package="libssl-dev"),
        _in_c(built, "libsodium", "sodium", package="libsodium-dev"),
        _peer(built, "Go crypto/rand", "go", built.go, "crypto"),
        _peer(built, GO_CHACHA8, "go", built.go, "chacha8"),
        _peer(built, "Rust getrandom", "rust", built.rust, "getrandom"),
        _peer(built, THREAD_RNG, "rust", built.rust, "thread-rng"),
        _peer(built, "AWS-LC", "rust", built.rust, "aws-lc"),
    ]


def with_simd(name: str, simd: str) -> str:
    """Name the path that uses certain vector instructions: ``batch avx2``."""
    return f"{name} {simd}"


def _in_c(
    built: Built,
    name: str,
    program: str,
    *arguments: str,
    package: str = "",
    env: Mapping[str, str] | None = None,
) -> RandomPath:
    worker = built.folder / "bench" / program
    return RandomPath(
        name,
        (str(worker), *arguments),
        env or {},
        missing="" if worker.exists() else f"apt-get install {package}",
    )


def _by_simd(
    built: Built, name: str, program: str, simd: tuple[str, ...]
) -> Iterator[RandomPath]:
    for one in simd:
        yield _in_c(built, with_simd(name, one), program, one)


def _preloaded(built: Built, name: str, program: str, package: str = "") -> RandomPath:
    preload = built.folder / "libvgetrandom-preload.so"
    env = {"LD_PRELOAD": str(preload)}
    return _in_c(built, name, program, package=package, env=env)


def _glibc(built: Built) -> RandomPath:
    worker = built.folder / "bench" / "libc"
    if built.glibc is None:
        return RandomPath(GLIBC, (), missing=built.failures["glibc"])
    return RandomPath(GLIBC, built.glibc.command(worker))


def _peer(
    built: Built, name: str, language: str, program: Path, source: str
) -> RandomPath:
    return RandomPath(
        name, (str(program), source), missing=built.failures.get(language, "")
    )
