/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU TCG plugin: counts the instructions between a begin and an end marker by class,
 * separately for kernel and user, and writes a record per marked region. It counts
 * nothing by class from a pause marker to the next begin marker. The whole of a region,
 * from its first begin marker to its end, has that as well, and no classes. Another
 * record has the kernel's instructions before the first marker.
 *
 * It counts per instruction, not per block, because a block that is left early would
 * count as a whole.
 *
 * Argument: out=FILE
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classes.h"
#include "levels.h"

enum { USER, KERNEL, RINGS };
enum { MAX_REGIONS = 4096 };

typedef uint64_t counts_t[RINGS][MAX_CLASSES];

static const char *const ring_names[RINGS] = { "user", "kernel" };
static counts_t at_begin;
static bool counting;
static uint64_t at_first[RINGS];
static bool in_region;
static uint64_t startup;
static counts_t regions[MAX_REGIONS];
static uint64_t wholes[MAX_REGIONS][RINGS];
static unsigned int nr_regions;
static const char *out_path;

static unsigned int counter_of(unsigned int ring, unsigned int class)
{
	return ring * MAX_CLASSES + class;
}

static void read_all(counts_t counts)
{
	for (unsigned int ring = 0; ring < RINGS; ring++)
		for (unsigned int class = 0; class_names[class]; class++)
			counts[ring][class] = counter_read(counter_of(ring, class));
}

static uint64_t sum_of(const uint64_t *counts)
{
	uint64_t all = 0;

	for (unsigned int class = 0; class_names[class]; class++)
		all += counts[class];
	return all;
}

static void on_begin(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	(void)userdata;
	read_all(at_begin);
	counting = true;
	if (!startup)
		startup = sum_of(at_begin[KERNEL]);
	if (in_region)
		return;
	for (unsigned int ring = 0; ring < RINGS; ring++)
		at_first[ring] = sum_of(at_begin[ring]);
	in_region = true;
}

static void on_pause(unsigned int vcpu, void *userdata)
{
	counts_t now;

	(void)vcpu;
	(void)userdata;
	if (!counting || nr_regions == MAX_REGIONS)
		return;
	read_all(now);
	for (unsigned int ring = 0; ring < RINGS; ring++)
		for (unsigned int class = 0; class_names[class]; class++)
			regions[nr_regions][ring][class] +=
				now[ring][class] - at_begin[ring][class];
	counting = false;
}

static void on_end(unsigned int vcpu, void *userdata)
{
	counts_t now;

	on_pause(vcpu, userdata);
	if (!in_region || nr_regions == MAX_REGIONS)
		return;
	read_all(now);
	for (unsigned int ring = 0; ring < RINGS; ring++)
		wholes[nr_regions][ring] = sum_of(now[ring]) - at_first[ring];
	in_region = false;
	nr_regions++;
}

static void on_insn(struct qemu_plugin_insn *insn)
{
	uint8_t bytes[MAX_INSN_BYTES];
	size_t size = insn_bytes(insn, bytes);
	unsigned int ring = qemu_plugin_insn_vaddr(insn) >> 63 ? KERNEL : USER;

	switch (insn_marker(bytes, size)) {
	case MARKER_BEGIN:
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_begin, QEMU_PLUGIN_CB_NO_REGS,
						       NULL);
		break;
	case MARKER_PAUSE:
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_pause, QEMU_PLUGIN_CB_NO_REGS,
						       NULL);
		break;
	case MARKER_END:
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_end, QEMU_PLUGIN_CB_NO_REGS, NULL);
		break;
	case MARKER_NONE:
		counter_add_on(insn, counter_of(ring, insn_class(bytes, size)));
		break;
	}
}

static void on_block(struct qemu_plugin_tb *tb)
{
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		on_insn(qemu_plugin_tb_get_insn(tb, i));
}

static void print_sum(FILE *out, unsigned int ring, uint64_t sum)
{
	fprintf(out, "\"%s_instructions\":%" PRIu64, ring_names[ring], sum);
}

/* Per ring: all its instructions, then those of each class of interest. */
static void print_ring(FILE *out, unsigned int ring, const uint64_t *counts)
{
	print_sum(out, ring, sum_of(counts));
	for (unsigned int class = 1; class_names[class]; class++)
		fprintf(out, ",\"%s_%s\":%" PRIu64, ring_names[ring], class_names[class],
			counts[class]);
}

static void write_regions(void)
{
	FILE *out = fopen(out_path, "w");

	if (!out) {
		perror(out_path);
		return;
	}
	if (startup)
		fprintf(out, "{\"type\":\"startup\",\"kernel_instructions\":%" PRIu64 "}\n",
			startup);
	for (unsigned int i = 0; i < nr_regions; i++) {
		fprintf(out, "{\"type\":\"classes\",\"region\":%u,\"counts\":{", i);
		print_ring(out, KERNEL, regions[i][KERNEL]);
		fputc(',', out);
		print_ring(out, USER, regions[i][USER]);
		fputs("},\"whole\":{", out);
		print_sum(out, KERNEL, wholes[i][KERNEL]);
		fputc(',', out);
		print_sum(out, USER, wholes[i][USER]);
		fputs("}}\n", out);
	}
	fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fputs("counts: needs out=FILE\n", stderr);
		return -1;
	}
	out_path = strdup(argv[0] + 4);
	if (!out_path)
		return -1;
	counters_create(RINGS * MAX_CLASSES);
	call_on(id, on_block, write_regions);
	return 0;
}
