/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mailbox backed by a real pool, on the fake driver: grants are in the pool, the service
 * answers, a failure leaks nothing, and while a kernel may wait for an answer, no driver call is
 * made that could wait for a kernel.
 */
#include "tools/failing.h"

#include <sys/wait.h>

#include "heap/host/heap_fixture.h"

#include "base/clock.h"
#include "heap/service/post.h"
#include "heap/service/shared.h"

#define CHILD_OK 42
#define NON_BLOCKING 1u

static const struct mam_post_config config = {
	.max_bytes = UINT64_MAX, .root_bytes = MIB, .grow_bytes = 2 * MIB, .ahead = 1
};

static struct mam_post *post_on(struct mam_pool *pool, const struct mam_post_config *wanted)
{
	struct mam_post *post = NULL;

	ck_assert_int_eq(mam_post_create(pool, wanted, &post), MAM_OK);
	ck_assert_ptr_nonnull(post);
	return post;
}

static struct mam_pool *pool_with(const char *source, size_t chunk_bytes)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool;

	attr.source = source;
	attr.growth_bytes = 8 * MIB;
	attr.chunk_bytes = chunk_bytes;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	return pool;
}

static uint64_t live_blocks(struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	return stats.live_blocks;
}

static uint64_t read_word(uint64_t *where)
{
	return __atomic_load_n(where, __ATOMIC_ACQUIRE);
}

static void write_word(uint64_t *where, uint64_t value)
{
	__atomic_store_n(where, value, __ATOMIC_RELEASE);
}

/* Waits until the condition holds, which takes at most seconds. */
/* clang-format off */
#define WAIT_FOR(truth)                                                           \
	do {                                                                      \
		const uint64_t begun = mam_clock_ns();                            \
		while (!(truth)) {                                                \
			ck_assert_uint_lt(mam_clock_ns() - begun, 20000000000u);  \
			usleep(50);                                               \
		}                                                                 \
	} while (0)
/* clang-format on */

static void ask(struct mam_mail *mail, uint64_t number, uint64_t wanted)
{
	write_word(&mail->asked, number << 32 | wanted);
}

static void send(struct mam_mail *mail, uint32_t slot, uint64_t stamp, uint64_t detail)
{
	__atomic_store_n(&mail->ask[slot].detail, detail, __ATOMIC_RELAXED);
	write_word(&mail->ask[slot].stamp, stamp);
	write_word(&mail->knock, mail->knock + 1);
	WAIT_FOR(read_word(&mail->answer[slot].stamp) >> 8 == stamp >> 8);
}

/*
 * Some sources never grow without a wait: their first chunk has `chunk_bytes`. Large blocks of the
 * source are multiples of `unit`.
 */
static void answer_requests(const char *source, size_t chunk_bytes, size_t unit)
{
	struct mam_pool *pool = pool_with(source, chunk_bytes), *owner;
	struct mam_post *post = post_on(pool, &config);
	struct mam_mail *mail = mam_post_mail(post);
	struct mam_segment_info segment = { .size = sizeof(segment) };
	struct mam_post_counts counts;
	uint64_t bytes = 0, address;

	ck_assert_uint_eq((uintptr_t)mail % 4096, 0);
	ck_assert_uint_eq(mail->posted, 1);
	for (uint64_t i = 1; i <= 10; i++) {
		ask(mail, i, i);
		WAIT_FOR(read_word(&mail->posted) >= i + 1);
		address = mail->grant[(i - 1) % MAM_MAIL_GRANTS].space;
		ck_assert_uint_eq(address % 65536, 0);
		ck_assert_int_eq(mam_owner((void *)(uintptr_t)address, &owner, &segment), MAM_OK);
		ck_assert_ptr_eq(owner, pool);
		ck_assert(segment.live);
		ck_assert_uint_ge(segment.bytes, 2 * MIB + 65536);
	}
	send(mail, 3, 1 << 8 | MAM_MAIL_ALLOC, MIB + 1);
	ck_assert_uint_eq(mail->answer[3].stamp & 255, MAM_MAIL_GIVEN);
	address = mail->answer[3].address;
	ck_assert_uint_eq(address % 1024, 0);
	ck_assert_int_eq(mam_owner((void *)(uintptr_t)address, &owner, &segment), MAM_OK);
	ck_assert_uint_eq(segment.bytes, MIB + unit);
	mam_post_count(post, &counts);
	ck_assert_uint_eq(counts.posted, 11);
	ck_assert_uint_eq(counts.large, 1);
	ck_assert_uint_eq(counts.asks, 11);
	ck_assert_uint_eq(live_blocks(pool), 12);
	send(mail, 3, 2 << 8 | MAM_MAIL_FREE, address);
	ck_assert_uint_eq(live_blocks(pool), 11);
	send(mail, 3, 3 << 8 | MAM_MAIL_ALLOC, MIB);

	ck_assert_int_eq(mam_post_retract(post, 99, &bytes), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_post_retract(post, 10, &bytes), MAM_OK);
	ck_assert_int_eq(mam_post_return(post, mail->grant[1].space + 1, &bytes),
			 MAM_ERROR_NOT_OWNED);
	ck_assert_int_eq(mam_post_return(post, mail->grant[7].space, &bytes), MAM_OK);
	ck_assert_uint_gt(bytes, 4 * MIB);
	usleep(20000); /* the service changes nothing */
	ck_assert_uint_eq(live_blocks(pool), 10);
	mam_post_clear(post, &bytes);
	ck_assert_uint_eq(live_blocks(pool), 9);
	ask(mail, 11, 11);
	WAIT_FOR(read_word(&mail->posted) == 12);
	mam_post_destroy(post);
	pool_end(pool);
}

