"""What on a console spoils a measurement, and what does not."""

import pytest

from temper.analysis.console import complaints, told

WRONG = (
    "WARNING: CPU: 1 PID: 80 at mm/kpkeys_pages.c:160 pool_give+0x9c/0xb0",
    "WARNING: possible circular locking dependency detected",
    "WARNING: suspicious RCU usage",
    "BUG: KASAN: slab-use-after-free in remove_table+0x10/0x20",
    "BUG: kernel NULL pointer dereference, address: 0000000000000008",
    "BUG: sleeping function called from invalid context at mm/vmalloc.c:3405",
    "BUG kmalloc-64 (Not tainted): Redzone overwritten",
    "BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 31s!",
    "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [stress:837]",
    "kernel BUG at mm/slub.c:448!",
    "Oops: Oops: 0003 [#1] PREEMPT SMP PTI",
    "Oops: general protection fault, probably for non-canonical address 0x6b6b: 0000",
    "Internal error: Oops: 0000000096000004 [#1] PREEMPT SMP",
    "Unable to handle kernel paging request at virtual address ffff800080000000",
    "Kernel panic - not syncing: Fatal exception",
    "PANIC: double fault, error_code: 0x0",
    "INFO: task stress:93 blocked for more than 120 seconds.",
    "INFO: trying to register non-static key.",
    "unchecked MSR access error: WRMSR to 0x6e1 (tried to write 0x0000000000000008)",
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "rcu: INFO: rcu_sched self-detected stall on CPU",
    "NMI watchdog: Watchdog detected hard LOCKUP on cpu 1",
    "UBSAN: array-index-out-of-bounds in fs/ext4/super.c:1:2",
    "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "list_add corruption. prev->next should be next",
    "stress: page allocation failure: order:0, mode:0x0(), nodemask=(null)",
    "Huh VM_FAULT_OOM leaked out to the #PF handler. Retrying PF",
    "general protection fault, probably for address 0x6b6b: 0000 [#1] SMP PTI",
    "invalid opcode: 0000 [#1] PREEMPT SMP",
    "Internal error: synchronous external abort: 0000000096000210 [#1] SMP",
    "mm/pgtable-generic.c:50: bad pmd 00000000deadbeef(6b6b6b6b6b6b6b6b)",
    "attack: Corrupted page table at address 7f0000000000",
    "[ BUG: Invalid wait context ]",
    "traps: PANIC: double fault, error_code: 0x0",
    "INFO: task stress:93 blocked in I/O wait for more than 120 seconds.",
    "SError Interrupt on CPU1, code 0x00000000bf000000 -- SError",
)

HARMLESS = (
    "Linux version 6.12.117 (temper@temper) (gcc (Debian 12.2.0-14+deb12u1) 12.2.0)",
    "Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on",
    "RETBleed: WARNING: Spectre v2 mitigation leaves CPU vulnerable",
    "[Firmware Bug]: TSC ADJUST: CPU0: -2 force to 0",
    "ACPI BIOS Error (bug): Could not resolve symbol",
    "traps: attack[80] general protection fault ip:401000 sp:7ffc error:0",
    "attack[80]: segfault at 8 ip 0000000000401775 sp 00007ffd error 4",
    "Memory cgroup out of memory: Killed process 93 (stress) total-vm:5000kB",
    "stress invoked oom-killer: gfp_mask=0x140cca, order=0, oom_score_adj=1000",
    "rcu: Preemptible hierarchical RCU implementation.",
    "rcu: \tRCU CPU stall warnings timeout set to 60 (rcu_cpu_stall_timeout).",
    "Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar",
    "kasan: KernelAddressSanitizer initialized",
    "debug_vm_pgtable: [debug_vm_pgtable ]: Validating architecture helpers",
    "printk: debug: ignoring loglevel setting.",
    "WARN_ON is a macro",
    "SLUB_DEBUG is on, KASAN too",
)


@pytest.mark.parametrize(
    "prefix", ["", "[    1.234567] ", "[   12.000001][   T80] ", "<4>[ 1.0][    C0] "]
)
@pytest.mark.parametrize("line", WRONG)
def test_a_complaint_is_found(line: str, prefix: str) -> None:
    assert complaints(f"[    0.0] Linux\n{prefix}{line}\nmore\n") == [line]


@pytest.mark.parametrize("line", HARMLESS)
def test_an_ordinary_line_is_none(line: str) -> None:
    assert complaints(f"[    1.234567] {line}\n{line}\n") == []


def test_a_warning_that_cuts_another_line_off_is_found() -> None:
    assert complaints("Booting the ker[ 1.0] WARNING: CPU: 0 PID: 1 at mm/x.c:1\n")
    assert complaints("\x1b[31m[ 1.0] WARNING: CPU: 0 PID: 1 at mm/x.c:1\x1b[0m\n")


def test_flags_of_one_pattern_do_not_reach_into_another() -> None:
    assert complaints("[ 1.0] it is BAD\n", own=["(?i)bad"]) == ["it is BAD"]


def test_what_a_program_brings_about_is_no_surprise() -> None:
    console = (
        "BUG: unable to handle page fault for address: ffff888001\n"
        "BUG: Bad page state in process init\n"
    )
    expected = ["unable to handle page fault for address"]
    assert complaints(console, expected) == ["BUG: Bad page state in process init"]


def test_a_feature_has_complaints_of_its_own() -> None:
    console = "[  1.0] kpkeys: 3 page tables stay unprotected\n"
    assert complaints(console) == []
    assert complaints(console, own=["^kpkeys: .*unprotected"]) == [
        "kpkeys: 3 page tables stay unprotected"
    ]


def test_the_first_few_are_told() -> None:
    assert told(["a"]) == "a"
    assert told(["a", "b", "c", "d", "e"]) == "a; b; c (and 2 more)"
