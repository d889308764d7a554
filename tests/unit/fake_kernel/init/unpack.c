// SPDX-License-Identifier: GPL-2.0
/* It is made with the image alone: there is no target of its name. */
#include <linux/fake.h>

int unpacked(void)
{
	return FAKE_FOUR;
}

int more_than_a_driver(int more)
{
	return more * FAKE_FOUR;
}
