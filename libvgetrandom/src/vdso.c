// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Finds and reads the kernel's shared object without libc. It checks everything that it reads: the
 * image comes from the kernel, but tools replace it (checkpointing, record and replay), and a wrong
 * function pointer would be worse than none.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "libc.h"
#include "sys.h"
#include "vdso.h"

#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856
#endif

enum {
	/* Many times what kernels have; do not trust a larger image. */
	SIZE_MAX_SANE = 1 << 16,
	/* Always mapped, so that headers in it can be read before the size is known. */
	SIZE_MIN = 4096,
	AUXV_MAX = 64,
};

struct image {
	const uint8_t *base;
	size_t size;
};

struct symbols {
	const Elf64_Sym *symbols;
	const char *strings;
	size_t strings_size;
	const Elf64_Half *versions;
	uint32_t count;
	Elf64_Half version_index;
};

const void *vgr_vdso_image(void)
{
	Elf64_auxv_t auxv[AUXV_MAX];
	const void *told = vgr_libc_vdso_image();
	long len;

	/* Tools that replace or hide the image tell libc, not the kernel. */
	if (told != LIBC_CANNOT_TELL)
		return told;
	len = sys_prctl(PR_GET_AUXV, auxv, sizeof(auxv));
	for (long i = 0; i < AUXV_MAX && (i + 1) * (long)sizeof(*auxv) <= len; i++) {
		if (auxv[i].a_type == AT_SYSINFO_EHDR)
			/* NOLINTNEXTLINE(performance-no-int-to-ptr): an integer by nature. */
			return (const void *)auxv[i].a_un.a_val;
	}
	return NULL;
}

/* The bytes [offset, offset + len) of the image, or NULL if they are not all in it. */
static const void *bytes_at(struct image image, uint64_t offset, uint64_t len, size_t align)
{
	if (offset > image.size || len > image.size - offset || offset % align)
		return NULL;
	return image.base + offset;
}

static const Elf64_Phdr *program_headers(struct image image, unsigned int *count)
{
	const Elf64_Ehdr *header = bytes_at(image, 0, sizeof(*header), 8);

	if (!header || header->e_ident[EI_MAG0] != ELFMAG0 || header->e_ident[EI_MAG1] != ELFMAG1 ||
	    header->e_ident[EI_MAG2] != ELFMAG2 || header->e_ident[EI_MAG3] != ELFMAG3 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_phentsize != sizeof(Elf64_Phdr))
		return NULL;
	*count = header->e_phnum;
	return bytes_at(image, header->e_phoff, *count * sizeof(Elf64_Phdr), 8);
}

static const Elf64_Phdr *find_segment(struct image image, Elf64_Word type)
{
	unsigned int count = 0;
	const Elf64_Phdr *headers = program_headers(image, &count);

	for (unsigned int i = 0; headers && i < count; i++) {
		if (headers[i].p_type == type)
			return &headers[i];
	}
	return NULL;
}

size_t vgr_vdso_size(const void *base)
{
	struct image first_page = { base, SIZE_MIN };
	const Elf64_Phdr *load = find_segment(first_page, PT_LOAD);

	if (!load || load->p_offset != 0 || load->p_filesz > SIZE_MAX_SANE)
		return 0;
	return load->p_filesz;
}

/* Addresses in the image are relative to the preferred address of its only segment. */
static uint64_t offset_of(uint64_t address, const Elf64_Phdr *load)
{
	return address - load->p_vaddr;
}

/* The value of a tag in the dynamic section; 0 if it is not there. */
static uint64_t dynamic_value(struct image image, Elf64_Sxword tag)
{
	const Elf64_Phdr *segment = find_segment(image, PT_DYNAMIC);
	const Elf64_Dyn *entries;

	if (!segment)
		return 0;
	entries = bytes_at(image, segment->p_offset, segment->p_filesz, 8);
	for (size_t i = 0; entries && i < segment->p_filesz / sizeof(*entries); i++) {
		if (entries[i].d_tag == DT_NULL)
			return 0;
		if (entries[i].d_tag == tag)
			return entries[i].d_un.d_val;
	}
	return 0;
}

static bool string_is(const struct symbols *table, uint32_t at, const char *wanted)
{
	for (; at < table->strings_size; at++, wanted++) {
		if (table->strings[at] != *wanted)
			return false;
		if (!*wanted)
			return true;
	}
	return false;
}

