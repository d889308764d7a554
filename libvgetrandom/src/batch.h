/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VGR_BATCH_H
#define VGR_BATCH_H

#include "pool.h"

/* Refills a claimed slot's buffer. Returns 0, or a negative error number of getrandom(2). */
int vgr_batch_fill(struct slot *slot);

#endif
