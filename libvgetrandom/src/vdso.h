/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VGR_VDSO_H
#define VGR_VDSO_H

#include <stddef.h>

/* The image that the kernel mapped into this process; NULL if there is none, or it is hidden. */
const void *vgr_vdso_image(void);

/* The mapped size of the image according to its own headers; 0 if these make no sense. */
size_t vgr_vdso_size(const void *image);

/*
 * The function of that name and version in an image of size bytes, or NULL. Reads nothing outside
 * of the image, whatever the image holds.
 */
const void *vgr_vdso_function(const void *image, size_t size, const char *name,
			      const char *version);

#endif
