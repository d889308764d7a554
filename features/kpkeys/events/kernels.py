"""The kernel that goes through the events."""

from temper.catalog import Feature
from temper.kernel import Kernel
from temper.run.planner import Planner
from temper.run.prepare import Workshop

_CONFIG = (
    # The events.
    *("CONFIG_PM=y", "CONFIG_SUSPEND=y", "CONFIG_RTC_CLASS=y", "CONFIG_RTC_DRV_CMOS=y"),
    *("CONFIG_KEXEC=y", "CONFIG_KEXEC_FILE=y", "CONFIG_CRASH_DUMP=y"),
    *("CONFIG_BLOCK=y", "CONFIG_BLK_DEV=y", "CONFIG_VIRTIO_MENU=y"),
    *("CONFIG_VIRTIO_PCI=y", "CONFIG_VIRTIO_BLK=y", "CONFIG_SWAP=y"),
    *("CONFIG_HIBERNATION=y", "CONFIG_KEXEC_JUMP=y"),
    *("CONFIG_MEMORY_HOTPLUG=y", "CONFIG_MEMORY_HOTREMOVE=y"),
    *("CONFIG_ACPI_HOTPLUG_MEMORY=y", "CONFIG_X86_MCE=y", "CONFIG_X86_MCE_INTEL=y"),
    *("CONFIG_EFI=y", "CONFIG_EFI_STUB=y", "CONFIG_EFIVAR_FS=y"),
    # What tells of tables: more kinds of them, and tests.
    *("CONFIG_MITIGATION_PAGE_TABLE_ISOLATION=y", "CONFIG_X86_5LEVEL=y"),
    *("CONFIG_KUNIT=y", "CONFIG_KUNIT_DEBUGFS=y", "CONFIG_KPKEYS_KUNIT_TEST=y"),
)


def events_kernel(workshop: Workshop, feature: Feature) -> Kernel:
    """Build or find it: the hardened variant, and what the events need."""
    hardened = feature.variants[feature.hardened[0]]
    config = (*hardened.config, *_CONFIG)
    variant = hardened.model_copy(update={"config": config})
    planner = Planner(workshop.arch, workshop.cache)
    return workshop.kernel(planner.kernel(feature, variant))
