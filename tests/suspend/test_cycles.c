/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tags in random order: several pools are suspended in random ways and resumed in another order, 100
 * times, while blocks are allocated and freed. A shadow of each pool knows what its blocks contain.
 *
 *   cycles_of_tags   without memory for all, so resumes continue later; each call of the driver fails at
 *                    some time (in one of two runs), and no contents are lost
 *   kills_leave_nothing   the process ends at a random call of the driver: no file remains
 */
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include "blocks.h"

#define TAGS 4
#define CYCLES 100
#define BLOCKS_MAX 6
#define BLOCK_MAX (6 * MIB)

enum way { HOST, TO_FILE, DISCARD, LAZY, LAZY_DISCARD, WAYS };

struct tag {
	struct mam_pool *pool;
	void *blocks[BLOCKS_MAX];
	size_t bytes[BLOCKS_MAX];
	enum way way; /* while it is suspended */
	bool is_suspended;
};

static struct tag tags[TAGS];
static char folder[] = "/tmp/mam-cycles-XXXXXX";
static uint64_t state;
static unsigned long failures, late; /* calls that failed; resumes without memory */

static size_t any(size_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(state >> 33) % below;
}

static void check_tag(struct tag *tag)
{
	pool = tag->pool;
	prove();
	for (int i = 0; i < BLOCKS_MAX; i++)
		if (tag->blocks[i])
			check_block(tag->blocks[i], tag->bytes[i]);
}

static void write_tag(struct tag *tag)
{
	for (int i = 0; i < BLOCKS_MAX; i++)
		if (tag->blocks[i])
			write_block(tag->blocks[i], tag->bytes[i]);
}

/* Call it, with a fault if `fails`. The counts and lists of the pool are consistent afterwards. */
static enum mam_status failing(bool fails, enum mam_status (*call)(struct tag *tag),
			       struct tag *tag)
{
	int mode = CAPTURE_GLOBAL;
	enum mam_status status;
	char name[64] = "";

	if (fails)
		cuda.fake_fail(1 + any(60), 1);
	status = call(tag);
	if (fails && cuda.fake_failed(name, sizeof(name)) != 0)
		failures++;
	cuda.fake_fail(0, 0);
	/* The call that restores the thread's mode cannot be retried. */
	if (strcmp(name, "cuThreadExchangeStreamCaptureMode") == 0)
		cuda.cuThreadExchangeStreamCaptureMode(&mode);
	pool = tag->pool;
	prove();
	return status;
}

static enum mam_status suspend_tag(struct tag *tag)
{
	struct mam_suspend_attr attr = MAM_SUSPEND_ATTR_INIT;

	attr.folder = tag->way == TO_FILE ? folder : NULL;
	attr.discard = tag->way == DISCARD || tag->way == LAZY_DISCARD;
	attr.lazy = tag->way == LAZY || tag->way == LAZY_DISCARD;
	return mam_pool_suspend(tag->pool, &attr);
}

static enum mam_status resume_tag(struct tag *tag)
{
	return mam_pool_resume(tag->pool);
}

static bool allocates(struct tag *tag)
{
	void *block;
	enum mam_status status = mam_malloc(tag->pool, 512, &block);

	if (status == MAM_OK)
		ck_assert_int_eq(mam_free(tag->pool, block), MAM_OK);
	else if (status != MAM_ERROR_OUT_OF_MEMORY)
		ck_assert_int_eq(status, MAM_ERROR_SUSPENDED);
	return status != MAM_ERROR_SUSPENDED;
}

static void suspend_any(bool fails)
{
	struct tag *tag = &tags[any(TAGS)];
	enum mam_status status;

	if (tag->is_suspended)
		return;
	tag->way = (enum way)any(WAYS);
	status = failing(fails, suspend_tag, tag);
	tag->is_suspended = !allocates(tag);
	if (status == MAM_OK)
		ck_assert(tag->is_suspended);
	else
		ck_assert(fails);
	if (!tag->is_suspended) /* as before */
		check_tag(tag);
}

static bool resume(struct tag *tag, bool fails)
{
	enum mam_status status = failing(fails, resume_tag, tag);

	if (status == MAM_ERROR_OUT_OF_MEMORY)
		late++;
	else if (status != MAM_OK)
		ck_assert(fails);
	ck_assert_int_eq(allocates(tag), status == MAM_OK);
	if (status != MAM_OK)
		return false;
	tag->is_suspended = false;
	if (tag->way == DISCARD || tag->way == LAZY_DISCARD)
		write_tag(tag);
	check_tag(tag);
	return true;
}

