/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Code that the workers for this library share. Each is built twice: as a program that links to the
 * shared library, and with FORCE_SIMD against the static one, where the argument names the vector
 * instructions.
 */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include "vgetrandom.h"
#ifdef FORCE_SIMD
#include "config.h"
#include "fail.h"
#include "simd.h"
#endif

static void prepare(int argc, char **argv)
{
#ifdef FORCE_SIMD
	if (argc != 2)
		fail("the argument names the vector instructions");
	vgr_config_need();
	vgr_config.chacha20 = chacha20_named(argv[1]);
#else
	(void)argc, (void)argv;
#endif
}

static void thread_begin(unsigned int index)
{
	(void)index;
}

#endif
