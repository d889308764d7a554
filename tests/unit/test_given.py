"""Kernels that others built, in name only: images, packages, folders of builds."""

import gzip
import lzma
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from kernels import Watcher

from temper.arch import Arch, arch_named
from temper.digest import digest
from temper.errors import InputError
from temper.kernel import Cache, Image, find_given, ready_image

X86_64 = arch_named("x86_64")
ARM64 = arch_named("arm64")

BZIMAGE = bytes(0x202) + b"HdrS" + bytes(100)
VMLINUX = b"\x7fELF" + bytes(12) + b"\2\0\x3e\0" + bytes(100)
ARM64_IMAGE = bytes(0x38) + b"ARM\x64" + bytes(5000)
CONFIG = 'CONFIG_CC_VERSION_TEXT="gcc-14 (Debian 14.2.0-19) 14.2.0"\nCONFIG_X=y\n'


def zboot(method: str, packed: bytes) -> bytes:
    """Return an EFI program for arm64 with a compressed image inside."""
    offset = 0x200
    head = b"MZ\0\0zimg" + struct.pack("<II8x", offset, len(packed)) + method.encode()
    program = head.ljust(0x40, b"\0") + b"PE\0\0\x64\xaa"
    return program.ljust(offset, b"\0") + packed + b"more"


