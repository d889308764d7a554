/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VGR_VDSO_H
#define VGR_VDSO_H

#include <stddef.h>

/* The image the kernel mapped into this process, or NULL if it did not or will not tell. */
const void *vdso_image(void);

/* How many bytes of the image are mapped, as its own headers have it; 0 if they make no sense. */
size_t vdso_size(const void *image);

/*
 * The function of that name and version in an image of size bytes, or NULL. Reads nothing outside
 * of the image, whatever it holds.
 */
const void *vdso_function(const void *image, size_t size, const char *name, const char *version);

#endif
