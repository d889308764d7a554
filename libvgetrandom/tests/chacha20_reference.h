/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ChaCha20 to compare with: a readable one, and OpenSSL's. Both are a chacha20_fn. */
#ifndef VGR_TESTS_CHACHA20_REFERENCE_H
#define VGR_TESTS_CHACHA20_REFERENCE_H

#include "chacha20.h"

chacha20_fn reference_expand;

#ifdef HAVE_OPENSSL
chacha20_fn openssl_expand;
#define expected_expand openssl_expand
#else
#define expected_expand reference_expand
#endif

#endif
