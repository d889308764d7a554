/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tells tests to leave out what the sanitizers' own code does not survive. */
#ifndef VGR_TESTS_SANITIZERS_H
#define VGR_TESTS_SANITIZERS_H

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

enum {
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
	THREAD_SANITIZER = 1,
#else
	THREAD_SANITIZER = 0,
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
	ADDRESS_SANITIZER = 1,
#else
	ADDRESS_SANITIZER = 0,
#endif
};

#endif
