/* SPDX-License-Identifier: Apache-2.0 */
/* Large objects through the slots of a mailbox, and invalid messages in them. */
#include "post_kit.h"

static const struct mam_post_config plain = { .max_bytes = UINT64_MAX, .root_bytes = 64 * MIB };

START_TEST(object_is_allocated_and_freed)
{
	struct kit *kit = kit_new(&plain);

	kit_send(kit, 7, MAM_MAIL_ALLOC, 300 * KIB + 1);
	ck_assert(mam_post_look(&kit->box));
	ck_assert_uint_eq(kit_answer(kit, 7), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit->mail.answer[7].address, kit->pool.block[0].address);
	ck_assert_uint_eq(kit->pool.block[0].bytes, 301 * KIB);
	ck_assert_uint_eq(kit->mail.answer[7].address % 1024, 0);
	ck_assert_uint_eq(kit->box.counts.large, 1);
	ck_assert_uint_eq(kit->box.counts.large_bytes, 301 * KIB);
	ck_assert(!mam_post_look(&kit->box));
	kit_send(kit, 7, MAM_MAIL_FREE, kit->mail.answer[7].address);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 7), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit->pool.blocks, 0);
	ck_assert_uint_eq(kit->box.counts.large, 0);
	ck_assert_uint_eq(kit->box.held, 64 * MIB);
	kit_end(kit);
}
END_TEST

START_TEST(all_slots_are_reusable)
{
	struct kit *kit = kit_new(&plain);

	for (unsigned int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < MAM_MAIL_SLOTS; i++)
			kit_send(kit, i, MAM_MAIL_ALLOC, 300 * KIB);
		ck_assert_uint_le(kit_look(kit), round == 0 ? 4 : 1);
		ck_assert_uint_eq(kit->box.counts.large, MAM_MAIL_SLOTS);
		for (uint32_t i = 0; i < MAM_MAIL_SLOTS; i++) {
			ck_assert_uint_eq(kit_answer(kit, i), MAM_MAIL_GIVEN);
			kit_send(kit, i, MAM_MAIL_FREE, kit->mail.answer[i].address);
		}
		kit_look(kit);
		ck_assert_uint_eq(kit->box.counts.large, 0);
	}
	ck_assert_uint_eq(kit->box.counts.asks, 3 * MAM_MAIL_SLOTS);
	kit_end(kit);
}
END_TEST

/* Puts `count` objects into records, through a few slots, and checks where each record is. */
static void fill(struct kit *kit, uint64_t *address, unsigned int count)
{
	const struct mam_mail_answer *answer;
	uint64_t table, record;

	for (unsigned int i = 0; i < count; i++) {
		answer = &kit->mail.answer[i % 7];
		kit_send(kit, i % 7, MAM_MAIL_ALLOC, 300 * KIB);
		kit_look(kit);
		ck_assert_uint_eq(kit_answer(kit, i % 7), MAM_MAIL_GIVEN);
		address[i] = answer->address;
		for (table = answer->tables;; table--) {
			record = answer->record -
				 (table ? kit->mail.large_table[table - 1] : kit->box.config.large);
			if (record < mam_large_table_bytes((uint32_t)table))
				break;
			ck_assert_uint_ne(table, 0);
		}
		record /= sizeof(struct mam_large);
		ck_assert_uint_eq(record / MAM_LARGE_ROW * MAM_LARGE_ROW,
				  mam_large_row(address[i], (uint32_t)table));
		ck_assert_uint_eq(kit->box.table[table].large[record].address, address[i]);
	}
}