START_TEST(requests_are_answered_with_any_source)
{
	static const char *const sources[] = { "cudamalloc", "vmm", "managed", "pinned" };
	struct cuda cuda = load();

	(void)cuda;
	answer_requests(sources[_i], _i < 2 ? 0 : 96 * MIB, _i < 2 ? 65536 : 1024);
}
END_TEST

START_TEST(several_mailboxes_are_independent)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new(), *other = pool_on("vmm", MAM_FREE_STREAM);
	struct mam_post *post[6];

	(void)cuda;
	for (unsigned int i = 0; i < 6; i++)
		post[i] = post_on(i % 2 ? pool : other, &config);
	for (unsigned int i = 0; i < 6; i++)
		ask(mam_post_mail(post[i]), 1, 1);
	for (unsigned int i = 0; i < 6; i++)
		WAIT_FOR(read_word(&mam_post_mail(post[i])->posted) == 2);
	mam_post_destroy(post[2]);
	mam_post_destroy(post[5]);
	ask(mam_post_mail(post[0]), 2, 2);
	WAIT_FOR(read_word(&mam_post_mail(post[0])->posted) == 3);
	mam_post_destroy(post[0]);
	mam_post_destroy(post[1]);
	mam_post_destroy(post[3]);
	mam_post_destroy(post[4]);
	mam_post_destroy(NULL);
	pool_end(pool);
	pool_end(other);
}
END_TEST

/* The driver calls since offset `from` of the log, as one string. */
static char *calls_since(const char *path, long from)
{
	FILE *file = fopen(path, "r");
	char *text;
	size_t bytes;

	ck_assert_ptr_nonnull(file);
	fseek(file, 0, SEEK_END);
	bytes = (size_t)(ftell(file) - from);
	text = calloc(1, bytes + 1);
	ck_assert_ptr_nonnull(text);
	fseek(file, from, SEEK_SET);
	ck_assert_uint_eq(fread(text, 1, bytes, file), bytes);
	fclose(file);
	return text;
}

static long log_end(const char *path)
{
	FILE *file = fopen(path, "r");
	long end;

	ck_assert_ptr_nonnull(file);
	fseek(file, 0, SEEK_END);
	end = ftell(file);
	fclose(file);
	return end;
}

START_TEST(no_driver_call_waits_for_a_kernel)
{
	/* clang-format off */
	static const char *const waits[] = {
		"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cuMemFree",
		"cuMemFreeHost", "cuMemHostUnregister", "cuMemUnmap", "cuMemRelease", "cuMemcpy",
		"cuMemAlloc", "cuMemHostAlloc", "cuMemset", "cuModule", "cuLaunch", "cuStream",
		"cuEvent",
	};
	/* clang-format on */
	const char *source = _i ? "vmm" : "cudamalloc";
	char path[] = "/tmp/post_pool.XXXXXX";
	int file = mkstemp(path);
	struct mam_post *post;
	struct mam_mail *mail;
	struct mam_pool *pool;
	struct cuda cuda;
	char *calls;
	long from;

	ck_assert_int_ge(file, 0);
	close(file);
	setenv("FAKE_CUDA_LOG", path, 1);
	cuda = load();
	pool = pool_on(source, MAM_FREE_STRICT);
	post = post_on(pool, &config);
	mail = mam_post_mail(post);
	from = log_end(path);
	for (uint64_t i = 1; i <= 8; i++) {
		ask(mail, i, i);
		WAIT_FOR(read_word(&mail->posted) >= i + 1);
		send(mail, 0, (2 * i) << 8 | MAM_MAIL_ALLOC, 3 * MIB);
		ck_assert_uint_eq(mail->answer[0].stamp & 255, MAM_MAIL_GIVEN);
		send(mail, 0, (2 * i + 1) << 8 | MAM_MAIL_FREE, mail->answer[0].address);
		ck_assert_uint_eq(mail->answer[0].stamp & 255, MAM_MAIL_GIVEN);
	}
	calls = calls_since(path, from);
	ck_assert_ptr_nonnull(strstr(calls, "cuMemMap")); /* the pool did grow */
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		ck_assert_msg(!strstr(calls, waits[i]), "%s was called:\n%s", waits[i], calls);
	free(calls);
	mam_post_destroy(post);
	pool_end(pool);
	unlink(path);
	(void)cuda;
}
END_TEST

