/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shared_storm.c - processes that charge and refund at the same time never exceed a limit that
 * they share, also if they are stopped or killed at any point, and leave nothing.
 *
 * Processes rarely meet in the few instructions that matter, so a process waits after it has computed
 * the sum, and after it has opened the file.
 */
#include "sharing.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define CHILDREN 6
#define THREADS 3
#define CHARGES 1000 /* of a storm */
#define ROUNDS 300

uint64_t __real_mam_shared_sum(int device, uint64_t enough);
uint64_t __wrap_mam_shared_sum(int device, uint64_t enough);

ssize_t __real_pread(int file, void *data, size_t bytes, off_t at);
ssize_t __wrap_pread(int file, void *data, size_t bytes, off_t at);

ssize_t __wrap_pread(int file, void *data, size_t bytes, off_t at)
{
	usleep(2000);
	return __real_pread(file, data, bytes, at);
}

uint64_t __wrap_mam_shared_sum(int device, uint64_t enough)
{
	uint64_t sum = __real_mam_shared_sum(device, enough);

	usleep(50);
	return sum;
}

/* The bytes of the children, as they count them themselves. */
static struct truth {
	_Atomic uint64_t held[CHILDREN]; /* parts; the bits above 8 count the changes */
	_Atomic uint64_t charges;        /* that succeeded */
	_Atomic bool exceeded, over;
} * truth;

static void set_up_truth(void)
{
	set_up();
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	ck_assert(truth != MAP_FAILED);
}

/* The sum of one moment: two equal readings. False: there was no such moment. */
static bool read_truth(uint64_t *sum)
{
	uint64_t seen[CHILDREN];

	*sum = 0;
	for (int i = 0; i < CHILDREN; i++) {
		seen[i] = atomic_load(&truth->held[i]);
		*sum += seen[i] & 0xff;
	}
	for (int i = 0; i < CHILDREN; i++)
		if (seen[i] != atomic_load(&truth->held[i]))
			return false;
	return true;
}

static void check_truth(void)
{
	uint64_t sum;

	if (read_truth(&sum) && sum > PARTS)
		atomic_store(&truth->exceeded, true);
}

static void change_truth(int child, int parts)
{
	atomic_fetch_add(&truth->held[child], (uint64_t)(0x100 + (int64_t)parts));
}

/* Processes that arrive while the last one removes the file agree on one file. */
static int come_and_go(void)
{
	int parts;

	if (!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 5 * PART))
		return 0;
	parts = (int)atomic_fetch_add(&truth->held[0], 1) + 1;
	sched_yield();
	atomic_fetch_sub(&truth->held[0], 1);
	mam_account_refund(0, MAM_ACCOUNT_DIRECT, 5 * PART);
	return parts;
}