class Bench:
    """Makes what users give."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = Cache(root / "cache")
        self.progress = Watcher()

    def file(self, name: str, content: bytes | str = BZIMAGE) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def package(
        self,
        files: dict[str, bytes | str],
        name: str = "linux-image-6.12.9-amd64",
        architecture: str = "amd64",
        depends: str = "kmod, linux-base (>= 4.3~)",
    ) -> Path:
        """Build one as Debian does."""
        for file, content in files.items():
            self.file(f"package/{file}", content)
        fields = {
            "Package": name,
            "Version": "6.12.9-1",
            "Architecture": architecture,
            "Maintainer": "T <t@example.org>",
            "Description": "a kernel",
            "Depends": depends,
        }
        lines = [f"{field}: {value}\n" for field, value in fields.items() if value]
        self.file("package/DEBIAN/control", "".join(lines))
        made = self.root / f"{name}_6.12.9-1_{architecture}.deb"
        command = ("dpkg-deb", "-Zxz", "--root-owner-group", "--build", "package", made)
        subprocess.run(
            command, cwd=self.root, check=True, capture_output=True, timeout=60
        )
        return made

    def kernel_package(self, image: bytes = BZIMAGE, **how: str) -> Path:
        return self.package(
            {
                "boot/vmlinuz-6.12.9-amd64": image,
                "boot/config-6.12.9-amd64": CONFIG,
                "boot/System.map-6.12.9-amd64": "ffffffff81000000 T _text\n",
                "lib/modules/6.12.9-amd64/kernel/x.ko": VMLINUX,
            },
            **how,
        )

    def ready(self, path: Path, arch: Arch = X86_64) -> Image:
        given = find_given(path, arch)
        return ready_image(given, arch, self.cache, self.progress)

    def refused(self, path: Path, arch: Arch = X86_64) -> tuple[str, str]:
        """Return message and hint, without the folder of the test."""
        with pytest.raises(InputError) as caught:
            self.ready(path, arch)
        message = caught.value.message.replace(f"{self.root}/", "")
        return message, caught.value.hint


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("content", [BZIMAGE, VMLINUX])
def test_an_image_is_booted_as_it_is(bench: Bench, content: bytes) -> None:
    image = bench.file("vmlinuz", content)
    assert bench.ready(image) == Image(image)
    assert bench.cache.items() == []


def test_the_image_and_its_configuration_come_out_of_a_package(bench: Bench) -> None:
    file = bench.kernel_package()
    given = find_given(file, X86_64)
    assert (given.file, given.digest) == (file, digest(file.read_bytes()))
    assert given.package == "linux-image-6.12.9-amd64 6.12.9-1"
    # Nothing is unpacked until it is needed.
    assert bench.cache.items() == []

    image = bench.ready(file)
    assert image.path.read_bytes() == BZIMAGE
    assert image.name == "boot/vmlinuz-6.12.9-amd64"
    assert image.digest == digest(BZIMAGE)
    assert image.config_hash == digest(CONFIG.encode())
    assert image.compiler == "gcc-14 (Debian 14.2.0-19) 14.2.0"
    assert bench.progress.titles == [f"Unpacking {file.name}"]


def test_a_package_is_unpacked_once(bench: Bench) -> None:
    file = bench.kernel_package()
    first = bench.ready(file)
    assert bench.ready(file) == first
    assert len(bench.progress.titles) == 1
    assert [item.title for item in bench.cache.items()] == [
        f"the kernel in {file.name}"
    ]
    # The same name, another kernel.
    bench.kernel_package(BZIMAGE + b"more")
    assert bench.ready(file).path != first.path


def test_a_package_needs_no_configuration(bench: Bench) -> None:
    image = bench.ready(bench.package({"boot/vmlinuz-6.8.0": BZIMAGE}))
    assert (image.config_hash, image.compiler) == ("", "")


def test_a_package_may_have_any_name(bench: Bench) -> None:
    file = bench.kernel_package().rename(bench.root / "before")
    assert bench.ready(file).path.read_bytes() == BZIMAGE


@pytest.mark.parametrize(
    ("how", "message", "hint"),
    [
        (
            {"architecture": "arm64"},
            "linux-image-6.12.9-amd64_6.12.9-1_arm64.deb is a kernel for arm64, "
            "not for x86_64",
            "--arch arm64",
        ),
        (
            {"architecture": "riscv64"},
            "linux-image-6.12.9-amd64_6.12.9-1_riscv64.deb is a package for riscv64",
            "Temper runs kernels for x86_64 and arm64",
        ),
        (
            {"name": "linux-headers-6.12.9-amd64", "depends": ""},
            "linux-headers-6.12.9-amd64_6.12.9-1_amd64.deb has no kernel: "
            "linux-headers-6.12.9-amd64 is a package of headers",
            "the package of the kernel is linux-image-6.12.9-amd64",
        ),
        (
            {
                "name": "linux-image-amd64",
                "depends": "x, linux-image-6.12.9-amd64 (= 6.12.9-1) | y",
            },
            "linux-image-amd64_6.12.9-1_amd64.deb has no kernel: linux-image-amd64 is "
            "a meta package, which depends on linux-image-6.12.9-amd64",
            "apt-get download linux-image-6.12.9-amd64",
        ),
    ],
)
def test_what_a_package_says_itself_is_told_before_it_is_unpacked(
    bench: Bench, how: dict[str, str], message: str, hint: str
) -> None:
    file = bench.package({"usr/share/doc/x": "x"}, **how)
    assert bench.refused(file) == (message, hint)
    assert bench.progress.titles == []


def test_a_package_without_an_image_is_refused(bench: Bench) -> None:
    file = bench.package({"usr/lib/debug/boot/vmlinux-6.12.9": VMLINUX}, name="dbg")
    assert bench.refused(file) == (
        "dbg_6.12.9-1_amd64.deb has no kernel image",
        "the package of a kernel is called linux-image-VERSION",
    )
    assert bench.cache.items() == []


def test_a_package_with_several_images_is_refused(bench: Bench) -> None:
    files = {f"boot/vmlinuz-{number}": BZIMAGE for number in range(7)}
    assert bench.refused(bench.package({**files}, name="many")) == (
        "many_6.12.9-1_amd64.deb has 7 kernel images: vmlinuz-0, vmlinuz-1, vmlinuz-2, "
        "vmlinuz-3, vmlinuz-4 and 2 more",
        "give one of them",
    )


def test_the_image_counts_whatever_the_package_says(bench: Bench) -> None:
    assert bench.refused(bench.kernel_package(ARM64_IMAGE)) == (
        "linux-image-6.12.9-amd64_6.12.9-1_amd64.deb: boot/vmlinuz-6.12.9-amd64 is a "
        "kernel for arm64, not for x86_64",
        "--arch arm64",
    )


def test_a_damaged_image_in_a_package_is_named(bench: Bench) -> None:
    file = bench.kernel_package(PACKED["gzip"][:-9], architecture="arm64")
    assert bench.refused(file, ARM64)[0] == (
        "linux-image-6.12.9-amd64_6.12.9-1_arm64.deb: boot/vmlinuz-6.12.9-amd64 cannot "
        "be unpacked: it is truncated or damaged"
    )


def cut(content: bytes) -> bytes:
    return content[:-100]


def cut_to_the_head(content: bytes) -> bytes:
    return content[:100]


def one_byte_changed(content: bytes) -> bytes:
    middle = len(content) * 3 // 4
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (cut, "unexpected end of file"),
        (cut_to_the_head, "unexpected end of file"),
        (one_byte_changed, "compressed data is corrupt"),
    ],
)
def test_a_damaged_package_is_refused(
    bench: Bench, damage: Callable[[bytes], bytes], why: str
) -> None:
    file = bench.kernel_package()
    file.write_bytes(damage(file.read_bytes()))
    message, hint = bench.refused(file)
    assert message.startswith(f"{file.name} cannot be unpacked: {why}")
    assert hint == "download it again; it may be truncated"
    assert bench.cache.items() == []


PACKED = {
    "gzip": gzip.compress(ARM64_IMAGE),
    "zboot with gzip": zboot("gzip", gzip.compress(ARM64_IMAGE)),
    "zboot with xz": zboot("xz", lzma.compress(ARM64_IMAGE)),
    "zboot with lzma": zboot("lzma", lzma.compress(ARM64_IMAGE, lzma.FORMAT_ALONE)),
}


@pytest.mark.parametrize("content", PACKED.values(), ids=PACKED)
def test_a_compressed_image_is_unpacked(bench: Bench, content: bytes) -> None:
    image = bench.ready(bench.file("vmlinuz", content), ARM64)
    assert image.path.read_bytes() == ARM64_IMAGE
    assert (image.name, image.digest) == ("vmlinuz", digest(ARM64_IMAGE))


def test_a_compressed_image_in_a_package_is_unpacked_too(bench: Bench) -> None:
    file = bench.kernel_package(PACKED["gzip"], architecture="arm64")
    assert bench.ready(file, ARM64).path.read_bytes() == ARM64_IMAGE


def test_an_image_compressed_by_zstd_is_unpacked(bench: Bench) -> None:
    raw = bench.file("raw", ARM64_IMAGE)
    command = ["zstd", "--quiet", "--stdout", str(raw)]
    packed = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout
    image = bench.file("vmlinuz", zboot("zstd", packed))
    assert bench.ready(image, ARM64).path.read_bytes() == ARM64_IMAGE
    image.write_bytes(zboot("zstd", packed[:-9]))
    assert "truncated or damaged" in bench.refused(image, ARM64)[0]


NOT_UNPACKED = "vmlinuz cannot be unpacked: it is truncated or damaged"
NO_KERNEL = "vmlinuz is not a kernel for arm64"
BAD = {
    "unknown": (
        zboot("lz4", ARM64_IMAGE),
        "vmlinuz is compressed by lz4, which Temper cannot unpack",
    ),
    "gzip cut short": (PACKED["gzip"][:-9], NOT_UNPACKED),
    "zboot cut short": (PACKED["zboot with xz"][:-100], NOT_UNPACKED),
    "zboot with garbage": (zboot("gzip", b"not gzip"), NOT_UNPACKED),
    "zboot with another file": (zboot("gzip", gzip.compress(b"a log")), NO_KERNEL),
    "another file": (gzip.compress(b"a log"), NO_KERNEL),
    "almost gzip": (b"\x1f\x8b\x08 no gzip", NO_KERNEL),
    "x86": (VMLINUX, "vmlinuz is a kernel for x86_64, not for arm64"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_unpacked_is_refused(
    bench: Bench, content: bytes, message: str
) -> None:
    assert bench.refused(bench.file("vmlinuz", content), ARM64)[0] == message
    assert bench.cache.items() == []


@pytest.mark.parametrize(
    ("arch", "name", "content"),
    [
        (X86_64, "arch/x86/boot/bzImage", BZIMAGE),
        (ARM64, "arch/arm64/boot/Image", ARM64_IMAGE),
    ],
)
def test_the_folder_of_a_build_has_its_image(
    bench: Bench, arch: Arch, name: str, content: bytes
) -> None:
    bench.file("linux/vmlinux", VMLINUX)
    bench.file("linux/Kbuild", "")
    config = bench.file("linux/.config", CONFIG)
    image = bench.file(f"linux/{name}", content)
    given = find_given(bench.root / "linux", arch)
    assert (given.file, given.config) == (image, config)
    assert bench.ready(bench.root / "linux", arch).config_hash == digest(
        CONFIG.encode()
    )


def test_a_build_for_another_architecture_is_told(bench: Bench) -> None:
    bench.file("linux/arch/arm64/boot/Image", ARM64_IMAGE)
    assert bench.refused(bench.root / "linux") == (
        "linux/arch/arm64/boot/Image is a kernel for arm64, not for x86_64",
        "--arch arm64",
    )


def test_a_source_that_was_never_built_is_told(bench: Bench) -> None:
    bench.file("linux/Kbuild", "")
    assert bench.refused(bench.root / "linux") == (
        "linux is a kernel's source without arch/x86/boot/bzImage",
        "build it first: make bzImage",
    )


@pytest.mark.parametrize("folder", ["unpacked", "unpacked/boot"])
def test_an_unpacked_package_is_as_good(bench: Bench, folder: str) -> None:
    bench.kernel_package()
    (bench.root / "package").rename(bench.root / "unpacked")
    image = bench.ready(bench.root / folder)
    assert image.path == bench.root / "unpacked/boot/vmlinuz-6.12.9-amd64"
    assert image.config_hash == digest(CONFIG.encode())


def test_any_folder_with_one_image_will_do(bench: Bench) -> None:
    image = bench.file("kernel/bzImage")
    config = bench.file("kernel/config", CONFIG)
    (bench.root / "kernel" / "link").symlink_to("bzImage")
    bench.file("kernel/a-program", VMLINUX)
    bench.file("kernel/build.log.gz", gzip.compress(b"a log"))
    given = find_given(bench.root / "kernel", X86_64)
    assert (given.file, given.config) == (image, config)
    bench.file("kernel/vmlinux", VMLINUX)
    assert bench.refused(bench.root / "kernel") == (
        "kernel has 2 kernel images: bzImage, vmlinux",
        "give one of them",
    )


def test_an_image_of_another_version_lends_no_configuration(bench: Bench) -> None:
    bench.file("boot/vmlinuz-6.12.9")
    bench.file("boot/config-6.1.0", CONFIG)
    assert bench.ready(bench.root / "boot").config_hash == ""


def test_a_folder_without_an_image_is_refused(bench: Bench) -> None:
    bench.file("empty/README", "nothing here")
    assert bench.refused(bench.root / "empty") == (
        "empty has no kernel image",
        "give the folder of a build, or the one with the image",
    )