/* DT_HASH has the number of symbols: it is the number of chains. */
static uint32_t symbols_by_hash(struct image image, uint64_t offset)
{
	const uint32_t *hash = bytes_at(image, offset, 2 * sizeof(*hash), 4);

	return hash ? hash[1] : 0;
}

/* DT_GNU_HASH has not: the last symbol is at the end of the chain that starts last. */
static uint32_t symbols_by_gnu_hash(struct image image, uint64_t offset)
{
	const uint32_t *hash = bytes_at(image, offset, 4 * sizeof(*hash), 4);
	const uint32_t *buckets;
	uint64_t chains, last = 0;

	if (!hash)
		return 0;
	offset += 4 * sizeof(*hash) + (uint64_t)hash[2] * sizeof(uint64_t);
	buckets = bytes_at(image, offset, (uint64_t)hash[0] * sizeof(*buckets), 4);
	if (!buckets)
		return 0;
	for (uint32_t i = 0; i < hash[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < hash[1])
		return 0;
	chains = offset + (uint64_t)hash[0] * sizeof(*buckets);
	for (;; last++) {
		const uint32_t *link = bytes_at(image, chains + (last - hash[1]) * sizeof(*link),
						sizeof(*link), 4);

		if (!link)
			return 0;
		if (*link & 1)
			return (uint32_t)last + 1;
	}
}

static uint32_t count_symbols(struct image image, const Elf64_Phdr *load)
{
	uint64_t hash = dynamic_value(image, DT_HASH);

	/* Newer kernels have no DT_HASH. */
	if (hash)
		return symbols_by_hash(image, offset_of(hash, load));
	hash = dynamic_value(image, DT_GNU_HASH);
	return hash ? symbols_by_gnu_hash(image, offset_of(hash, load)) : 0;
}

/* The index of this version in the symbols; 0 if the image does not define it. */
static Elf64_Half find_version(struct image image, const Elf64_Phdr *load,
			       const struct symbols *table, const char *version)
{
	uint64_t offset = offset_of(dynamic_value(image, DT_VERDEF), load);
	uint64_t count = dynamic_value(image, DT_VERDEFNUM);

	for (uint64_t i = 0; i < count; i++) {
		const Elf64_Verdef *definition = bytes_at(image, offset, sizeof(*definition), 4);
		const Elf64_Verdaux *name;

		if (!definition)
			return 0;
		name = bytes_at(image, offset + definition->vd_aux, sizeof(*name), 4);
		if (!(definition->vd_flags & VER_FLG_BASE) && name &&
		    string_is(table, name->vda_name, version))
			return definition->vd_ndx & 0x7fff;
		if (!definition->vd_next)
			return 0;
		offset += definition->vd_next;
	}
	return 0;
}

static bool read_symbols(struct image image, const Elf64_Phdr *load, const char *version,
			 struct symbols *table)
{
	table->strings_size = dynamic_value(image, DT_STRSZ);
	table->strings = bytes_at(image, offset_of(dynamic_value(image, DT_STRTAB), load),
				  table->strings_size, 1);
	table->count = count_symbols(image, load);
	table->symbols = bytes_at(image, offset_of(dynamic_value(image, DT_SYMTAB), load),
				  (uint64_t)table->count * sizeof(*table->symbols), 8);
	table->versions = bytes_at(image, offset_of(dynamic_value(image, DT_VERSYM), load),
				   (uint64_t)table->count * sizeof(*table->versions), 2);
	if (!table->strings || !table->symbols || !table->versions)
		return false;
	table->version_index = find_version(image, load, table, version);
	return table->version_index != 0;
}

/* The code of a symbol, or NULL if it is not a function that can be called. */
static const void *function_code(struct image image, const Elf64_Phdr *load,
				 const Elf64_Sym *symbol)
{
	unsigned char bind = ELF64_ST_BIND(symbol->st_info);

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
	    (bind != STB_GLOBAL && bind != STB_WEAK) || !symbol->st_size)
		return NULL;
	return bytes_at(image, offset_of(symbol->st_value, load), symbol->st_size, 1);
}

const void *vgr_vdso_function(const void *base, size_t size, const char *name, const char *version)
{
	struct image image = { base, size };
	const Elf64_Phdr *load = find_segment(image, PT_LOAD);
	struct symbols table;

	if (!load || !read_symbols(image, load, version, &table))
		return NULL;
	for (uint32_t i = 0; i < table.count; i++) {
		if ((table.versions[i] & 0x7fff) == table.version_index &&
		    string_is(&table, table.symbols[i].st_name, name))
			return function_code(image, load, &table.symbols[i]);
	}
	return NULL;
}