START_TEST(records_grow_with_objects)
{
	enum { OBJECTS = 3900 };
	struct kit *kit = kit_new(&plain);
	uint64_t *address = calloc(OBJECTS, sizeof(*address)), bytes = 0;

	ck_assert_ptr_nonnull(address);
	fill(kit, address, OBJECTS);
	ck_assert_uint_eq(kit->box.counts.large, OBJECTS);
	/* A record for each, and not too many. */
	ck_assert_uint_ge(kit->box.tables, 4);
	ck_assert_uint_le(kit->box.tables, 6);
	ck_assert_uint_eq(kit->pool.blocks, OBJECTS + kit->box.tables - 1);
	for (unsigned int i = 0; i < OBJECTS; i += 2) {
		kit_send(kit, i % 5, MAM_MAIL_FREE, address[i]);
		kit_look(kit);
		ck_assert_uint_eq(kit_answer(kit, i % 5), MAM_MAIL_GIVEN);
		kit_send(kit, i % 5, MAM_MAIL_FREE, address[i]);
		kit_look(kit);
		ck_assert_uint_eq(kit_answer(kit, i % 5), MAM_MAIL_BAD);
	}
	ck_assert_uint_eq(kit->box.counts.large, OBJECTS / 2);
	/* Records are reused: no more tables. */
	bytes = kit->box.counts.table_bytes;
	fill(kit, address, OBJECTS / 2);
	ck_assert_uint_eq(kit->box.counts.table_bytes, bytes);
	bytes = 0;
	mam_post_forget(&kit->box, &bytes);
	ck_assert_uint_gt(bytes, (uint64_t)OBJECTS * 300 * KIB);
	ck_assert_uint_eq(kit->pool.blocks, 0);
	ck_assert_uint_eq(kit->mail.large_table[0], 0);
	free(address);
	kit_end(kit);
}
END_TEST

/* While a table is not zero yet, objects that need it wait, and frees are served. */
START_TEST(object_waits_for_table)
{
	struct kit *kit = kit_new(&plain);
	uint64_t first[600];
	unsigned int count = 0;

	kit->pool.slow = KIT_NEVER;
	while (count < 600) {
		kit_send(kit, 0, MAM_MAIL_ALLOC, 300 * KIB);
		for (unsigned int i = 0; i < 5; i++)
			(void)mam_post_look(&kit->box);
		if (!kit_answered(kit, 0))
			break;
		first[count++] = kit->mail.answer[0].address;
	}
	ck_assert_uint_gt(count, 100);
	ck_assert_uint_lt(count, 513);
	ck_assert(kit->box.cramped);
	ck_assert_uint_eq(kit->pool.blocks, count + 1);
	kit_send(kit, 1, MAM_MAIL_FREE, first[0]);
	ck_assert(mam_post_look(&kit->box));
	ck_assert_uint_eq(kit_answer(kit, 1), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit->mail.large_table[0], 0);
	/* It is zero now. */
	kit->pool.slow = 0;
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit->mail.answer[0].tables, 1);
	ck_assert_uint_ne(kit->mail.large_table[0], 0);
	kit_end(kit);
}
END_TEST

/* Without a table the request fails, and the pool has its memory. */
START_TEST(table_may_be_unavailable)
{
	struct kit *kit = kit_new(&plain);
	unsigned int count = 0;

	kit->pool.unzeroable = _i == 0;
	kit->pool.no_tables = _i == 1;
	for (; count < 600; count++) {
		kit_send(kit, 0, MAM_MAIL_ALLOC, 300 * KIB);
		kit_look(kit);
		if (kit_answer(kit, 0) != MAM_MAIL_GIVEN)
			break;
	}
	ck_assert_uint_gt(count, 100);
	ck_assert_uint_lt(count, 513);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_FULL);
	ck_assert_uint_eq(kit->pool.blocks, count);
	/* Then it works again. */
	kit->pool.unzeroable = false;
	kit->pool.no_tables = false;
	kit_send(kit, 0, MAM_MAIL_ALLOC, 300 * KIB);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_GIVEN);
	kit_end(kit);
}
END_TEST

