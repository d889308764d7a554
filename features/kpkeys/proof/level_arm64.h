/* SPDX-License-Identifier: GPL-2.0 */
/* What kpkeys_level.c needs to know of arm64; it includes this. */
#include <asm/cpufeature.h>
#include <asm/sysreg.h>
#include <linux/hw_breakpoint.h>
#include <linux/mman.h>
#include <linux/perf_event.h>

static void set_arguments(struct pt_regs *regs, const u64 *arguments)
{
	memcpy(regs->regs, arguments, sizeof(*arguments) * KPKEYS_LEVEL_ARGUMENTS);
}

static vm_fault_t on_fault(struct vm_fault *fault)
{
	if (current == READ_ONCE(attack.writer) && nobody_tried())
		try_to_write();
	get_page(vmalloc_to_page(page));
	fault->page = vmalloc_to_page(page);
	return 0;
}

static const struct vm_operations_struct faulting = { .fault = on_fault };

static int kpkeys_level_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma->vm_ops = &faulting;
	return 0;
}

/* A page fault of the kernel's, whose entry code most exceptions share. */
static int by_exception(void)
{
	unsigned long byte;

	return get_user(byte, (u8 __user *)attack.fault) ?: spin_until_tried();
}

/* Only its address matters. */
static u64 watched;

/* The kernel leaves it to us to get behind what was watched. */
static void on_watchpoint(struct perf_event *event, struct perf_sample_data *data,
			  struct pt_regs *regs)
{
	instruction_pointer_set(regs, instruction_pointer(regs) + AARCH64_INSN_SIZE);
	if (current == READ_ONCE(attack.writer) && nobody_tried())
		try_to_write();
}

static int by_single_step(void)
{
	u64 unused;

	asm volatile("ldr %0, [%1]" : "=r"(unused) : "r"(&watched) : "memory");
	return spin_until_tried();
}

/*
 * Let all keys be written, if there are any. A kernel without our series has not asked EL2
 * to let it write the register.
 */
static void open_register(void)
{
	u64 features = read_sysreg_s(SYS_ID_AA64MMFR3_EL1);

	if (!IS_ENABLED(CONFIG_ARCH_HAS_KPKEYS) ||
	    !cpuid_feature_extract_unsigned_field(features, ID_AA64MMFR3_EL1_S1POE_SHIFT))
		return;
	write_sysreg_s(0x7777777777777777UL, SYS_POR_EL1);
	isb();
}

static struct perf_event * __percpu * watchpoints;

static int expect_exceptions(void)
{
	struct perf_event_attr wanted;

	hw_breakpoint_init(&wanted);
	wanted.bp_addr = (unsigned long)&watched;
	wanted.bp_len = HW_BREAKPOINT_LEN_8;
	wanted.bp_type = HW_BREAKPOINT_R;
	watchpoints = register_wide_hw_breakpoint(&wanted, on_watchpoint, NULL);
	return PTR_ERR_OR_ZERO((void __force *)watchpoints);
}

static void expect_no_exceptions(void)
{
	unregister_wide_hw_breakpoint(watchpoints);
}
