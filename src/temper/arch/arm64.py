"""arm64 on QEMU's virt machine."""

from temper.arch.base import Arch

ARM64 = Arch(
    name="arm64",
    kernel_arch="arm64",
    image="arch/arm64/boot/Image",
    debian="arm64",
    # An Image, and an EFI program for this machine with a compressed one inside.
    magic=(((0x38, b"ARM\x64"),), ((4, b"zimg"), (0x40, b"PE\0\0\x64\xaa"))),
    images="an Image, which may be compressed",
    image_target="Image",
    compiler="aarch64-linux-gnu-gcc",
    target="aarch64",
    libc="libc6-dev-arm64-cross",
    qemu="qemu-system-aarch64",
    machine=("-M", "virt,gic-version=3"),
    # A 1 GHz counter, since the default would tick only once in 16 instructions; and
    # QEMU's own cipher for pointer authentication, since the architecture's is slow
    # to emulate.
    cpu="max,pauth-impdef=on,cntfrq=1000000000",
    cpu_64_bit="aarch64",
    cpu_properties=(("cntfrq", "1000000000"),),
    cmdline="console=ttyAMA0 panic=-1",
    # At a random address, a kernel without E0PD unmaps itself in user mode.
    exact_cmdline="nokaslr",
    as_linked_cmdline="nokaslr",
    machine_config=(
        *("CONFIG_BLK_DEV_INITRD=y", "CONFIG_SERIAL_AMBA_PL011_CONSOLE=y"),
        *("CONFIG_SERIAL_8250=y", "CONFIG_SERIAL_8250_PCI=y"),
        "CONFIG_PCI_HOST_GENERIC=y",
    ),
    free_clock="the host's clock in nanoseconds, as QEMU passes it on (no icount)",
    free_unit="ns",
    # The machine's only serial port is the console.
    channel="/dev/ttyS0",
    channel_port=("-device", "pci-serial,chardev=records"),
    calls_per_second=100_000,
    settings={"pseudo-nmi": "irqchip.gicv3_pseudo_nmi=1"},
)