/* A CANCEL means the request before it, and not an object that a lane got earlier in this slot. */
START_TEST(cancel_of_unseen_request_frees_nothing)
{
	struct kit *kit = kit_new(&plain);

	kit_send(kit, 0, MAM_MAIL_ALLOC, 300 * KIB);
	kit_look(kit);
	kit_send(kit, 0, MAM_MAIL_ALLOC, 300 * KIB);
	kit_send(kit, 0, MAM_MAIL_CANCEL, 0);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit->pool.blocks, 1);
	kit_send(kit, 0, MAM_MAIL_CANCEL, 0);
	kit_look(kit);
	ck_assert_uint_eq(kit->pool.blocks, 1);
	kit_end(kit);
}
END_TEST

START_TEST(lost_knock_is_found_by_scan)
{
	struct kit *kit = kit_new(&plain);

	for (unsigned int i = 0; i < 3; i++)
		(void)mam_post_look(&kit->box);
	kit_send(kit, 0, MAM_MAIL_ALLOC, 300 * KIB);
	kit->mail.knock--;
	for (unsigned int i = 0; i < MAM_POST_SCAN; i++)
		(void)mam_post_look(&kit->box);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_GIVEN);
	kit_end(kit);
}
END_TEST

START_TEST(cancel_frees_object)
{
	struct kit *kit = kit_new(&plain);

	/* A request that was answered. */
	kit_send(kit, 0, MAM_MAIL_ALLOC, 300 * KIB);
	kit_look(kit);
	kit_send(kit, 0, MAM_MAIL_CANCEL, 0);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit->pool.blocks, 0);
	/* A pending request: no memory is allocated for it any more. */
	kit->pool.mapped = 0;
	kit_send(kit, 0, MAM_MAIL_ALLOC, 300 * KIB);
	kit_send(kit, 1, MAM_MAIL_ALLOC, 300 * KIB);
	(void)mam_post_look(&kit->box);
	ck_assert_uint_eq(kit->pool.blocks, 1);
	ck_assert(kit_answered(kit, 0) && !kit_answered(kit, 1));
	kit_send(kit, 1, MAM_MAIL_CANCEL, 0);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 1), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit->pool.blocks, 1);
	/* A request that the host never saw. */
	kit_send(kit, 2, MAM_MAIL_ALLOC, 300 * KIB);
	kit_send(kit, 2, MAM_MAIL_CANCEL, 0);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 2), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit->pool.blocks, 1);
	ck_assert_uint_eq(kit->box.counts.bad, 0);
	kit_end(kit);
}
END_TEST

START_TEST(invalid_message_is_rejected)
{
	struct kit *kit = kit_new(&plain);
	uint64_t address;
	unsigned int bad = 0;

	kit_send(kit, 0, MAM_MAIL_ALLOC, 0);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_BAD);
	ck_assert_uint_eq(kit->box.counts.bad, ++bad);
	kit_send(kit, 0, MAM_MAIL_ALLOC, UINT64_MAX);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_BAD);
	ck_assert_uint_eq(kit->box.counts.bad, ++bad);
	kit_send(kit, 0, 77, 300 * KIB);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_BAD);
	ck_assert_uint_eq(kit->box.counts.bad, ++bad);
	kit_send(kit, 0, MAM_MAIL_NOTHING, 0);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_BAD);
	ck_assert_uint_eq(kit->box.counts.bad, ++bad);
	/* Nothing was allocated, so nothing can be freed. */
	kit_send(kit, 0, MAM_MAIL_FREE, 0);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_BAD);
	ck_assert_uint_eq(kit->box.counts.bad, ++bad);
	ck_assert_uint_eq(kit->pool.takes + kit->pool.gives, 0);

	kit_send(kit, 0, MAM_MAIL_ALLOC, 300 * KIB);
	kit_look(kit);
	address = kit->mail.answer[0].address;
	kit_send(kit, 0, MAM_MAIL_FREE, address + 1024);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_BAD);
	ck_assert_uint_eq(kit->box.counts.bad, ++bad);
	/* An old generation, also the previous one. */
	kit->generation[0]--;
	kit_send(kit, 0, MAM_MAIL_CANCEL, address);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_BAD);
	ck_assert_uint_eq(kit->box.counts.bad, ++bad);
	ck_assert_uint_eq(kit->pool.blocks, 1);
	kit->generation[0] -= 2;
	kit_send(kit, 0, MAM_MAIL_FREE, address);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_BAD);
	ck_assert_uint_eq(kit->box.counts.bad, ++bad);
	ck_assert_uint_eq(kit->pool.blocks, 1);
	/* The slot still works after all that. */
	kit->generation[0] += 2;
	kit_send(kit, 0, MAM_MAIL_FREE, address);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit->pool.blocks, 0);
	kit_end(kit);
}
END_TEST

