// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: runs the ELF parser on damaged images. Each lies right before an unreadable page, or
 * right after one. Whatever an image holds, the parser must read nothing outside, and find only
 * what is inside; with the old hash table and with the new one.
 *
 * Arguments: the number of damaged images (default 3 * 10^6); a seed (default 1).
 */
#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "check.h"
#include "vdso.h"

#if defined(__x86_64__)
#define VERSION  "LINUX_2.6"
#define FUNCTION "__vdso_clock_gettime"
#else
#define VERSION  "LINUX_2.6.39"
#define FUNCTION "__kernel_clock_gettime"
#endif

enum {
	IMAGES = 3000000,
	PAGE = 4096,
	DAMAGES_MAX = 6,
	/* The part that the parser reads: damage to the code behind it has no effect. */
	HEADERS_MAX = 2048,
};

struct arena {
	/* Lies between two unreadable pages. */
	uint8_t *start;
	size_t size;
};

static uint64_t state;

/* xorshift64*: the same numbers again for the same seed. */
static uint64_t next_random(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dULL;
}

static size_t below(size_t bound)
{
	return (size_t)(next_random() >> 11) % bound;
}

static struct arena map_arena(size_t size)
{
	size_t inner = (size + PAGE - 1) / PAGE * PAGE;
	uint8_t *all =
		mmap(NULL, inner + 2 * (size_t)PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(all != MAP_FAILED, "mmap");
	check(mprotect(all + PAGE, inner, PROT_READ | PROT_WRITE) == 0, "mprotect");
	return (struct arena){ all + PAGE, inner };
}

/* Makes the parser count symbols with the other table. */
static void hide_hash(uint8_t *image, Elf64_Sxword tag)
{
	const Elf64_Ehdr *header = (void *)image;
	const Elf64_Phdr *segments = (void *)(image + header->e_phoff);

	for (int i = 0; i < header->e_phnum; i++) {
		Elf64_Dyn *entry = (void *)(image + segments[i].p_offset);

		if (segments[i].p_type != PT_DYNAMIC)
			continue;
		for (; entry->d_tag != DT_NULL; entry++) {
			if (entry->d_tag == tag)
				entry->d_tag = DT_DEBUG;
		}
	}
}

static bool has_tag(const uint8_t *image, size_t size, Elf64_Sxword tag)
{
	uint8_t *copy = malloc(size);
	bool differs;

	check(copy, "no memory");
	memcpy(copy, image, size);
	hide_hash(copy, tag);
	differs = memcmp(copy, image, size) != 0;
	free(copy);
	return differs;
}

/* Numbers at which wrong checks of bounds are likely to fail. */
static uint64_t interesting(size_t size)
{
	static const uint64_t numbers[] = {
		0,
		1,
		2,
		0x7fff,
		0x8000,
		0xffff,
		0x7fffffff,
		0x80000000,
		0xfffffffe,
		0xffffffff,
		0x100000000,
		INT64_MAX,
		(uint64_t)INT64_MIN,
		UINT64_MAX - 1,
		UINT64_MAX,
	};
	size_t which = below(sizeof(numbers) / sizeof(*numbers) + 2);

	if (which == sizeof(numbers) / sizeof(*numbers))
		return size - below(64);
	if (which > sizeof(numbers) / sizeof(*numbers))
		return below(size);
	return numbers[which];
}

static void damage(uint8_t *image, size_t size)
{
	enum { FLIP, BYTE, HALF, WORD, DOUBLE_WORD, COPY, KINDS };
	size_t headers = size < HEADERS_MAX ? size : HEADERS_MAX;
	size_t at = below(headers - sizeof(uint64_t));
	size_t aligned = at & ~(sizeof(uint64_t) - 1);
	uint64_t value = below(2) ? interesting(size) : next_random();

	switch (below(KINDS)) {
	case FLIP:
		image[at] ^= (uint8_t)(1U << below(8));
		break;
	case BYTE:
		image[at] = (uint8_t)value;
		break;
	case HALF:
		memcpy(image + (at & ~1UL), &value, sizeof(uint16_t));
		break;
	case WORD:
		memcpy(image + (at & ~3UL), &value, sizeof(uint32_t));
		break;
	case DOUBLE_WORD:
		memcpy(image + aligned, &value, sizeof(uint64_t));
		break;
	default:
		memmove(image + aligned, image + below(headers - sizeof(uint64_t)),
			sizeof(uint64_t));
		break;
	}
}

/* Returns whether any was found. A read outside of the image ends the test with SIGSEGV. */
static bool look_up(const uint8_t *image, size_t size)
{
	static const char *const names[] = { FUNCTION, "", "no such function" };
	static const char *const versions[] = { VERSION, "", "linux-vdso.so.1" };
	bool any = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const uint8_t *found = vgr_vdso_function(image, size, names[i], versions[i]);

		check(!found || (found >= image && found < image + size), "%p is not in %p + %zu",
		      (const void *)found, (const void *)image, size);
		any |= found != NULL;
	}
	return any;
}

/* The size from the first page must be sane. */
static void check_size(const uint8_t *image)
{
	check(vgr_vdso_size(image) <= 1 << 20, "%zu bytes", vgr_vdso_size(image));
}

/* Tries every length, right before the page behind; the parser needs an aligned start. */
static size_t truncate_all(struct arena arena, const uint8_t *good, size_t size)
{
	size_t found = 0;

	for (size_t len = 0; len <= size; len++) {
		size_t start = (arena.size - len) & ~(sizeof(uint64_t) - 1);

		memcpy(arena.start + start, good, len);
		found += look_up(arena.start + start, len);
	}
	return found;
}

