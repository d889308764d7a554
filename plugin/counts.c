/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU TCG plugin: counts the instructions between a begin and an end marker by class,
 * separately for kernel and user, and writes a record per marked region. It counts
 * nothing from a pause marker to the next begin marker.
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
#include "qemu_plugin.h"

enum { USER, KERNEL, RINGS };
enum { MAX_REGIONS = 4096 };

typedef uint64_t counts_t[RINGS][MAX_CLASSES];

int qemu_plugin_version = TEMPER_PLUGIN_API;

static const char *const ring_names[RINGS] = { "user", "kernel" };
static counts_t at_begin;
static bool counting;
static counts_t regions[MAX_REGIONS];
static unsigned int nr_regions;
static const char *out_path;

#if TEMPER_PLUGIN_API >= 2
static struct qemu_plugin_scoreboard *scoreboard;

static qemu_plugin_u64 counter(unsigned int ring, unsigned int class)
{
	return (qemu_plugin_u64){
		.score = scoreboard,
		.offset = (ring * MAX_CLASSES + class) * sizeof(uint64_t),
	};
}

static void counters_create(void)
{
	scoreboard = qemu_plugin_scoreboard_new(sizeof(counts_t));
}

static uint64_t counter_read(unsigned int ring, unsigned int class)
{
	return qemu_plugin_u64_sum(counter(ring, class));
}

static void counter_add_on(struct qemu_plugin_insn *insn, unsigned int ring, unsigned int class)
{
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							    counter(ring, class), 1);
}
#else
static counts_t counters;

static void counters_create(void)
{
}

static uint64_t counter_read(unsigned int ring, unsigned int class)
{
	return counters[ring][class];
}

static void counter_add_on(struct qemu_plugin_insn *insn, unsigned int ring, unsigned int class)
{
	qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
						   &counters[ring][class], 1);
}
#endif

static void read_all(counts_t counts)
{
	for (unsigned int ring = 0; ring < RINGS; ring++)
		for (unsigned int class = 0; class_names[class]; class++)
			counts[ring][class] = counter_read(ring, class);
}

static void on_begin(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	(void)userdata;
	read_all(at_begin);
	counting = true;
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
	on_pause(vcpu, userdata);
	if (nr_regions < MAX_REGIONS)
		nr_regions++;
}

static size_t insn_bytes(struct qemu_plugin_insn *insn, uint8_t *bytes)
{
	size_t size = qemu_plugin_insn_size(insn);

	if (size > MAX_INSN_BYTES)
		size = MAX_INSN_BYTES;
#if TEMPER_PLUGIN_API >= 3
	return qemu_plugin_insn_data(insn, bytes, size);
#else
	memcpy(bytes, qemu_plugin_insn_data(insn), size);
	return size;
#endif
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
		counter_add_on(insn, ring, insn_class(bytes, size));
		break;
	}
}

static void on_block(struct qemu_plugin_tb *tb)
{
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		on_insn(qemu_plugin_tb_get_insn(tb, i));
}

/* Per ring: all its instructions, then those of each class of interest. */
static void print_ring(FILE *out, unsigned int ring, const uint64_t *counts)
{
	uint64_t all = 0;

	for (unsigned int class = 0; class_names[class]; class++)
		all += counts[class];
	fprintf(out, "\"%s_instructions\":%" PRIu64, ring_names[ring], all);
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
	for (unsigned int i = 0; i < nr_regions; i++) {
		fprintf(out, "{\"type\":\"classes\",\"region\":%u,\"counts\":{", i);
		print_ring(out, KERNEL, regions[i][KERNEL]);
		fputc(',', out);
		print_ring(out, USER, regions[i][USER]);
		fputs("}}\n", out);
	}
	fclose(out);
}

#if TEMPER_PLUGIN_API >= 7
static void on_translate(struct qemu_plugin_tb *tb, void *userdata)
{
	(void)userdata;
	on_block(tb);
}

static void on_exit_qemu(void *userdata)
{
	(void)userdata;
	write_regions();
}

static void register_callbacks(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate, NULL);
	qemu_plugin_register_atexit_cb(id, on_exit_qemu, NULL);
}
#else
static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	on_block(tb);
}

static void on_exit_qemu(qemu_plugin_id_t id, void *userdata)
{
	(void)id;
	(void)userdata;
	write_regions();
}

static void register_callbacks(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_qemu, NULL);
}
#endif

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
	counters_create();
	register_callbacks(id);
	return 0;
}