START_TEST(limit_covers_grants_and_objects)
{
	const struct mam_post_config config = { .max_bytes = 100 * MIB, .root_bytes = 64 * MIB };
	struct kit *kit = kit_new(&config);

	kit_send(kit, 0, MAM_MAIL_ALLOC, 30 * MIB);
	kit_send(kit, 1, MAM_MAIL_ALLOC, 30 * MIB);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 0), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit_answer(kit, 1), MAM_MAIL_LIMIT);
	kit_ask(kit);
	kit_look(kit);
	ck_assert_uint_eq((uint64_t)kit_grant(kit).blocks << 16, 6 * MIB);
	kit_send(kit, 0, MAM_MAIL_FREE, kit->mail.answer[0].address);
	kit_look(kit);
	kit_send(kit, 1, MAM_MAIL_ALLOC, 30 * MIB);
	kit_look(kit);
	ck_assert_uint_eq(kit_answer(kit, 1), MAM_MAIL_GIVEN);
	kit_end(kit);
}
END_TEST

/* Requests that need no new memory are answered first; then one request for new memory per look. */
START_TEST(requests_without_new_memory_come_first)
{
	struct kit *kit = kit_new(&plain);

	kit->pool.mapped = 600 * KIB;
	kit_ask(kit);
	kit_send(kit, 5, MAM_MAIL_ALLOC, 4 * MIB);
	kit_send(kit, 6, MAM_MAIL_ALLOC, 300 * KIB);
	kit_send(kit, 7, MAM_MAIL_ALLOC, 300 * KIB);
	(void)mam_post_look(&kit->box);
	ck_assert(kit_answered(kit, 6) && kit_answered(kit, 7) && !kit_answered(kit, 5));
	ck_assert_uint_eq(kit->mail.posted, 1); /* grants first */
	ck_assert_uint_eq(kit->pool.news, 1);
	kit_send(kit, 6, MAM_MAIL_FREE, kit->mail.answer[6].address);
	(void)mam_post_look(&kit->box);
	ck_assert(kit_answered(kit, 5));
	ck_assert_uint_eq(kit_answer(kit, 6), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit->pool.news, 2);
	kit_end(kit);
}
END_TEST

START_TEST(one_refusal_answers_all_of_that_size)
{
	struct kit *kit = kit_new(&plain);

	kit->pool.mapped = 0;
	kit->pool.max = MIB;
	for (uint32_t i = 0; i < 100; i++)
		kit_send(kit, i, MAM_MAIL_ALLOC, (i % 2 ? 300 * KIB : (2 + i) * MIB));
	kit_look(kit);
	for (uint32_t i = 0; i < 100; i++)
		ck_assert_uint_eq(kit_answer(kit, i), i % 2 ? MAM_MAIL_GIVEN : MAM_MAIL_FULL);
	ck_assert_uint_eq(kit->pool.news, 51);
	ck_assert_uint_eq(kit->box.counts.refusals, 50);
	kit_end(kit);
}
END_TEST

