/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All existing cores. A build has those of its architecture: vgr_chacha20_all. */
#ifndef VGR_CHACHA20_CORES_H
#define VGR_CHACHA20_CORES_H

#include "chacha20.h"

chacha20_fn vgr_chacha20_avx512;
chacha20_fn vgr_chacha20_avx2;
chacha20_fn vgr_chacha20_sse2;
chacha20_fn vgr_chacha20_neon;

#endif
