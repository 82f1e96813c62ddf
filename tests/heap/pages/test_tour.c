/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tour.c - a tour visits every unit of words once, in an order of its own.
 */
#include "heap/kit.h"

START_TEST(tour_visits_each_unit_once)
{
	static const uint32_t sizes[] = { 1,  2,  3,  4,  5,   7,    8,    9,
					  31, 32, 33, 64, 100, 1023, 1024, 1025 };
	uint32_t words = sizes[_i], shift, order, next, word, units, met;
	unsigned char seen[1025];

	for (shift = 0; shift <= 5; shift++)
		for (order = 1; order < 40; order++) {
			memset(seen, 0, sizeof(seen));
			units = (words + (1u << shift) - 1) >> shift;
			met = 0;
			next = 0;
			while ((word = mam_tour_next(words, shift, order * 2654435769u, &next)) !=
			       MAM_TOUR_END) {
				ck_assert_uint_lt(word, words);
				ck_assert_uint_eq(word % (1u << shift), 0);
				ck_assert_uint_eq(seen[word >> shift], 0);
				seen[word >> shift] = 1;
				met++;
			}
			ck_assert_uint_eq(met, units);
			/* There are fewer numbers that stand for no unit. */
			ck_assert_uint_lt(next, 2 * units);
		}
}
END_TEST

/* Two orders are rarely at the same position. */
START_TEST(tours_have_different_orders)
{
	uint32_t order, next, other, same = 0, i;

	for (order = 1; order <= 100; order++) {
		next = 0;
		other = 0;
		for (i = 0; i < 64; i++)
			same += mam_tour_next(64, 0, order * 2654435769u, &next) ==
				mam_tour_next(64, 0, (order + 1) * 2654435769u, &other);
	}
	/* By chance one in 64. */
	ck_assert_uint_lt(same, 100 * 64 / 16);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("tour");

	tcase_add_loop_test(tcase, tour_visits_each_unit_once, 0, 16);
	tcase_add_test(tcase, tours_have_different_orders);
	return kit_run(tcase, "heap/tour");
}
