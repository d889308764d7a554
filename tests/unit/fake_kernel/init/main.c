// SPDX-License-Identifier: GPL-2.0
#include <linux/fake.h>

int first(void)
{
	return 1;
}

int second(void)
{
	return 2;
}

int third(void)
{
	return 3;
}

int fourth(void)
{
	return FAKE_FOUR;
}
