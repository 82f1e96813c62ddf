/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any contents as a statistics page, for mam info --stats. The input is a list of changes to a page
 * of zeros with a valid heading: a place of three bytes, a length of one, and that many bytes; place
 * and length 0 end the list, and the file has as many bytes as the number that follows, if any.
 * The figures are the same each time, a device's are not read outside of the page, and the table has
 * one row per device that is in use, or one message.
 */
#include <mam/statpage.h>

#include "command.h"
#include "info/info.h"
#include "info/stats_page.h"
#include "fuzz.h"

/* Returns the size of the file. */
static size_t change(struct mam_statpage *page, const uint8_t *data, size_t bytes)
{
	struct fuzz_bytes input = { data, data + bytes };

	while (fuzz_left(&input) != 0) {
		size_t at = fuzz_number(&input, 3), length = fuzz_byte(&input);

		if (at == 0 && length == 0)
			return fuzz_left(&input) == 0 ? MAM_STATPAGE_BYTES : fuzz_number(&input, 3);
		for (size_t i = 0; i < length; i++)
			((uint8_t *)page)[(at + i) % sizeof(*page)] = (uint8_t)fuzz_byte(&input);
	}
	return MAM_STATPAGE_BYTES;
}

static void check_figures(const struct mam_statpage *page)
{
	struct mam_statpage_figures figures, again;
	uint64_t pools = 0;

	for (int device = 0; device < MAM_STATPAGE_DEVICES; device++) {
		mam_statpage_sum(page, device, &figures);
		mam_statpage_sum(page, device, &again);
		require(memcmp(&figures, &again, sizeof(figures)) == 0, "a page has two sums");
		require(figures.is_used || figures.pools == 0, "a device with a pool is not used");
		pools += figures.pools;
	}
	mam_statpage_sum(page, -1, &figures);
	require(figures.pools == pools && pools <= MAM_STATPAGE_POOLS,
		"a pool belongs to no device, or to two");
}

/* Sums do not depend on how many sites are listed, and lists are sorted. */
static void check_sites(const struct mam_statpage *page)
{
	static struct mam_statpage_holder holders[MAM_STATPAGE_SITES + 1], few[3];
	struct mam_statpage_holder sum, again;
	uint64_t since, bytes = 0;
	size_t count, all;

	for (int device = -1; device <= MAM_STATPAGE_DEVICES; device++) {
		all = mam_statpage_read_sites(page, device, holders, MAM_STATPAGE_SITES + 1, &since,
					      &sum);
		count = mam_statpage_read_sites(page, device, few, 3, &since, &again);
		require(since != 0 || all == 0, "a page without samples has sites");
		require(all <= MAM_STATPAGE_SITES + 1 && count <= 3 && count <= all,
			"there are too many sites");
		require(sum.bytes == again.bytes && sum.blocks == again.blocks,
			"two lists have different sums");
		bytes = 0;
		for (size_t i = 0; i < all; i++) {
			require(memchr(holders[i].name, '\0', sizeof(holders[i].name)) != NULL,
				"a name does not end");
			require(i == 0 || holders[i].name[0] == '\0' ||
					holders[i].bytes <= holders[i - 1].bytes,
				"sites are not sorted");
			require(holders[i].name[0] != '\0' || i + 1 == all,
				"the others are not the last");
			bytes = bytes + holders[i].bytes < bytes ? UINT64_MAX
								 : bytes + holders[i].bytes;
		}
		require(bytes == sum.bytes, "a site is not in the sum");
	}
}

static void check_table(char *path, bool good)
{
	struct fuzz_heard heard;
	int status;

	for (int plain = 0; plain < 2; plain++) {
		fuzz_heard_begin(&heard);
		status = info_stats(1, &path, plain != 0);
		fuzz_heard_end(&heard);
		require(good || status != STATUS_GOOD, "a table of an invalid page");
		require(fuzz_sentences(&heard) == (status != STATUS_GOOD),
			"not one message per error");
		require((heard.printed_bytes != 0) == (status == STATUS_GOOD),
			"output beside an error");
		require(strstr(heard.printed, "nan") == NULL &&
				strstr(heard.printed, "inf") == NULL,
			"a quotient is not a number");
		fuzz_heard_free(&heard);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct fuzz_file input;
	struct mam_statpage *page = (struct mam_statpage *)aligned_alloc(128, sizeof(*page));
	size_t size;
	bool good;

	require(page != NULL, "no memory");
	memset(page, 0, sizeof(*page));
	page->magic = MAM_STATPAGE_MAGIC;
	page->bytes = MAM_STATPAGE_BYTES;
	size = change(page, data, bytes);
	check_figures(page);
	check_sites(page);
	good = mam_statpage_is_sound(page, size);
	fuzz_file_put(&input, page, sizeof(*page));
	require(ftruncate(input.descriptor, (off_t)size) == 0, "cannot set the size of a file");
	if (stats_page_is(input.path))
		check_table(input.path, good);
	else
		require(!good, "a page is not recognized");
	free(page);
	return 0;
}
