/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.c - see heap.h. A reply that is incomplete or invalid is dropped without a message, and the
 * strip stays as it was: the screen has no place for one, and mam ctl would print it.
 */
#include "top/heap.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl/ctl_dump.h"
#include "ctl/ctl_link.h"

#define EVERY_NS UINT64_C(1000000000)    /* between requests */
#define PATIENCE_NS UINT64_C(5000000000) /* for a reply, from the request on */
#define SITES_NS UINT64_C(20000000000)   /* between requests to sample */
#define SITES "sites 60\n"

static struct {
	char page[PATH_MAX]; /* of the process; "": none */
	uint64_t sent_ns;    /* when the last request was sent; 0: never */
	uint64_t sites_ns;   /* when it was to sample; 0: never */
	bool is_dump;        /* the last request was for the blocks */
	int number;          /* descriptor; 0: there is no request */
	size_t used;         /* bytes of the line */
	char line[MAM_CONTROL_LINE_MAX];
	struct ctl_dump next; /* being received */
	struct ctl_dump last; /* that is shown */
} heap;

static void end_request(void)
{
	if (heap.number != 0)
		close(heap.number);
	heap.number = 0;
	ctl_dump_fini(&heap.next);
}

void top_heap_show(const struct page_entry *process)
{
	const char *page = process == NULL ? "" : process->path;

	if (strcmp(page, heap.page) == 0)
		return;
	end_request();
	ctl_dump_fini(&heap.last);
	heap.sent_ns = heap.sites_ns = 0;
	if (snprintf(heap.page, sizeof(heap.page), "%s", page) >= (int)sizeof(heap.page))
		heap.page[0] = '\0';
}

static void send_request(uint64_t now_ns)
{
	const char *request;

	heap.is_dump = heap.sites_ns != 0 && now_ns - heap.sites_ns < SITES_NS;
	request = heap.is_dump ? "dump\n" : SITES;
	if (!heap.is_dump)
		heap.sites_ns = now_ns;
	heap.sent_ns = now_ns;
	heap.used = 0;
	heap.number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (heap.number <= 0 || ctl_link_connect(heap.number, heap.page) != 0 ||
	    send(heap.number, request, strlen(request), MSG_NOSIGNAL) < 0)
		end_request();
}

/* Returns false if the reply has ended, or is invalid. */
static bool take_line(bool *is_new)
{
	if (strcmp(heap.line, "working") == 0 || ctl_dump_add(&heap.next, heap.line))
		return true;
	if (strcmp(heap.line, "done") == 0 && heap.is_dump) {
		ctl_dump_fini(&heap.last);
		heap.last = heap.next;
		heap.next = (struct ctl_dump){ .sum = 0 };
		*is_new = true;
	}
	return false;
}

static bool take_bytes(const char *bytes, size_t count, bool *is_new)
{
	for (size_t i = 0; i < count; i++) {
		heap.line[heap.used] = bytes[i];
		if (bytes[i] != '\n') {
			if (++heap.used == sizeof(heap.line))
				return false;
			continue;
		}
		heap.line[heap.used] = '\0';
		heap.used = 0;
		if (!take_line(is_new))
			return false;
	}
	return true;
}

bool top_heap_poll(uint64_t now_ns)
{
	static char bytes[65536];
	bool is_new = false;
	ssize_t got;

	if (heap.number == 0 && heap.page[0] != '\0' &&
	    (heap.sent_ns == 0 || now_ns - heap.sent_ns >= EVERY_NS))
		send_request(now_ns);
	while (heap.number != 0) { /* a dump follows at once, too */
		got = recv(heap.number, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR) &&
		    now_ns - heap.sent_ns < PATIENCE_NS)
			break;
		if (got > 0 && take_bytes(bytes, (size_t)got, &is_new))
			continue;
		end_request();
		if (!heap.is_dump)
			send_request(now_ns);
	}
	return is_new;
}

bool top_heap_is_busy(void)
{
	return heap.number != 0;
}

/* ---- the strip ---- */

static int compare(const void *a, const void *b)
{
	const struct ctl_dump_chunk *const *left = a, *const *right = b;

	return ((*left)->base > (*right)->base) - ((*left)->base < (*right)->base);
}

/* Adds a block from `place`, in bytes from the start of the strip, to the cells that it covers. */
static void fill(uint64_t *cells, uint64_t cell_bytes, uint64_t place, uint64_t bytes)
{
	while (bytes != 0) {
		uint64_t rest = cell_bytes - place % cell_bytes;

		rest = rest < bytes ? rest : bytes;
		cells[place / cell_bytes] += rest;
		place += rest;
		bytes -= rest;
	}
}