START_TEST(slots_are_new_after_reset)
{
	struct kit *kit = kit_new(&plain);
	uint64_t bytes = 0;

	kit->pool.mapped = 300 * KIB;
	for (unsigned int i = 0; i < 3; i++) {
		kit->generation[i] = 5;
		kit_send(kit, i, MAM_MAIL_ALLOC, 300 * KIB);
	}
	(void)mam_post_look(
		&kit->box); /* one from existing memory, one from new memory, and one waits */
	ck_assert(kit_answered(kit, 0) && kit_answered(kit, 1) && !kit_answered(kit, 2));
	kit_send(kit, 3, MAM_MAIL_ALLOC, 300 * KIB); /* the host does not look any more */
	mam_post_forget(&kit->box, &bytes);
	ck_assert_uint_eq(bytes, 600 * KIB);
	ck_assert_uint_eq(kit->pool.blocks, 0);
	for (unsigned int i = 0; i < 20; i++)
		ck_assert(!mam_post_look(&kit->box));
	ck_assert_uint_eq(kit->pool.blocks, 0);
	/* With generations that continue, and with new ones. */
	kit->generation[1] = 0;
	kit->pool.mapped = GIB;
	for (unsigned int i = 0; i < 3; i++)
		kit_send(kit, i, MAM_MAIL_ALLOC, 300 * KIB);
	kit_look(kit);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_uint_eq(kit_answer(kit, i), MAM_MAIL_GIVEN);
	ck_assert_uint_eq(kit->box.counts.bad, 0);
	kit_end(kit);
}
END_TEST

START_TEST(destroyed_pool_refuses_requests)
{
	struct kit *kit = kit_new(&plain);

	kit->pool.gone = true;
	for (uint32_t i = 0; i < 10; i++)
		kit_send(kit, i, MAM_MAIL_ALLOC, 300 * KIB);
	kit_look(kit);
	for (uint32_t i = 0; i < 10; i++)
		ck_assert_uint_eq(kit_answer(kit, i), MAM_MAIL_ENDED);
	kit_end(kit);
}
END_TEST

/* The address of an object, often of the last one; 0 if there is none. */
static uint64_t some_object(const struct kit *kit, unsigned int *seed)
{
	uint64_t address = 0;

	for (uint32_t i = 0; i < MAM_LARGE_ROWS * MAM_LARGE_ROW; i++)
		if (kit->box.first[i].address != 0 && (address == 0 || rand_r(seed) % 2))
			address = kit->box.first[i].address;
	return address;
}

/* A device that writes random values. */
static void scribble(struct kit *kit, unsigned int *seed)
{
	unsigned char *bytes = (unsigned char *)&kit->mail;
	uint32_t slot = (uint32_t)rand_r(seed) % MAM_MAIL_SLOTS;
	unsigned int what = (unsigned int)rand_r(seed) % 8;

	switch (what) {
	case 0: /* any byte, of the host's words too */
		for (unsigned int i = 0; i < 64; i++)
			bytes[(unsigned int)rand_r(seed) % sizeof(kit->mail)] =
				(unsigned char)rand_r(seed);
		break;
	case 1: kit->mail.asked = (uint64_t)rand_r(seed) << 32 | (uint32_t)rand_r(seed); break;
	case 2:
		kit->mail.asked = (uint64_t)rand_r(seed) << 32 |
				  (uint32_t)(kit->box.posted + (uint64_t)(rand_r(seed) % 12) - 2);
		break;
	case 3: /* an address of some object */
		kit->mail.ask[slot].detail = some_object(kit, seed);
		kit->mail.ask[slot].stamp =
			(kit->box.slot[slot].generation + 1) << 8 | MAM_MAIL_FREE;
		break;
	case 4:
		kit->mail.ask[slot].detail = kit->box.slot[slot].address;
		kit->mail.ask[slot].stamp =
			(kit->box.slot[slot].generation + 1) << 8 | (uint64_t)(rand_r(seed) % 4);
		break;
	default:
		kit->mail.ask[slot].detail = (uint64_t)rand_r(seed) << rand_r(seed) % 33;
		kit->mail.ask[slot].stamp =
			(kit->box.slot[slot].generation + (uint64_t)(rand_r(seed) % 3)) << 8 |
			(uint64_t)(rand_r(seed) % 5);
		break;
	}
	kit->mail.knock++;
}

