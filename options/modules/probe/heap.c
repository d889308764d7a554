// SPDX-License-Identifier: GPL-2.0
/* Attacks on the slab allocator. */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "probe.h"

/* Does memory from the slab allocator still hold what it held before it was freed? */
static void slab_stale(struct tally *tally)
{
	for (int i = 0; i < TRIES; i++) {
		u8 *before = kmalloc(SIZE, GFP_KERNEL), *after;

		if (!before)
			return;
		memset(before, PATTERN, SIZE);
		OPTIMIZER_HIDE_VAR(before);
		kfree(before);
		after = kmalloc(SIZE, GFP_KERNEL);
		if (after == before)
			count(tally, pattern_left(after, SIZE));
		kfree(after);
	}
}

/* Can what was freed still be read where it was? */
static void slab_freed(struct tally *tally)
{
	for (int i = 0; i < TRIES; i++) {
		u8 *memory = kmalloc(SIZE, GFP_KERNEL);

		if (!memory)
			return;
		memset(memory, PATTERN, SIZE);
		OPTIMIZER_HIDE_VAR(memory);
		kfree(memory);
		count(tally, pattern_left(memory, SIZE));
	}
}

static void constructed(void *object)
{
}

/* Is the object that a new cache gives next as far from the last as that was before? */
static void freelist_order(struct tally *tally)
{
	/* A constructor keeps it from being merged with a cache that was in use. */
	struct kmem_cache *cache = kmem_cache_create("temper_order", 256, 0, 0, constructed);
	static u8 *objects[TRIES];

	if (!cache)
		return;
	for (int i = 0; i < TRIES; i++) {
		objects[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		if (i >= 2)
			count(tally,
			      objects[i] - objects[i - 1] == objects[i - 1] - objects[i - 2]);
	}
	for (int i = 0; i < TRIES; i++)
		if (objects[i])
			kmem_cache_free(cache, objects[i]);
	kmem_cache_destroy(cache);
}

/* Is the order of a slab one after the other, or that of another boot? */
static void freelist_repeats(struct tally *tally)
{
	struct kmem_cache *cache = kmem_cache_create("temper_repeats", 256, 0, 0, constructed);
	bool in_order = true;
	/* A slab has 15 or more. */
	u8 *objects[12];

	for (int i = 0; cache && i < ARRAY_SIZE(objects); i++) {
		objects[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		tally->seen = tally->seen * 31 + (objects[i] - objects[0]);
		in_order &= !i || objects[i] - objects[i - 1] == objects[1] - objects[0];
	}
	for (int i = 0; cache && i < ARRAY_SIZE(objects); i++)
		kmem_cache_free(cache, objects[i]);
	kmem_cache_destroy(cache);
	count(tally, in_order);
}

/* RANDOM_KMALLOC_CACHES chooses by where the function was called that allocates. */
static noinline void *allocate(void)
{
	return kmalloc(SIZE, GFP_KERNEL);
}

/* The declaration at the end takes the semicolon. */
#define PLACE(n)                                                                                   \
	static noinline void *place_##n(void)                                                      \
	{                                                                                          \
		void *memory = allocate();                                                         \
                                                                                                   \
		OPTIMIZER_HIDE_VAR(memory);                                                        \
		return memory;                                                                     \
	}                                                                                          \
	static void *place_##n(void)

PLACE(0);
PLACE(1);
PLACE(2);
PLACE(3);
PLACE(4);
PLACE(5);
PLACE(6);
PLACE(7);
PLACE(8);
PLACE(9);
PLACE(10);
PLACE(11);
PLACE(12);
PLACE(13);
PLACE(14);
PLACE(15);
PLACE(16);

static void *(*const places[])(void) = {
	place_0, place_1,  place_2,  place_3,  place_4,  place_5,  place_6,  place_7,  place_8,
	place_9, place_10, place_11, place_12, place_13, place_14, place_15, place_16,
};

/*
 * Does the other place get what one has just freed? Where a place does not get its own,
 * nothing is learned from another.
 */
static bool place_gets(void *(*one)(void), void *(*other)(void))
{
	void *freed = one(), *taken;

	kfree(freed);
	taken = other();
	kfree(taken);
	return freed && taken == freed;
}

static bool cache_gets(struct kmem_cache *one, struct kmem_cache *other)
{
	void *freed = kmem_cache_alloc(one, GFP_KERNEL), *taken;

	OPTIMIZER_HIDE_VAR(freed);
	kmem_cache_free(one, freed);
	taken = kmem_cache_alloc(other, GFP_KERNEL);
	kmem_cache_free(other, taken);
	return freed && taken == freed;
}

/* Does one place get the memory that another has just freed? */
static void kmalloc_places(struct tally *tally)
{
	for (size_t i = 1; i < ARRAY_SIZE(places); i++)
		if (place_gets(places[0], places[0]))
			count(tally, place_gets(places[0], places[i]));
}

/* Does one cache get the object that another of the same size has just freed? */
static void slab_merge(struct tally *tally)
{
	struct kmem_cache *one = kmem_cache_create("temper_one", SIZE, 0, 0, NULL);
	struct kmem_cache *other = kmem_cache_create("temper_other", SIZE, 0, 0, NULL);

	for (int i = 0; one && other && i < TRIES; i++)
		if (cache_gets(one, one))
			count(tally, cache_gets(one, other));
	kmem_cache_destroy(one);
	kmem_cache_destroy(other);
}

static void copy_from_user_in(struct kmem_cache *cache, const void __user *sent,
			      struct tally *tally)
{
	void *freed, *taken;

	if (!cache || !cache_gets(cache, cache))
		return;
	freed = kmem_cache_alloc(cache, GFP_KERNEL);
	OPTIMIZER_HIDE_VAR(freed);
	kmem_cache_free(cache, freed);
	taken = memdup_user(sent, SIZE);
	if (IS_ERR(taken))
		return;
	count(tally, taken == freed);
	kfree(taken);
}

/*
 * Does a copy of what a user sends get the memory that the kernel has just freed? With
 * RANDOM_KMALLOC_CACHES it can come from any of them, one of which is the copy's.
 */
static void slab_buckets(struct tally *tally)
{
	const void __user *sent = (const void __user *)user_page();

	for (int i = 0; sent && i < TRIES; i++) {
		int type = KMALLOC_NORMAL + i % (KMALLOC_RANDOM_END - KMALLOC_NORMAL + 1);

		copy_from_user_in(kmalloc_caches[type][kmalloc_index(SIZE)], sent, tally);
	}
}

const struct attack heap_attacks[] = {
	{ "slab_stale", slab_stale },         { "slab_freed", slab_freed },
	{ "freelist_order", freelist_order }, { "freelist_repeats", freelist_repeats },
	{ "kmalloc_places", kmalloc_places }, { "slab_merge", slab_merge },
	{ "slab_buckets", slab_buckets },     {},
};