START_TEST(file_may_be_removed_while_others_open_it)
{
	pid_t children[4];
	int status, worst = 0;

	for (int i = 0; i < 4; i++) {
		children[i] = fork();
		if (children[i] != 0)
			continue;
		for (int round = 0; round < 30; round++) {
			status = in_child(come_and_go);
			worst = status > worst ? status : worst;
		}
		_exit(worst);
	}
	for (int i = 0; i < 4; i++) {
		waitpid(children[i], &status, 0);
		ck_assert(WIFEXITED(status));
		worst = WEXITSTATUS(status) > worst ? WEXITSTATUS(status) : worst;
	}
	ck_assert_int_eq(worst, 1);
	ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

static unsigned int draw(unsigned int *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 16;
}

struct player {
	int child;
	unsigned int seed;
};

static void *play(void *argument)
{
	const struct player *player = (const struct player *)argument;
	unsigned int state = player->seed;
	int held = 0, parts;

	while (!atomic_load(&truth->over)) {
		parts = 1 + (int)(draw(&state) % 4);
		if (held == 0 &&
		    mam_account_charge(0, MAM_ACCOUNT_DIRECT, (uint64_t)parts * PART)) {
			change_truth(player->child, parts);
			atomic_fetch_add(&truth->charges, 1);
			held = parts;
		}
		usleep(held != 0 ? draw(&state) % 200 : 0);
		check_truth();
		if (held != 0 && draw(&state) % 2 == 0) {
			change_truth(player->child, -held);
			mam_account_refund(0, MAM_ACCOUNT_DIRECT, (uint64_t)held * PART);
			held = 0;
		}
	}
	if (held != 0) {
		change_truth(player->child, -held);
		mam_account_refund(0, MAM_ACCOUNT_DIRECT, (uint64_t)held * PART);
	}
	return NULL;
}

static pid_t start_player(int child, unsigned int seed)
{
	struct player players[THREADS];
	pthread_t threads[THREADS];
	pid_t process = fork();

	if (process != 0)
		return process;
	mam_account_restart();
	for (int i = 0; i < THREADS; i++) {
		players[i] = (struct player){ child, seed * THREADS + (unsigned int)i };
		if (pthread_create(&threads[i], NULL, play, &players[i]) != 0)
			_exit(1);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	mam_shared_finish();
	_exit(messages != 0 || *mam_shared_counter(0) != 0);
}

/*
 * Between stop and kill the truth of the child is set to 0, because others may charge its bytes as
 * soon as it has ended.
 */
static void stop_and_kill(pid_t process, int child)
{
	kill(process, SIGSTOP);
	waitpid(process, NULL, WUNTRACED);
	atomic_store(&truth->held[child], atomic_load(&truth->held[child]) >> 8 << 8);
	for (int i = 0; i < 20; i++)
		check_truth();
	kill(process, SIGKILL);
	waitpid(process, NULL, 0);
}

static void storm(int kills)
{
	pid_t processes[CHILDREN];
	unsigned int state = 1;
	uint64_t before;
	int status;

	for (int i = 0; i < CHILDREN; i++)
		processes[i] = start_player(i, (unsigned int)i);
	for (int i = 0; i < kills; i++) {
		int child = (int)(draw(&state) % CHILDREN);

		usleep(draw(&state) % 2000);
		stop_and_kill(processes[child], child);
		processes[child] = start_player(child, 100 + (unsigned int)i);
		check_truth();
	}
	/* The last one continues with what the others held. */
	for (int i = 0; i + 1 < CHILDREN && kills > 0; i++)
		stop_and_kill(processes[i], i);
	before = atomic_load(&truth->charges);
	for (int i = 0; i < 20000 && atomic_load(&truth->charges) < before + CHARGES; i++)
		usleep(1000);
	ck_assert_uint_ge(atomic_load(&truth->charges), before + CHARGES);
	atomic_store(&truth->over, true);
	for (int i = kills > 0 ? CHILDREN - 1 : 0; i < CHILDREN; i++) {
		waitpid(processes[i], &status, 0);
		ck_assert_int_eq(status, 0);
	}
	ck_assert(!atomic_load(&truth->exceeded));
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
	ck_assert_uint_eq(mam_account_others(0), 0);
}

START_TEST(threads_of_processes_never_exceed_the_limit_together)
{
	storm(0);
}
END_TEST

START_TEST(killed_processes_never_exceed_the_limit_and_leave_nothing)
{
	storm(40);
}
END_TEST

static int charge_a_third(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (!mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT / 3))
			return 1;
		mam_account_refund(0, MAM_ACCOUNT_DIRECT, LIMIT / 3);
	}
	return 0;
}

/* Requests for more than the rest must not disturb others. */
static int ask_for_too_much(void)
{
	for (int i = 0; i < ROUNDS; i++)
		if (mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT - PART))
			return 1;
	return 0;
}

/* Two of these do not fit, so many charges are undone. */
static int charge_most(void)
{
	for (int i = 0; i < ROUNDS; i++)
		if (mam_account_charge(0, MAM_ACCOUNT_DIRECT, 5 * PART))
			mam_account_refund(0, MAM_ACCOUNT_DIRECT, 5 * PART);
	return *mam_shared_counter(0) != 0;
}

static void play_together(int (*const plays[3])(void))
{
	pid_t children[3];
	int status;

	for (int i = 0; i < 3; i++) {
		children[i] = fork();
		if (children[i] == 0)
			_exit(in_child(plays[i]));
	}
	for (int i = 0; i < 3; i++) {
		waitpid(children[i], &status, 0);
		ck_assert_int_eq(status, 0);
	}
}

START_TEST(charges_that_fit_are_not_refused)
{
	static int (*const plays[])(void) = { charge_a_third, charge_a_third, ask_for_too_much };

	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, 2 * PART));
	play_together(plays);
}
END_TEST

START_TEST(charges_that_are_undone_leave_nothing)
{
	static int (*const plays[])(void) = { charge_most, charge_most, charge_most };

	play_together(plays);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("shared_storm");
	Suite *suite = suite_create("shared_storm");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 120);
	tcase_add_checked_fixture(cases, set_up_truth, tear_down);
	tcase_add_test(cases, file_may_be_removed_while_others_open_it);
	tcase_add_test(cases, threads_of_processes_never_exceed_the_limit_together);
	tcase_add_test(cases, killed_processes_never_exceed_the_limit_and_leave_nothing);
	tcase_add_test(cases, charges_that_fit_are_not_refused);
	tcase_add_test(cases, charges_that_are_undone_leave_nothing);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
