/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a call stack, which threads may look up at the same time. */
#include "interpose/process/stack.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS 12
#define OWN 14 /* frames of this program that are skipped as those of mam */

static const struct mam_stack *stack;
static pthread_barrier_t together;

/* Another depth is another stack, which has no name yet. */
static __attribute__((noinline)) void take_stack(int depth)
{
	if (depth > 0)
		take_stack(depth - 1);
	else
		stack = mam_stack_here();
	__asm__ volatile("" ::: "memory"); /* not a tail call */
}

static void *name_stack(void *name)
{
	pthread_barrier_wait(&together);
	*(const char **)name = mam_stack_name(stack);
	return NULL;
}

START_TEST(threads_agree_on_a_name)
{
	pthread_t threads[THREADS];

	mam_stack_start();
	pthread_barrier_init(&together, NULL, THREADS);
	for (int round = 0; round < ROUNDS; round++) {
		char printed[MAM_STACK_NAME_BYTES];
		const char *names[THREADS];

		take_stack(OWN + round);
		ck_assert_ptr_nonnull(stack);
		ck_assert(stack->name == NULL);
		mam_stack_print(stack, printed);
		ck_assert_str_ne(printed, "");
		for (int i = 0; i < THREADS; i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, name_stack, &names[i]),
					 0);
		for (int i = 0; i < THREADS; i++) {
			pthread_join(threads[i], NULL);
			ck_assert_str_eq(names[i], printed);
		}
		ck_assert_ptr_eq(mam_stack_name(stack), mam_stack_name(stack));
	}
	pthread_barrier_destroy(&together);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("stack");
	Suite *suite = suite_create("stack");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, threads_agree_on_a_name);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
