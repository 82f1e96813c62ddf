/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statpage_sites.c - reads the call sites on a statistics page (<mam/statpage.h>). As in
 * statpage_read.c, the page may have any contents, and each word is read once.
 */
#include <mam/statpage.h>

#include <stdatomic.h>
#include <string.h>

#define TRIES_MAX 10
#define VARIANCE_UNIT ((uint64_t)4096)

/* An estimate that this process has read. */
struct estimate {
	uint64_t bytes, blocks, variance;
};

static uint64_t get(const mam_statpage_word *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

/* Values that a writer's race or a damaged page made negative are 0. */
static uint64_t get_count(const mam_statpage_word *word)
{
	uint64_t value = get(word);

	return value > INT64_MAX ? 0 : value;
}

static struct estimate read_estimate(const struct mam_statpage_estimate *live)
{
	return (struct estimate){ .bytes = get_count(&live->bytes),
				  .blocks = get_count(&live->blocks),
				  .variance = get_count(&live->variance) };
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add(struct estimate *to, const struct estimate *more)
{
	to->bytes = plus(to->bytes, more->bytes);
	to->blocks = plus(to->blocks, more->blocks);
	to->variance = plus(to->variance, more->variance);
}

/* Rounded down. */
static uint64_t root(uint64_t number)
{
	uint64_t result = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit != 0; bit >>= 1)
		if ((result | bit) * (result | bit) <= number)
			result |= bit;
	return result;
}

static void describe(const struct estimate *estimate, struct mam_statpage_holder *holder)
{
	holder->bytes = estimate->bytes;
	holder->blocks = plus(estimate->blocks, 512) / 1024;
	holder->error = 2 * VARIANCE_UNIT * root(estimate->variance);
}

static void copy_name(char *to, const mam_statpage_word *from)
{
	for (size_t i = 0; i < MAM_STATPAGE_SITE_NAME / 8; i++) {
		const uint64_t word = get(&from[i]);

		memcpy(to + 8 * i, &word, sizeof(word));
	}
	to[MAM_STATPAGE_SITE_NAME] = '\0';
	for (char *c = to; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	if (to[0] == '\0')
		strcpy(to, "?");
}

/* As mam_statpage_sum(): device 0 has the memory of unknown devices. */
static bool is_of(uint64_t of, int device)
{
	return (of >= MAM_STATPAGE_DEVICES ? 0 : of) == (uint64_t)device;
}

/* Returns false if the place is not in use, or changes too often. */
static bool read_site(const struct mam_statpage_site *site, int device, struct estimate *estimate,
		      char name[MAM_STATPAGE_SITE_NAME + 1])
{
	for (int i = 0; i < TRIES_MAX; i++) {
		uint64_t sequence = get(&site->sequence);
		bool is;

		if (sequence == 0 || (sequence & 1) != 0)
			return false;
		is = is_of(get(&site->device), device);
		*estimate = read_estimate(&site->live);
		copy_name(name, site->name);
		atomic_thread_fence(memory_order_acquire);
		if (get(&site->sequence) == sequence)
			return is && estimate->bytes != 0;
	}
	return false;
}

/* The estimates are of the same order as the holders, and have one place more. */
struct list {
	struct mam_statpage_holder *holders;
	size_t count, room;
	struct estimate estimates[MAM_STATPAGE_SITES + 1];
	struct estimate others;
};

/* Inserts a site among those that are sorted. One that has no place among `room` joins the others. */
static void insert(struct list *list, const struct estimate *estimate, const char *name)
{
	size_t at = list->count;

	while (at > 0 && list->estimates[at - 1].bytes < estimate->bytes)
		at--;
	if (at == list->room) {
		add(&list->others, estimate);
		return;
	}
	if (list->count == list->room)
		add(&list->others, &list->estimates[--list->count]);
	memmove(&list->holders[at + 1], &list->holders[at],
		(list->count - at) * sizeof(*list->holders));
	memmove(&list->estimates[at + 1], &list->estimates[at],
		(list->count - at) * sizeof(*list->estimates));
	list->estimates[at] = *estimate;
	strcpy(list->holders[at].name, name);
	list->count++;
}

size_t mam_statpage_read_sites(const struct mam_statpage *page, int device,
			       struct mam_statpage_holder *holders, size_t room, uint64_t *since,
			       struct mam_statpage_holder *sum)
{
	const struct mam_statpage_sites *all = &page->sites;
	struct list list = { .holders = holders, .room = room - 1 };
	struct estimate total = { 0 }, one;
	char name[MAM_STATPAGE_SITE_NAME + 1];

	memset(sum, 0, sizeof(*sum));
	*since = get(&all->since);
	if (*since == 0 || device < 0 || device >= MAM_STATPAGE_DEVICES)
		return 0;
	if (list.room > MAM_STATPAGE_SITES)
		list.room = MAM_STATPAGE_SITES;
	list.others = read_estimate(&all->others[device]);
	for (size_t i = 0; i < MAM_STATPAGE_SITES; i++)
		if (read_site(&all->sites[i], device, &one, name))
			insert(&list, &one, name);
	for (size_t i = 0; i < list.count; i++) {
		describe(&list.estimates[i], &holders[i]);
		add(&total, &list.estimates[i]);
	}
	add(&total, &list.others);
	describe(&total, sum);
	if (list.others.bytes == 0)
		return list.count;
	holders[list.count].name[0] = '\0';
	describe(&list.others, &holders[list.count]);
	return list.count + 1;
}