START_TEST(stream_capture_is_not_disturbed)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_post *post = post_on(pool, &config);
	struct CUstream_st *stream;
	struct CUgraph_st *graph;

	ck_assert_int_eq(cuda.cuStreamCreate(&stream, NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamBeginCapture_v2(stream, 0), CUDA_SUCCESS);
	for (uint64_t i = 1; i <= 10; i++) {
		ask(mam_post_mail(post), i, i);
		WAIT_FOR(read_word(&mam_post_mail(post)->posted) >= i + 1);
	}
	ck_assert_int_eq(cuda.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
	mam_post_destroy(post);
	pool_end(pool);
}
END_TEST

/* Each driver call fails once while a mailbox is created. */
START_TEST(failed_create_leaks_nothing)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_post *post;
	unsigned int failures = 0, worked = 0;
	enum mam_status status;
	char name[64];
	int failed;

	for (unsigned long at = 1; at < 60; at++) {
		cuda.fake_fail(at, 1);
		post = NULL;
		status = mam_post_create(pool, &config, &post);
		failed = cuda.fake_failed(name, sizeof(name));
		cuda.fake_fail(0, 0);
		if (status == MAM_OK) {
			worked++;
			ask(mam_post_mail(post), 1, 1);
			WAIT_FOR(read_word(&mam_post_mail(post)->posted) >= 1);
			mam_post_destroy(post);
		} else {
			ck_assert_ptr_null(post);
			failures++;
		}
		ck_assert_msg(live_blocks(pool) == 0, "call %lu, %s", at, name);
		if (failed == 0)
			break;
	}
	ck_assert_int_eq(failed, 0);
	ck_assert_uint_gt(failures, 1);
	ck_assert_uint_gt(worked, 0);
	pool_end(pool);
}
END_TEST

START_TEST(create_fails_without_host_memory)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_post *post = NULL;

	(void)cuda;
	failing_left = 0;
	ck_assert_int_eq(mam_post_create(pool, &config, &post), MAM_ERROR_OUT_OF_HOST_MEMORY);
	failing_left = -1;
	ck_assert_ptr_null(post);
	ck_assert_uint_eq(live_blocks(pool), 0);
	pool_end(pool);
}
END_TEST

START_TEST(create_fails_for_host_pool)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_on("host", MAM_FREE_DEFAULT);
	struct mam_post *post = NULL;

	(void)cuda;
	ck_assert_int_eq(mam_post_create(pool, &config, &post), MAM_ERROR_UNSUPPORTED);
	ck_assert_ptr_null(post);
	pool_end(pool);
}
END_TEST

START_TEST(full_pool_refuses_requests)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_post_counts counts;
	struct cuda cuda = load();
	struct mam_pool *pool;
	struct mam_post *post;
	struct mam_mail *mail;
	uint64_t number = 0;

	(void)cuda;
	attr.growth_bytes = 2 * MIB;
	attr.limit_bytes = 24 * MIB;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	post = post_on(pool, &config);
	mail = mam_post_mail(post);
	while (read_word(&mail->refused) >> 8 != number || number == 0) {
		ck_assert_uint_lt(number, 30);
		number++;
		ask(mail, number, number);
		WAIT_FOR(read_word(&mail->posted) >= number ||
			 read_word(&mail->refused) >> 8 == number);
	}
	ck_assert_uint_eq(mail->refused & 255, MAM_MAIL_FULL);
	ck_assert_uint_ge(number, 3);
	send(mail, 0, 1 << 8 | MAM_MAIL_ALLOC, 30 * MIB);
	ck_assert_uint_eq(mail->answer[0].stamp & 255, MAM_MAIL_FULL);
	mam_post_count(post, &counts);
	ck_assert_uint_eq(counts.refusals, 2);
	mam_post_destroy(post);
	pool_end(pool);
}
END_TEST

