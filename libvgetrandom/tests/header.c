// SPDX-License-Identifier: MIT OR Apache-2.0
/* Description: the header alone, as C and as C++ of any age: it compiles, links, has a version. */
#include <vgetrandom.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

int main(void)
{
	static const char version[] = TEXT(VGETRANDOM_VERSION_MAJOR) "." TEXT(
		VGETRANDOM_VERSION_MINOR) "." TEXT(VGETRANDOM_VERSION_PATCH);
	static const char expected[] = EXPECTED_VERSION;
	unsigned int i;

	for (i = 0; i < sizeof(version) && version[i] == expected[i]; i++)
		;
	if (i < sizeof(version) || VGETRANDOM_VERSION < 0x000100)
		return 1;
	return vgetrandom_status_text(vgetrandom_status()) ? 0 : 2;
}
