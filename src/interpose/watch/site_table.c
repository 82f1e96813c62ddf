/* SPDX-License-Identifier: Apache-2.0 */
/* site_table.c - see site_table.h. */
#include "interpose/watch/site_table.h"

#include <stdatomic.h>
#include <string.h>

#define BLOCK 1024.0
#define UNIT (4096.0 * 4096.0)
#define DEVICE_SHIFT 56 /* in a key */

static uint64_t get(const mam_statpage_word *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void set(mam_statpage_word *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

/* sign: 1 or -1; sums wrap around, so that the order of changes does not matter */
static void change(struct mam_statpage_estimate *live, const struct mam_statpage_estimate *more,
		   uint64_t sign)
{
	set(&live->bytes, get(&live->bytes) + sign * get(&more->bytes));
	set(&live->blocks, get(&live->blocks) + sign * get(&more->blocks));
	set(&live->variance, get(&live->variance) + sign * get(&more->variance));
}

static void clear(struct mam_statpage_estimate *live)
{
	set(&live->bytes, 0);
	set(&live->blocks, 0);
	set(&live->variance, 0);
}

/* A reader that saw a part of the old site sees that the sequence has changed. */
static void replace(struct mam_site_table *table, struct mam_statpage_sites *page, size_t number,
		    int device, const char *name)
{
	struct mam_statpage_site *site = &page->sites[number];
	uint64_t sequence = table->sequence[number], word;
	char text[MAM_STATPAGE_SITE_NAME] = "";

	memcpy(text, name, strnlen(name, sizeof(text)));
	set(&site->sequence, sequence + 1);
	atomic_thread_fence(memory_order_release);
	clear(&site->live);
	set(&site->device, (uint64_t)device);
	for (size_t i = 0; i < MAM_STATPAGE_SITE_NAME / 8; i++) {
		memcpy(&word, text + 8 * i, sizeof(word));
		set(&site->name[i], word);
	}
	atomic_store_explicit(&site->sequence, sequence + 2, memory_order_release);
	table->sequence[number] = sequence + 2;
}

void mam_site_table_begin(struct mam_site_table *table, struct mam_statpage_sites *page,
			  uint64_t since)
{
	set(&page->since, 0);
	memset(table->key, 0, sizeof(table->key));
	for (size_t i = 0; i < MAM_STATPAGE_SITES; i++)
		replace(table, page, i, 0, "");
	for (size_t i = 0; i < MAM_STATPAGE_DEVICES; i++)
		clear(&page->others[i]);
	atomic_store_explicit(&page->since, since, memory_order_release);
}

/* Returns the number of a free place or, if there is none, of the site with the fewest bytes. */
static size_t choose(const struct mam_site_table *table, const struct mam_statpage_sites *page)
{
	uint64_t least = UINT64_MAX, bytes;
	size_t chosen = 0;

	for (size_t i = 0; i < MAM_STATPAGE_SITES; i++) {
		if (table->key[i] == 0)
			return i;
		bytes = get(&page->sites[i].live.bytes);
		if (bytes < least) {
			least = bytes;
			chosen = i;
		}
	}
	return chosen;
}

struct mam_site_place mam_site_table_find(struct mam_site_table *table,
					  struct mam_statpage_sites *page, uint64_t key, int device,
					  const char *name)
{
	const unsigned int known = device < 0 || device >= MAM_STATPAGE_DEVICES ? 0 : device;
	size_t number = 0;

	key |= (uint64_t)known << DEVICE_SHIFT;
	while (number < MAM_STATPAGE_SITES && table->key[number] != key)
		number++;
	if (number == MAM_STATPAGE_SITES) {
		number = choose(table, page);
		if (table->key[number] != 0)
			change(&page->others[table->key[number] >> DEVICE_SHIFT],
			       &page->sites[number].live, 1);
		table->key[number] = key;
		replace(table, page, number, (int)known, name);
	}
	return (struct mam_site_place){ .number = (uint16_t)number,
					.device = (uint16_t)known,
					.sequence = table->sequence[number] };
}

static void count(const struct mam_site_table *table, struct mam_statpage_sites *page,
		  const struct mam_site_place *place, uint64_t bytes, double probability,
		  uint64_t sign)
{
	const double one = (double)bytes / probability;
	const struct mam_statpage_estimate more = {
		.bytes = (uint64_t)(one + 0.5),
		.blocks = (uint64_t)(BLOCK / probability + 0.5),
		.variance = (uint64_t)(one * one * (1 - probability) / UNIT + 0.5),
	};

	change(table->sequence[place->number] == place->sequence ? &page->sites[place->number].live
								 : &page->others[place->device],
	       &more, sign);
}

void mam_site_table_add(const struct mam_site_table *table, struct mam_statpage_sites *page,
			const struct mam_site_place *place, uint64_t bytes, double probability)
{
	count(table, page, place, bytes, probability, 1);
}

void mam_site_table_subtract(const struct mam_site_table *table, struct mam_statpage_sites *page,
			     const struct mam_site_place *place, uint64_t bytes, double probability)
{
	count(table, page, place, bytes, probability, UINT64_MAX);
}
