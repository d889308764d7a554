// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's lib/test_vmalloc.c, for a kernel that is not configured for it. Such a
 * kernel does not export __vmalloc_node(), which only tests that we do not run use:
 * they fail.
 */
#include <linux/vmalloc.h>

#undef __vmalloc_node
#define __vmalloc_node(size, align, gfp, node, caller)                                             \
	((void)(size), (void)(align), (void)(caller), NULL)

#include "test_vmalloc.c"