START_TEST(abandoned_pool_refuses_requests)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_post *post = post_on(pool, &config);
	struct mam_mail *mail = mam_post_mail(post);

	(void)cuda;
	send(mail, 0, 1 << 8 | MAM_MAIL_ALLOC, MIB);
	ck_assert_int_eq(mam_pool_abandon(pool), MAM_OK);
	ask(mail, 1, 2);
	WAIT_FOR(read_word(&mail->refused) == (1 << 8 | MAM_MAIL_ENDED));
	send(mail, 1, 1 << 8 | MAM_MAIL_ALLOC, MIB);
	ck_assert_uint_eq(mail->answer[1].stamp & 255, MAM_MAIL_ENDED);
	mam_post_destroy(post);
}
END_TEST

START_TEST(forked_child_does_not_disturb_mailbox)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_post *post = post_on(pool, &config);
	struct mam_mail *mail = mam_post_mail(post);
	int status = 0;
	pid_t child;

	(void)cuda;
	for (uint64_t i = 1; i <= 5; i++) {
		ask(mail, i, i); /* being answered at this moment */
		child = fork();
		if (child == 0) {
			alarm(20);
			mam_post_destroy(post);
			exit(CHILD_OK);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_OK,
			      "the child ended with %#x", (unsigned int)status);
		WAIT_FOR(read_word(&mail->posted) >= i + 1);
	}
	mam_post_destroy(post);
	pool_end(pool);
}
END_TEST

/* ---- the memory of a mailbox ---- */

static unsigned int elsewhere(unsigned long long *device, void *host, unsigned int flags)
{
	(void)flags;
	*device = (uintptr_t)host + 4096;
	return MAM_DRIVER_SUCCESS;
}

static unsigned int refuses(void *address, size_t bytes, unsigned int flags)
{
	(void)address;
	(void)bytes;
	(void)flags;
	return MAM_DRIVER_OUT_OF_MEMORY;
}

START_TEST(shared_pages_are_zeroed_on_every_path)
{
	const struct mam_driver *driver;
	struct mam_driver *table, before;
	struct mam_shared shared = { 0 };
	struct mam_device device;
	struct cuda cuda = load();

	(void)cuda;
	ck_assert_int_eq(mam_device_bind(&device, 0), MAM_OK);
	ck_assert_int_eq(mam_driver_get(&driver), MAM_OK);
	table = (struct mam_driver *)(uintptr_t)driver;
	before = *table;
	for (unsigned int way = 0; way < 4; way++) {
		*table = before;
		if (way == 1)
			table->mem_host_register = NULL;
		if (way == 2)
			table->mem_host_register = refuses;
		if (way == 3)
			table->mem_host_get_device_pointer = elsewhere;
		ck_assert_int_eq(mam_shared_map(&device, 5000, &shared), MAM_OK);
		ck_assert(shared.ours == (way == 0));
		ck_assert_uint_eq(shared.bytes, 8192);
		for (size_t i = 0; i < shared.bytes; i++)
			ck_assert_uint_eq(((unsigned char *)shared.at)[i], 0);
		memset(shared.at, 77, shared.bytes);
		mam_shared_unmap(&device, &shared);
		ck_assert_ptr_null(shared.at);
	}
	*table = before;
	mam_device_unbind(&device);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("heap/post_pool");
	TCase *post = tcase_create("post");
	SRunner *runner;
	int failed;

	tcase_set_timeout(post, 60);
	tcase_add_checked_fixture(post, set_up, NULL);
	tcase_add_loop_test(post, requests_are_answered_with_any_source, 0, 4);
	tcase_add_test(post, several_mailboxes_are_independent);
	tcase_add_loop_test(post, no_driver_call_waits_for_a_kernel, 0, 2);
	tcase_add_test(post, stream_capture_is_not_disturbed);
	tcase_add_test(post, failed_create_leaks_nothing);
	tcase_add_test(post, create_fails_without_host_memory);
	tcase_add_test(post, create_fails_for_host_pool);
	tcase_add_test(post, full_pool_refuses_requests);
	tcase_add_test(post, abandoned_pool_refuses_requests);
	tcase_add_test(post, forked_child_does_not_disturb_mailbox);
	tcase_add_test(post, shared_pages_are_zeroed_on_every_path);
	suite_add_tcase(suite, post);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