/* Frees work in every tag, allocations in those that are awake. */
static void change(struct tag *tag)
{
	int i = (int)any(BLOCKS_MAX);
	enum mam_status status;
	void *block;

	if (tag->blocks[i]) {
		ck_assert_int_eq(mam_free(tag->pool, tag->blocks[i]), MAM_OK);
		tag->blocks[i] = NULL;
		return;
	}
	tag->bytes[i] = any(2) ? 1 + any(200000) : 1 + any(BLOCK_MAX);
	status = mam_malloc(tag->pool, tag->bytes[i], &block);
	if (status != MAM_OK) {
		ck_assert_int_eq(status,
				 tag->is_suspended ? MAM_ERROR_SUSPENDED : MAM_ERROR_OUT_OF_MEMORY);
		return;
	}
	write_block(block, tag->bytes[i]);
	tag->blocks[i] = block;
}

static void cycle(bool fails)
{
	for (int i = 0; i < TAGS; i++)
		suspend_any(fails);
	for (int i = 0; i < 6; i++)
		change(&tags[any(TAGS)]);
	for (int i = 0; i < TAGS; i++)
		if (tags[(i + 1) % TAGS].is_suspended && any(4) != 0)
			(void)resume(&tags[(i + 1) % TAGS], fails);
}

static void start(const char *memory)
{
	begin(memory);
	ck_assert_int_eq(mam_pool_destroy(pool), MAM_OK);
	for (int i = 0; i < TAGS; i++) {
		tags[i].pool = new_pool("a tag", 0);
		for (int j = 0; j < BLOCKS_MAX; j++)
			change(&tags[i]);
	}
}

static size_t files(void)
{
	DIR *list = opendir(folder);
	size_t found = 0;

	ck_assert_ptr_nonnull(list);
	for (struct dirent *entry; (entry = readdir(list)) != NULL;)
		found += entry->d_name[0] != '.';
	closedir(list);
	return found;
}

static void end(void)
{
	for (int i = 0; i < TAGS; i++) {
		for (int j = 0; j < BLOCKS_MAX; j++)
			if (tags[i].blocks[j])
				ck_assert_int_eq(mam_free(tags[i].pool, tags[i].blocks[j]), MAM_OK);
		ck_assert_int_eq(mam_pool_destroy(tags[i].pool), MAM_OK);
	}
}

START_TEST(cycles_of_tags)
{
	bool fails = _i == 1;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	state = (uint64_t)_i + 7;
	/* With faults, handles that the driver refuses to release stay there. */
	start(fails ? "1G" : "26M");
	for (int i = 0; i < CYCLES; i++)
		cycle(fails);
	ck_assert_uint_eq(files(), 0);
	/* Each tag comes back as soon as the others leave it memory. */
	for (int i = 0; i < TAGS; i++) {
		for (int j = 0; j < TAGS; j++) {
			if (i == j || tags[j].is_suspended)
				continue;
			tags[j].way = HOST;
			ck_assert_int_eq(suspend_tag(&tags[j]), MAM_OK);
			tags[j].is_suspended = true;
		}
		if (tags[i].is_suspended)
			ck_assert(resume(&tags[i], false));
		check_tag(&tags[i]);
	}
	if (fails)
		ck_assert_uint_gt(failures, 50);
	else
		ck_assert_uint_gt(late, 10);
	end();
	if (!fails) {
		ck_assert_int_eq(held().handles, 0);
		ck_assert_int_eq(held().reservations, 0);
	}
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

#define KILLS 25

START_TEST(kills_leave_nothing)
{
	int status = -1;
	char rule[64];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (int i = 0; i < KILLS; i++) {
		pid_t child = fork();

		ck_assert_int_ge(child, 0);
		if (child == 0) {
			state = (uint64_t)i;
			snprintf(rule, sizeof(rule), "*:%d:kill", 60 + i * 40);
			setenv("FAKE_CUDA_MEMORY", "256M", 1);
			setenv("MAM_LOG_FILE", "/dev/null", 1);
			setenv("FAKE_CUDA_FAIL_AT", rule, 1);
			cuda = load();
			for (int j = 0; j < TAGS; j++) {
				tags[j].pool = new_pool("killed", 0);
				change(&tags[j]);
				change(&tags[j]);
			}
			for (int j = 0; j < 1000; j++) {
				suspend_any(false);
				change(&tags[any(TAGS)]);
				for (int k = 0; k < TAGS && j % 2 == 1; k++)
					if (tags[k].is_suspended)
						(void)resume(&tags[k], false);
			}
			_exit(0);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		ck_assert_uint_eq(files(), 0);
	}
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suspend/cycles");
	TCase *tests = suite_case(suite, "cycles");

	tcase_add_loop_test(tests, cycles_of_tags, 0, 2);
	tcase_add_test(tests, kills_leave_nothing);
	return suite_run(suite);
}
