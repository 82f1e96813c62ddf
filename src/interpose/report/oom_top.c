/* SPDX-License-Identifier: Apache-2.0 */
/* oom_top.c - see oom_top.h. Open addressing with linear probing, at most three quarters full. */
#include "interpose/report/oom_top.h"

#include <string.h>

#define USED_MAX (MAM_OOM_TOP_SLOTS / 4 * 3)

void mam_oom_top_add(struct mam_oom_top *top, uint64_t key, uint64_t bytes)
{
	size_t at = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 40) & (MAM_OOM_TOP_SLOTS - 1);
	struct mam_oom_sum *sum;

	while (top->slots[at].blocks != 0 && top->slots[at].key != key)
		at = (at + 1) & (MAM_OOM_TOP_SLOTS - 1);
	sum = &top->slots[at];
	if (sum->blocks == 0 && top->used == USED_MAX) {
		sum = &top->others;
	} else if (sum->blocks == 0) {
		sum->key = key;
		top->used++;
	}
	sum->blocks++;
	sum->bytes += bytes;
}

size_t mam_oom_top_largest(const struct mam_oom_top *top, struct mam_oom_sum *largest, size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < MAM_OOM_TOP_SLOTS; i++) {
		const struct mam_oom_sum *sum = &top->slots[i];
		size_t at = count;

		while (at > 0 && largest[at - 1].bytes < sum->bytes)
			at--;
		if (sum->blocks == 0 || at == room)
			continue;
		if (count < room)
			count++;
		memmove(&largest[at + 1], &largest[at], (count - at - 1) * sizeof(*largest));
		largest[at] = *sum;
	}
	return count;
}