static void add_gap(uint64_t bytes, struct top_strip *strip)
{
	if (bytes > strip->largest_free_bytes)
		strip->largest_free_bytes = bytes;
}

static void add_chunk(const struct ctl_dump_chunk *chunk, uint64_t place, uint64_t *cells,
		      struct top_strip *strip)
{
	uint64_t end = chunk->base;

	for (size_t i = chunk->first; i < chunk->first + chunk->count; i++) {
		const struct ctl_dump_block *block = &heap.last.blocks[i];

		add_gap(block->base - end, strip);
		fill(cells, strip->cell_bytes, place + (block->base - chunk->base), block->bytes);
		strip->used_bytes += block->bytes;
		end = block->base + block->bytes;
	}
	add_gap(chunk->base + chunk->bytes - end, strip);
	strip->blocks += chunk->count;
}

/* The chunks of a GPU by address, which the caller frees. NULL: there are none, or no memory. */
static const struct ctl_dump_chunk **sort(int gpu, struct top_strip *strip)
{
	const struct ctl_dump_chunk **chunks = calloc(heap.last.chunk_count + 1, sizeof(*chunks));

	for (size_t i = 0; chunks != NULL && i < heap.last.chunk_count; i++) {
		if ((int)heap.last.chunks[i].device != gpu)
			continue;
		chunks[strip->chunks++] = &heap.last.chunks[i];
		strip->bytes += heap.last.chunks[i].bytes;
	}
	if (chunks != NULL)
		qsort(chunks, strip->chunks, sizeof(*chunks), compare);
	return chunks;
}

bool top_heap_strip(int gpu, uint64_t *cells, size_t count, struct top_strip *strip)
{
	const struct ctl_dump_chunk **chunks;
	uint64_t place = 0;

	*strip = (struct top_strip){ .chunks = 0 };
	memset(cells, 0, count * sizeof(*cells));
	chunks = sort(gpu, strip);
	if (count != 0 && strip->bytes != 0) {
		strip->cell_bytes = (strip->bytes + count - 1) / count;
		for (size_t i = 0; i < strip->chunks; i++) {
			add_chunk(chunks[i], place, cells, strip);
			place += chunks[i]->bytes;
		}
	}
	free(chunks);
	return strip->cell_bytes != 0;
}

/* ---- tags and call sites ---- */

static void add_block(struct top_origin *sum, const struct ctl_dump_block *block)
{
	sum->blocks++;
	sum->bytes += block->requested;
}

/* The sums of a GPU by number of the name, which the caller frees. NULL: there is no memory. */
static struct top_origin *sum_by_name(int gpu)
{
	struct top_origin *sums = calloc(heap.last.tags.count, sizeof(*sums));

	for (size_t i = 0; sums != NULL && i < heap.last.chunk_count; i++) {
		const struct ctl_dump_chunk *chunk = &heap.last.chunks[i];

		if ((int)chunk->device != gpu)
			continue;
		for (size_t k = chunk->first; k < chunk->first + chunk->count; k++)
			if (heap.last.blocks[k].requested != 0)
				add_block(&sums[heap.last.blocks[k].tag], &heap.last.blocks[k]);
	}
	return sums;
}

/* Inserts a sum into `count` that are sorted. Returns one that has no place among `room`. */
static struct top_origin insert(struct top_origin *origins, size_t *count, size_t room,
				struct top_origin sum)
{
	struct top_origin last = { .blocks = 0 };
	size_t at = *count;

	while (at > 0 && origins[at - 1].bytes < sum.bytes)
		at--;
	if (*count < room)
		(*count)++;
	else if (at == room)
		return sum;
	else
		last = origins[room - 1];
	memmove(&origins[at + 1], &origins[at], (*count - at - 1) * sizeof(*origins));
	origins[at] = sum;
	return last;
}

size_t top_heap_origins(int gpu, struct top_origin *origins, size_t room)
{
	struct top_origin *sums = heap.last.has_tags ? sum_by_name(gpu) : NULL, rest;
	size_t count = 0;

	if (sums == NULL)
		return 0;
	rest = sums[0]; /* of blocks without a name */
	for (uint32_t i = 1; i < heap.last.tags.count; i++) {
		struct top_origin out;

		sums[i].name = heap.last.tags.texts[i];
		if (sums[i].blocks == 0)
			continue;
		out = insert(origins, &count, room - 1, sums[i]);
		rest.blocks += out.blocks;
		rest.bytes += out.bytes;
	}
	free(sums);
	rest.name = NULL;
	if (count != 0 && rest.blocks != 0)
		origins[count++] = rest;
	return count;
}
