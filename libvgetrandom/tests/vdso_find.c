// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: the ELF parser finds what libc's dynamic linker finds, and no more.
 *
 * Built from src/vdso.c alone, with stand-ins for libc: one that can tell where the image is, and
 * one that cannot.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>

#include "check.h"
#include "libc.h"
#include "vdso.h"

#if defined(__x86_64__)
#define VERSION   "LINUX_2.6"
#define FUNCTION  "__vdso_clock_gettime"
#define GETRANDOM "__vdso_getrandom"
#else
#define VERSION   "LINUX_2.6.39"
#define FUNCTION  "__kernel_clock_gettime"
#define GETRANDOM "__kernel_getrandom"
#endif

enum {
	PAGE = 4096,
};

static const void *told;

const void *vgr_libc_vdso_image(void)
{
	return told;
}

static const void *kernels_image(void)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): an integer by nature. */
	return (const void *)getauxval(AT_SYSINFO_EHDR);
}

static void check_image(void)
{
	told = kernels_image();
	check(vgr_vdso_image() == told, "another image than libc's");
	told = NULL;
	check(!vgr_vdso_image(), "an image that libc hides");
	told = LIBC_CANNOT_TELL;
	check(vgr_vdso_image() == kernels_image(), "another image than the kernel's own");
}

static void check_as_dlvsym(const void *image, size_t size, void *library, const char *name)
{
	const void *expected = dlvsym(library, name, VERSION), *found;

	found = vgr_vdso_function(image, size, name, VERSION);
	check(found == expected, "%s is at %p, not %p", name, expected, found);
	printf("%s: %p\n", name, found);
}

/*
 * A copy of the image, in order to change its symbols. It has whole pages, because the section
 * headers are behind its only segment.
 */
static uint8_t *copy_image(const void *image, size_t size)
{
	size_t pages_size = (size + PAGE - 1) / PAGE * PAGE;
	uint8_t *copy = malloc(pages_size);

	check(copy, "no memory");
	memcpy(copy, image, pages_size);
	return copy;
}

/* Uses section headers, which the library does not. NULL if there is none of that type. */
static const Elf64_Shdr *section_of(const uint8_t *image, Elf64_Word type)
{
	const Elf64_Ehdr *header = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);

	for (int i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type == type)
			return &sections[i];
	}
	return NULL;
}

static Elf64_Sym *symbol_named(uint8_t *image, const char *name)
{
	const Elf64_Ehdr *header = (void *)image;
	const Elf64_Shdr *sections = (void *)(image + header->e_shoff);
	const Elf64_Shdr *table = section_of(image, SHT_DYNSYM);
	Elf64_Sym *symbols = (void *)(image + table->sh_offset);
	const char *strings = (char *)image + sections[table->sh_link].sh_offset;
	size_t i = 0;

	while (strcmp(strings + symbols[i].st_name, name) != 0)
		i++;
	return &symbols[i];
}

static Elf64_Half *version_of(uint8_t *image, const Elf64_Sym *symbol)
{
	const Elf64_Sym *symbols = (void *)(image + section_of(image, SHT_DYNSYM)->sh_offset);
	Elf64_Half *versions = (void *)(image + section_of(image, SHT_GNU_versym)->sh_offset);

	return &versions[symbol - symbols];
}

static void check_other_versions(const void *image, size_t size)
{
	uint8_t *copy = copy_image(image, size);
	Elf64_Half *version = version_of(copy, symbol_named(copy, FUNCTION));

	*version |= 0x8000;
	check(vgr_vdso_function(copy, size, FUNCTION, VERSION), "hidden, but of the version");
	*version = VER_NDX_GLOBAL;
	check(!vgr_vdso_function(copy, size, FUNCTION, VERSION), "of the base version");
	check(!vgr_vdso_function(copy, size, FUNCTION, "linux-vdso.so.1"),
	      "the base is no version");
	*version = VER_NDX_LOCAL;
	check(!vgr_vdso_function(copy, size, FUNCTION, VERSION), "of no version");
	free(copy);
}

static void check_not_callable(const void *image, size_t size)
{
	uint8_t *copy = copy_image(image, size);
	Elf64_Sym *symbol = symbol_named(copy, FUNCTION), good;

	good = *symbol;
	check(vgr_vdso_function(copy, size, FUNCTION, VERSION) == copy + good.st_value,
	      "in a copy");
	symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	check(!vgr_vdso_function(copy, size, FUNCTION, VERSION), "an object, not a function");
	symbol->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	check(!vgr_vdso_function(copy, size, FUNCTION, VERSION), "a local symbol");
	*symbol = good;
	symbol->st_shndx = SHN_UNDEF;
	check(!vgr_vdso_function(copy, size, FUNCTION, VERSION), "an undefined symbol");
	*symbol = good;
	symbol->st_value = size - good.st_size;
	check(vgr_vdso_function(copy, size, FUNCTION, VERSION) == copy + symbol->st_value,
	      "code that ends with the image");
	symbol->st_value = size - good.st_size + 1;
	check(!vgr_vdso_function(copy, size, FUNCTION, VERSION), "code that ends outside");
	free(copy);
}

static void check_other_headers(const void *image, size_t size)
{
	uint8_t *copy = copy_image(image, size);
	Elf64_Ehdr *header = (void *)copy;

	check(vgr_vdso_size(copy) == size, "a copy has another size");
	for (int i = 0; i <= EI_DATA; i++) {
		copy[i] ^= 1;
		check(!vgr_vdso_size(copy), "a size, and byte %d of the header is wrong", i);
		check(!vgr_vdso_function(copy, size, FUNCTION, VERSION), "byte %d is wrong", i);
		copy[i] ^= 1;
	}
	header->e_phentsize++;
	check(!vgr_vdso_size(copy), "segments of another size");
	header->e_phentsize--;
	header->e_phnum = 0;
	check(!vgr_vdso_size(copy), "no segments");
	free(copy);
}

int main(void)
{
	const void *image = kernels_image();
	void *library;
	size_t size;

	if (!image)
		cannot_run("the kernel offers no vDSO");
	library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		cannot_run("this libc does not list the vDSO");
	check_image();
	size = vgr_vdso_size(image);
	check(size, "no size");
	check_as_dlvsym(image, size, library, FUNCTION);
	check_as_dlvsym(image, size, library, GETRANDOM);
	check(!vgr_vdso_function(image, size, FUNCTION, "LINUX_2.5"), "of another version");
	check(!vgr_vdso_function(image, size, FUNCTION, ""), "of no version");
	check(!vgr_vdso_function(image, size, FUNCTION "_", VERSION), "a longer name");
	check(!vgr_vdso_function(image, size, "__vdso", VERSION), "a shorter name");
	check(!vgr_vdso_function(image, size, "", VERSION), "no name");
	check(!vgr_vdso_function(image, size, VERSION, VERSION), "the version itself");
	check_other_versions(image, size);
	check_not_callable(image, size);
	check_other_headers(image, size);
	return 0;
}
