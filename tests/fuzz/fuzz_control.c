/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes on the socket of mam ctl. As a request: it is one of the few that are valid, which are
 * written again here, or it is refused. As the lines of a dump: those that are accepted describe
 * blocks inside of chunks, and every format can be written from them.
 */
#include "ctl/ctl_dump.h"
#include "interpose/control/request.h"
#include "mam/control.h"
#include "fuzz.h"

static void check_request(const char *line, size_t bytes)
{
	char again[MAM_CONTROL_REQUEST_MAX + 1];
	static struct mam_request request;

	if (mam_request_parse(line, bytes, &request) != NULL)
		return;
	require(bytes <= MAM_CONTROL_REQUEST_MAX, "a long request is accepted");
	switch (request.kind) {
	case MAM_REQUEST_TRIM: snprintf(again, sizeof(again), "trim\n"); break;
	case MAM_REQUEST_DUMP: snprintf(again, sizeof(again), "dump\n"); break;
	case MAM_REQUEST_STATS: snprintf(again, sizeof(again), "stats\n"); break;
	case MAM_REQUEST_STATS_KEYS: snprintf(again, sizeof(again), "stats keys\n"); break;
	case MAM_REQUEST_TRACE:
		snprintf(again, sizeof(again), "trace %s\n", request.path);
		require(request.path[0] == '/', "a relative path is accepted");
		break;
	case MAM_REQUEST_TRACE_OFF: snprintf(again, sizeof(again), "trace off\n"); break;
	case MAM_REQUEST_LIMIT:
		snprintf(again, sizeof(again), "limit %llu\n", (unsigned long long)request.number);
		break;
	case MAM_REQUEST_SITES:
		snprintf(again, sizeof(again), "sites %llu\n", (unsigned long long)request.number);
		break;
	case MAM_REQUEST_SUSPEND:
		snprintf(again, sizeof(again), "suspend%s%s\n", request.path[0] == '\0' ? "" : " ",
			 request.path);
		break;
	case MAM_REQUEST_SUSPEND_DISCARD:
		snprintf(again, sizeof(again), "suspend discard\n");
		break;
	case MAM_REQUEST_RESUME: snprintf(again, sizeof(again), "resume\n"); break;
	default: require(false, "a request of an unknown kind");
	}
	require(strlen(again) == bytes && memcmp(again, line, bytes) == 0,
		"a request has two spellings");
}

static void check_dump(const struct ctl_dump *dump)
{
	size_t blocks = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < dump->chunk_count; i++) {
		const struct ctl_dump_chunk *chunk = &dump->chunks[i];
		uint64_t end = chunk->base;

		require(chunk->first == blocks, "a chunk does not start after the last one");
		for (size_t j = chunk->first; j < chunk->first + chunk->count; j++) {
			const struct ctl_dump_block *block = &dump->blocks[j];

			require(block->base >= end, "two blocks overlap");
			end = block->base + block->bytes;
			require(end > block->base && end <= chunk->base + chunk->bytes,
				"a block is not in its chunk");
		}
		blocks += chunk->count;
		sum += chunk->bytes;
	}
	require(blocks == dump->block_count && sum == dump->sum, "a sum is wrong");
}

static void write_all(const struct ctl_dump *dump)
{
	static const char *const suffixes[] = { "html", "svg", "pickle", "trace" };
	static char folder[FUZZ_FOLDER_BYTES];
	struct fuzz_heard heard;
	char path[100];
	bool good;

	if (!folder[0])
		fuzz_folder_make(folder);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(path, sizeof(path), "%s/dump.%s", folder, suffixes[i]);
		fuzz_heard_begin(&heard);
		good = ctl_dump_write(dump, "fuzz", path);
		fuzz_heard_end(&heard);
		require(good == (dump->block_count != 0), "a dump is not written");
		require(fuzz_sentences(&heard) == !good, "not one message per error");
		fuzz_heard_free(&heard);
		for (int device = -1; good && device < CTL_DUMP_DEVICES_MAX; device++) {
			if (device >= 0)
				snprintf(path, sizeof(path), "%s/dump.%d.%s", folder, device,
					 suffixes[i]);
			unlink(path);
		}
	}
	rmdir(folder);
	folder[0] = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = (char *)malloc(bytes + 1), *line, *next;
	struct ctl_dump dump = { .sum = 0 };
	bool refused = false;

	require(text != NULL, "no memory");
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	check_request(text, bytes);
	for (line = text; line != NULL && !refused; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		refused = !ctl_dump_add(&dump, line);
	}
	check_dump(&dump);
	write_all(&dump);
	ctl_dump_fini(&dump);
	free(text);
	return 0;
}