/* The box's objects and grants are exactly the pool's blocks. */
static void must_match_pool(const struct kit *kit)
{
	uint64_t count = kit->box.grants, bytes = 0;

	for (uint32_t n = 0; n < kit->box.tables; n++) {
		count += n != 0;
		for (uint32_t i = 0; i < mam_large_rows(n) * MAM_LARGE_ROW; i++) {
			count += kit->box.table[n].large[i].address != 0;
			bytes += kit->box.table[n].large[i].bytes;
		}
	}
	count += kit->box.table[kit->box.tables].at != 0;
	count += kit->box.part_tables - 1;
	count += kit->box.part_table[kit->box.part_tables] != 0;
	ck_assert_uint_eq(count, kit->pool.blocks);
	ck_assert_uint_eq(bytes, kit->box.counts.large_bytes);
	for (unsigned int i = 0; i < kit->box.grants; i++)
		bytes += (uint64_t)kit->box.grant[i].blocks << MAM_BLOCK_SHIFT;
	ck_assert_uint_eq(bytes + kit->box.config.root_bytes, kit->box.held);
	ck_assert_uint_le(kit->box.held, kit->box.config.max_bytes);
}

START_TEST(random_device_writes_are_harmless)
{
	const struct mam_post_config config = {
		.max_bytes = 4 * GIB, .root_bytes = 64 * MIB, .grow_bytes = 2 * MIB, .ahead = 2
	};

	for (unsigned int seed = 1; seed <= 30; seed++) {
		struct kit *kit = kit_new(&config);
		unsigned int state = seed;
		uint64_t bytes = 0;

		for (unsigned int step = 0; step < 2000; step++) {
			kit->pool.mapped = rand_r(&state) % 3 ? GIB : 0;
			kit->pool.max = rand_r(&state) % 3 ? 0 : MIB;
			if (rand_r(&state) % 10 == 0)
				kit->pool.fails = (unsigned int)rand_r(&state) % 4;
			scribble(kit, &state);
			(void)mam_post_look(&kit->box);
			if (step % 5 == 0)
				(void)mam_post_ahead(&kit->box, step * (uint64_t)100000000, true);
			if (step % 100 == 0) /* or any other value as `taken` */
				(void)mam_post_take_back(
					&kit->box, kit->box.posted - (uint64_t)(step / 100 % 4),
					&bytes);
			if (step % 50 == 0 && kit->box.grants != 0)
				(void)mam_post_give_back(
					&kit->box, kit->box.grant[step % kit->box.grants].space,
					&bytes);
			if (step % 777 == 0)
				mam_post_forget(&kit->box, &bytes);
			if (step % 20 == 0)
				must_match_pool(kit);
		}
		must_match_pool(kit);
		ck_assert_uint_gt(kit->box.counts.bad, 0);
		ck_assert_uint_gt(kit->pool.gives, 0);
		kit_end(kit);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("heap/post_large");
	TCase *large = tcase_create("large");
	SRunner *runner;
	int failed;

	tcase_set_timeout(large, 60);
	tcase_add_test(large, object_is_allocated_and_freed);
	tcase_add_test(large, all_slots_are_reusable);
	tcase_add_test(large, records_grow_with_objects);
	tcase_add_test(large, object_waits_for_table);
	tcase_add_loop_test(large, table_may_be_unavailable, 0, 2);
	tcase_add_test(large, cancel_of_unseen_request_frees_nothing);
	tcase_add_test(large, lost_knock_is_found_by_scan);
	tcase_add_test(large, cancel_frees_object);
	tcase_add_test(large, invalid_message_is_rejected);
	tcase_add_test(large, limit_covers_grants_and_objects);
	tcase_add_test(large, requests_without_new_memory_come_first);
	tcase_add_test(large, one_refusal_answers_all_of_that_size);
	tcase_add_test(large, slots_are_new_after_reset);
	tcase_add_test(large, destroyed_pool_refuses_requests);
	tcase_add_test(large, random_device_writes_are_harmless);
	suite_add_tcase(suite, large);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
