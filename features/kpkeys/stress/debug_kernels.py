"""The kernels that are put under stress: our series, and what finds bugs by itself."""

from temper.catalog import Feature
from temper.kernel import Kernel
from temper.run.planner import Planner
from temper.run.prepare import Workshop

_COMMON = (
    # The operations need these.
    *("CONFIG_MITIGATION_PAGE_TABLE_ISOLATION=y", "CONFIG_X86_5LEVEL=y"),
    *("CONFIG_BLOCK=y", "CONFIG_BLK_DEV=y", "CONFIG_SWAP=y"),
    *("CONFIG_ZSMALLOC=y", "CONFIG_ZRAM=y", "CONFIG_ZRAM_BACKEND_LZO=y"),
    *("CONFIG_CGROUPS=y", "CONFIG_MEMCG=y", "CONFIG_USERFAULTFD=y"),
    *("CONFIG_COMPACTION=y", "CONFIG_MIGRATION=y", "CONFIG_MODIFY_LDT_SYSCALL=y"),
    *("CONFIG_X86_16BIT=y", "CONFIG_X86_VSYSCALL_EMULATION=y"),
    *("CONFIG_MEMORY_HOTPLUG=y", "CONFIG_MEMORY_HOTREMOVE=y"),
    *("CONFIG_DEBUG_KERNEL=y", "CONFIG_VM_EVENT_COUNTERS=y"),
    # As distributions have it: reclaim walks page tables.
    *("CONFIG_LRU_GEN=y", "CONFIG_LRU_GEN_ENABLED=y"),
    # These find bugs and cost little.
    *("# CONFIG_SLUB_TINY is not set", "CONFIG_SLUB_DEBUG=y"),
    *("CONFIG_DEBUG_LIST=y", "CONFIG_DETECT_HUNG_TASK=y"),
    *("CONFIG_SOFTLOCKUP_DETECTOR=y", "CONFIG_WQ_WATCHDOG=y", "CONFIG_STACKTRACE=y"),
    *("CONFIG_PAGE_TABLE_CHECK=y", "CONFIG_PAGE_TABLE_CHECK_ENFORCED=y"),
    *("CONFIG_DEBUG_VM=y", "CONFIG_DEBUG_VM_PGFLAGS=y", "CONFIG_DEBUG_PAGEALLOC=y"),
    *("CONFIG_KUNIT=y", "CONFIG_KPKEYS_KUNIT_TEST=y"),
)

KERNELS = {
    "kasan": (
        *("CONFIG_KASAN=y", "CONFIG_KASAN_GENERIC=y", "CONFIG_KASAN_OUTLINE=y"),
        *("CONFIG_KASAN_VMALLOC=y", "CONFIG_SLUB_DEBUG_ON=y"),
    ),
    "lockdep": (
        *("# CONFIG_PREEMPT_VOLUNTARY is not set", "CONFIG_PREEMPT=y"),
        # Who is preempted in an RCU section must get on, however busy the CPUs are.
        *("CONFIG_RCU_EXPERT=y", "CONFIG_RCU_BOOST=y"),
        *("CONFIG_PROVE_LOCKING=y", "CONFIG_PROVE_RCU=y"),
        *("CONFIG_DEBUG_ATOMIC_SLEEP=y", "CONFIG_DEBUG_PREEMPT=y"),
        *("CONFIG_DEBUG_VM_PGTABLE=y", "CONFIG_DEBUG_ENTRY=y"),
    ),
}
"""Name of a kernel -> its options, on top of those of all."""


def debug_kernel(workshop: Workshop, feature: Feature, name: str) -> Kernel:
    """Build or find the kernel ``name`` of KERNELS, with the hardened variant."""
    return hardened_with(workshop, feature, (*_COMMON, *KERNELS[name]))


def hardened_with(
    workshop: Workshop, feature: Feature, options: tuple[str, ...]
) -> Kernel:
    """Build or find the hardened variant with more ``options`` of Kconfig."""
    hardened = feature.variants[feature.hardened[0]]
    config = (*hardened.config, *options)
    variant = hardened.model_copy(update={"config": config})
    planner = Planner(workshop.arch, workshop.cache)
    return workshop.kernel(planner.kernel(feature, variant))
