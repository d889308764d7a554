/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEMPER_ARCH_H
#define TEMPER_ARCH_H

#if defined(__x86_64__)
#include "x86_64.h"
#elif defined(__aarch64__)
#include "arm64.h"
#else
#error "no target/arch/ file for this architecture"
#endif

#endif