static size_t fuzz(struct arena arena, const uint8_t *good, size_t size, size_t images)
{
	size_t found = 0;

	for (size_t i = 0; i < images; i++) {
		/* Right before one page or right after the other; truncated from time to time. */
		size_t len = below(16) ? size : sizeof(uint64_t) * 2 + below(size - 16);
		size_t room = (arena.size - len) & ~(sizeof(uint64_t) - 1);
		uint8_t *image = arena.start + (below(2) ? room : 0);

		memcpy(image, good, len);
		for (size_t left = 1 + below(DAMAGES_MAX); left; left--)
			damage(image, len);
		found += look_up(image, len);
		if (image == arena.start && arena.size >= PAGE)
			check_size(image);
	}
	return found;
}

static void test_form(const char *name, const uint8_t *good, size_t size, size_t images)
{
	struct arena arena = map_arena(size);
	size_t found;

	memcpy(arena.start, good, size);
	check(look_up(arena.start, size), "%s: not found in a good image", name);
	found = truncate_all(arena, good, size);
	check(found && found < size, "%s: found in %zu of %zu cut off images", name, found, size);
	found = fuzz(arena, good, size, images);
	check(found && found < images, "%s: found in %zu of %zu images", name, found, images);
	printf("%s: found in %zu of %zu damaged images\n", name, found, images);
}

static Elf64_Phdr *dynamic_segment(uint8_t *image)
{
	const Elf64_Ehdr *header = (void *)image;
	Elf64_Phdr *segment = (void *)(image + header->e_phoff);

	while (segment->p_type != PT_DYNAMIC)
		segment++;
	return segment;
}

static Elf64_Dyn *dynamic_entry(uint8_t *image, Elf64_Sxword tag)
{
	Elf64_Dyn *entry = (void *)(image + dynamic_segment(image)->p_offset);

	while (entry->d_tag != tag)
		entry++;
	return entry;
}

/* The version's name, whose last byte is or is not in the table of strings. */
static void test_end_of_strings(uint8_t *image, size_t size)
{
	const uint8_t *strings = image + dynamic_entry(image, DT_STRTAB)->d_un.d_ptr;
	Elf64_Dyn *len = dynamic_entry(image, DT_STRSZ);
	const uint8_t *name = memmem(strings, len->d_un.d_val, VERSION, sizeof(VERSION));

	len->d_un.d_val = (size_t)(name - strings) + sizeof(VERSION);
	check(vgr_vdso_function(image, size, FUNCTION, VERSION), "other strings come later");
	len->d_un.d_val--;
	check(!vgr_vdso_function(image, size, FUNCTION, VERSION), "a name without its end");
}

/* The search for a symbol that is not there reads the versions of all, and no more. */
static void test_end_of_versions(uint8_t *image, size_t size)
{
	const uint32_t *hash = (void *)(image + dynamic_entry(image, DT_HASH)->d_un.d_ptr);

	dynamic_entry(image, DT_VERSYM)->d_un.d_ptr = size - hash[1] * sizeof(Elf64_Half);
	memset(image + size - hash[1] * sizeof(Elf64_Half), 0, hash[1] * sizeof(Elf64_Half));
	check(!look_up(image, size), "found without versions");
}

/* Nothing in the dynamic section ends it before its end. */
static void test_end_of_dynamic(uint8_t *image, size_t size)
{
	Elf64_Phdr *segment = dynamic_segment(image);

	segment->p_filesz = 2 * sizeof(Elf64_Dyn);
	segment->p_offset = size - segment->p_filesz;
	memset(image + segment->p_offset, 1, segment->p_filesz);
	check(!look_up(image, size), "found without a dynamic section");
}

/* Tables that end with the image, right before an unreadable page. */
static void test_ends(const uint8_t *good, size_t size)
{
	/* A whole number of pages has its end there. */
	size_t padded = (size + PAGE - 1) / PAGE * PAGE;
	struct arena arena = map_arena(padded);

	memcpy(arena.start, good, size);
	test_end_of_strings(arena.start, padded);
	memcpy(arena.start, good, size);
	if (has_tag(good, size, DT_HASH))
		test_end_of_versions(arena.start, padded);
	memcpy(arena.start, good, size);
	test_end_of_dynamic(arena.start, padded);
}

int main(int argc, char **argv)
{
	size_t images = argc > 1 ? strtoul(argv[1], NULL, 0) : IMAGES, size;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): an integer by nature. */
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	uint8_t *good;

	if (!image)
		cannot_run("the kernel offers no vDSO");
	/* Flushed at once, because a failure may end the process. */
	printf("seed %" PRIu64 "\n", seed);
	fflush(stdout);
	state = seed * 2 + 1;
	size = vgr_vdso_size(image);
	check(size, "no size");
	good = malloc(size);
	check(good, "no memory");
	memcpy(good, image, size);
	test_ends(good, size);
	if (has_tag(good, size, DT_HASH))
		test_form("DT_HASH", good, size, images / 2);
	else
		printf("the image has no DT_HASH\n");
	if (!has_tag(good, size, DT_GNU_HASH))
		cannot_run("the image has no DT_GNU_HASH");
	hide_hash(good, DT_HASH);
	test_form("DT_GNU_HASH", good, size, images / 2);
	free(good);
	return 0;
}
