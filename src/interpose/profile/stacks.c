/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.c - see stacks.h.
 */
#define _GNU_SOURCE /* mremap */
#include "interpose/profile/stacks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose/process/altstack.h"
#include "interpose/process/say.h"
#include "interpose/process/stack.h"
#include "interpose/profile/modules.h"
#include "interpose/profile/python.h"
#include "interpose/profile/python_find.h"
#include "interpose/profile/unwind.h"

#define LINE_BYTES 4000 /* readers accept 4095 */
#define SITE_DEPTH 32   /* frames that are searched for a call site */
#define NEAR 48         /* frames between an allocation and the interpreter, usually */
#define SLOTS ((size_t)1 << 16)
#define WAYS 4 /* slots that may have one stack */
#define NODES_MAX ((uint32_t)1 << 22)
#define NODES_MIN ((uint32_t)1 << 12)

/* A stack of a thread, before it has a number. */
struct raw {
	uint64_t sum; /* of the loaded files */
	size_t natives, pythons;
	void *native[MAM_STACKS_DEPTH]; /* innermost first */
	const struct mam_python_frame *python[MAM_PYTHON_DEPTH];
};

struct key {
	uint64_t low, high; /* low: not 0 */
};

struct slot {
	_Atomic uint64_t low, high; /* atomic; low 0: empty */
	_Atomic uint32_t number;    /* atomic */
};

struct request {
	mam_stacks_put *put;
	uint32_t number; /* the result */
};

enum kind { NATIVE, ADDRESS, PYTHON };

struct node {
	uint64_t value; /* offset, address, or struct mam_python_frame */
	struct mam_module *module;
	uint32_t parent; /* 0: none */
	uint32_t kind;
};

/* Equal sites have the same module and value. */
struct site {
	const struct mam_module *module; /* NULL: Python, or code without a file */
	uint64_t value;                  /* offset, address, or struct mam_python_frame */
	struct mam_stacks_site is;
};

static struct slot cache[SLOTS];                /* lock: writing, to write */
static struct site sites[MAM_STACKS_SITES + 1]; /* lock: writing, to add one; sites[0] is unused */
static uint32_t sites_used;                     /* lock: writing */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static struct node *nodes;    /* lock: writing; nodes[0] is unused */
static uint32_t *index_of;    /* lock: writing; hash table of node numbers, 0: empty */
static uint32_t room;         /* lock: writing; nodes, and half of the slots of index_of */
static uint32_t used;         /* lock: writing; the highest number */
static uint32_t written;      /* lock: writing; nodes up to this number are in the trace */
static bool wrote_map;        /* lock: writing; the perf map is named in the trace */
static char line[LINE_BYTES]; /* lock: writing */

static uint64_t mix(uint64_t state, uint64_t word, uint64_t factor)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)(state ^ word) * factor;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static struct key key_of(const struct raw *raw)
{
	struct key key = { raw->sum ^ 0x243f6a8885a308d3u, raw->natives ^ 0x13198a2e03707344u };

	for (size_t i = 0; i < raw->natives; i++) {
		uint64_t word = (uint64_t)(uintptr_t)raw->native[i];

		key.low = mix(key.low, word, 0x9e3779b97f4a7c15u);
		key.high = mix(key.high, word, 0xd6e8feb86659fd93u);
	}
	for (size_t i = 0; i < raw->pythons; i++) {
		uint64_t word = (uint64_t)(uintptr_t)raw->python[i];

		key.low = mix(key.low, word, 0x9e3779b97f4a7c15u);
		key.high = mix(key.high, word, 0xd6e8feb86659fd93u);
	}
	key.low |= 1;
	return key;
}

static struct slot *first_slot(struct key key)
{
	return &cache[key.high & (SLOTS - WAYS)];
}

/* Returns 0 if the stack is not in the cache. */
static uint32_t look_up(struct key key)
{
	struct slot *slot = first_slot(key);

	for (int i = 0; i < WAYS; i++, slot++) {
		uint32_t number;

		if (atomic_load_explicit(&slot->low, memory_order_acquire) != key.low)
			continue;
		if (atomic_load_explicit(&slot->high, memory_order_relaxed) != key.high)
			continue;
		number = atomic_load_explicit(&slot->number, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&slot->low, memory_order_relaxed) == key.low)
			return number;
	}
	return 0;
}

/* lock: writing; replaces any entry if all are in use */
static void remember(struct key key, uint32_t number)
{
	struct slot *slot = first_slot(key);
	int way = 0;

	while (way < WAYS && atomic_load_explicit(&slot[way].low, memory_order_relaxed) != 0)
		way++;
	slot += way < WAYS ? way : (int)(key.low >> 32 & (WAYS - 1));
	atomic_store_explicit(&slot->low, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&slot->high, key.high, memory_order_relaxed);
	atomic_store_explicit(&slot->number, number, memory_order_relaxed);
	atomic_store_explicit(&slot->low, key.low, memory_order_release);
}

static void *more_memory(void *old, size_t old_bytes, size_t bytes)
{
	void *made = old == NULL ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
				 : mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);

	return made == MAP_FAILED ? NULL : made;
}

static uint32_t *place_of(uint32_t *table, uint32_t slots, const struct node *node)
{
	uint64_t hash =
		mix(node->value, (uint64_t)node->parent << 2 | node->kind, 0x9e3779b97f4a7c15u);
	uint32_t at = (uint32_t)mix(hash, (uint64_t)(uintptr_t)node->module, 0xd6e8feb86659fd93u);

	for (;; at++) {
		uint32_t number = table[at & (slots - 1)];

		if (number == 0 ||
		    (nodes[number].value == node->value && nodes[number].module == node->module &&
		     nodes[number].parent == node->parent && nodes[number].kind == node->kind))
			return &table[at & (slots - 1)];
	}
}

/* lock: writing; doubles the tree. False: there is no memory, and nothing has changed. */
static bool grow(void)
{
	uint32_t more = room == 0 ? NODES_MIN : 2 * room;
	uint32_t *table;
	struct node *moved;

	if (more > NODES_MAX)
		return false;
	table = more_memory(NULL, 0, 2 * (size_t)more * sizeof(*table));
	if (table == NULL)
		return false;
	moved = more_memory(nodes, room * sizeof(*nodes), more * sizeof(*nodes));
	if (moved == NULL) {
		munmap(table, 2 * (size_t)more * sizeof(*table));
		return false;
	}
	nodes = moved;
	for (uint32_t i = 1; i <= used; i++)
		*place_of(table, 2 * more, &nodes[i]) = i;
	if (index_of != NULL)
		munmap(index_of, 2 * (size_t)room * sizeof(*index_of));
	index_of = table;
	room = more;
	return true;
}

/* lock: writing; returns the node's number, 0: no memory */
static uint32_t find_node(const struct node *node)
{
	uint32_t *place;

	if (used + 1 >= room && !grow())
		return 0;
	place = place_of(index_of, 2 * room, node);
	if (*place == 0) {
		nodes[++used] = *node;
		*place = used;
	}
	return *place;
}

/* JIT compilers that have names write them here, now or later. */
static bool write_map(mam_stacks_put *put)
{
	int bytes = snprintf(line, sizeof(line), "#perf-map /tmp/perf-%ld.map\n", (long)getpid());

	wrote_map = put(line, (size_t)bytes);
	return wrote_map;
}

static bool write_module(struct mam_module *module, mam_stacks_put *put)
{
	char *end = line + sizeof(line) - sizeof(module->id) - 2;
	char *at = line + snprintf(line, sizeof(line), "#module %u ", module->number);

	at = mam_stack_put_word(at, end, module->path[0] == '\0' ? "?" : module->path, LINE_BYTES);
	at += sprintf(at, " %s\n", module->id);
	module->is_written = put(line, (size_t)(at - line));
	return module->is_written;
}

static char *put_or_unknown(char *at, const char *end, const char *text)
{
	return mam_stack_put_word(at, end, text == NULL || text[0] == '\0' ? "?" : text,
				  LINE_BYTES);
}

/* lock: writing */
static bool write_node(uint32_t number, mam_stacks_put *put)
{
	const struct node *node = &nodes[number];
	const struct mam_python_frame *python;
	char *at = line + snprintf(line, sizeof(line), "#frame %u %u ", number, node->parent);

	switch (node->kind) {
	case PYTHON:
		python = (const struct mam_python_frame *)(uintptr_t)node->value;
		at += sprintf(at, "python %u ", python->line);
		at = put_or_unknown(at, line + LINE_BYTES / 2, python->file);
		*at++ = ' ';
		at = put_or_unknown(at, line + LINE_BYTES - 2, python->function);
		break;
	case NATIVE:
		at += sprintf(at, "native %u 0x%llx", node->module->number,
			      (unsigned long long)node->value);
		break;
	default: at += sprintf(at, "address 0x%llx", (unsigned long long)node->value);
	}
	*at++ = '\n';
	return put(line, (size_t)(at - line));
}

/* lock: writing; writes all new nodes, and before them their modules and the perf map */
static bool write_nodes(mam_stacks_put *put)
{
	while (written < used) {
		struct mam_module *module = nodes[written + 1].module;

		if (module != NULL && !module->is_written && !write_module(module, put))
			return false;
		if (nodes[written + 1].kind == ADDRESS && !wrote_map && !write_map(put))
			return false;
		if (!write_node(written + 1, put))
			return false;
		written++;
	}
	return true;
}

/* lock: writing; a return address belongs to the call before it */
static struct node frame_at(const void *address)
{
	struct node node = { .value = (uint64_t)(uintptr_t)address - 1, .kind = ADDRESS };

	node.module = mam_modules_find((uintptr_t)node.value, &node.value);
	if (node.module != NULL)
		node.kind = NATIVE;
	return node;
}

/* lock: writing; returns the number of frames before the one that called CUDA */
static size_t inner_frames(const struct raw *raw)
{
	size_t first = 0;

	while (first < raw->natives) {
		struct node node = frame_at(raw->native[first]);

		if (node.module == NULL || !node.module->is_cuda)
			return first;
		first++;
	}
	return raw->pythons != 0 ? first : 0;
}

/* lock: writing; returns the stack's number, 0: no memory */
static uint32_t find_stack(const struct raw *raw)
{
	size_t first = inner_frames(raw);
	uint32_t number = 0;

	for (size_t i = raw->pythons; i > 0; i--) {
		struct node node = { .value = (uint64_t)(uintptr_t)raw->python[i - 1],
				     .parent = number,
				     .kind = PYTHON };

		number = find_node(&node);
		if (number == 0)
			return 0;
	}
	for (size_t i = raw->natives; i > first; i--) {
		struct node node = frame_at(raw->native[i - 1]);

		node.parent = number;
		number = find_node(&node);
		if (number == 0)
			return 0;
	}
	return number;
}

/* Returns true if the interpreter is among the `max` innermost frames: the stack is complete then. */
static bool unwind_to_python(struct raw *raw, size_t max)
{
	raw->natives = mam_unwind(raw->native, max);
	for (size_t i = 0; raw->pythons != 0 && i < raw->natives; i++) {
		if (mam_python_owns(raw->native[i])) {
			raw->natives = i;
			return true;
		}
	}
	return false;
}

static void check_modules(uint64_t *sum)
{
	if (!mam_modules_outdated(sum))
		return;
	pthread_mutex_lock(&writing);
	mam_python_check();
	mam_modules_refresh();
	pthread_mutex_unlock(&writing);
}

/* Most frames of a Python program belong to the interpreter, and are not needed. */
static void take(struct raw *raw)
{
	check_modules(&raw->sum);
	raw->pythons = mam_python_frames(raw->python, MAM_PYTHON_DEPTH);
	if (raw->pythons == 0 || !unwind_to_python(raw, NEAR))
		unwind_to_python(raw, MAM_STACKS_DEPTH);
}

/* Said once: the program may have any number of stacks. */
static void report_python(const struct raw *raw)
{
	static bool reported; /* lock: writing */
	const char *version;

	if (reported || raw->pythons != 0)
		return;
	version = mam_python_unsupported();
	reported = version != NULL;
	if (reported)
		mam_say(MAM_SAY_WARN,
			"the profile has no Python frames: this version of mam does not know "
			"Python %s",
			version);
}

static void find_number(void *argument)
{
	struct request *request = argument;
	struct raw raw;
	struct key key;

	take(&raw);
	key = key_of(&raw);
	request->number = look_up(key);
	if (__builtin_expect(request->number != 0, 1))
		return;
	pthread_mutex_lock(&writing);
	report_python(&raw);
	request->number = find_stack(&raw);
	if (!write_nodes(request->put))
		request->number = 0;
	if (request->number != 0)
		remember(key, request->number);
	pthread_mutex_unlock(&writing);
}

uint32_t mam_stacks_here(mam_stacks_put *put)
{
	struct request request = { .put = put };

	mam_altstack_call(find_number, &request);
	return request.number;
}

/* lock: writing; returns 0 if all sites are in use */
static uint32_t find_site(const struct site *site)
{
	uint32_t number = 1;

	while (number <= sites_used &&
	       (sites[number].module != site->module || sites[number].value != site->value))
		number++;
	if (number > MAM_STACKS_SITES)
		return 0;
	if (number > sites_used) {
		sites[number] = *site;
		sites_used = number;
	}
	return number;
}

/*
 * lock: writing; the file of each frame becomes a module, so that the unwinder learns if it is
 * unloaded.
 */
static uint32_t find_native_site(const struct raw *raw)
{
	struct site site = { .module = NULL };
	bool is_found = false;

	for (size_t i = 0; i < raw->natives; i++) {
		struct node node = frame_at(raw->native[i]);

		if (is_found || (node.module != NULL && node.module->is_cuda))
			continue;
		is_found = true;
		site.module = node.module;
		site.value = node.value;
		site.is.address = raw->native[i];
	}
	return is_found ? find_site(&site) : 0;
}

/* Whether a frame is in the code of Python's own library or of an installed package. */
static bool is_installed(const struct mam_python_frame *frame)
{
	return strstr(frame->file, "/site-packages/") != NULL ||
	       strstr(frame->file, "/dist-packages/") != NULL ||
	       strstr(frame->file, "/lib/python3") != NULL || frame->file[0] == '<';
}

static uint32_t find_python_site(const struct raw *raw)
{
	struct site site = { .module = NULL };
	size_t own = 0;

	while (own < raw->pythons && is_installed(raw->python[own]))
		own++;
	site.is.python = raw->python[own < raw->pythons ? own : 0];
	site.value = (uint64_t)(uintptr_t)site.is.python;
	return find_site(&site);
}

/* In the cache, sites are apart from stacks. A trace that begins empties it, which only costs time. */
uint32_t mam_stacks_site(struct mam_stacks_site *site)
{
	struct raw raw = { .natives = 0 };
	struct key key;
	uint32_t number;

	check_modules(&raw.sum);
	raw.pythons = mam_python_frames(raw.python, SITE_DEPTH);
	if (raw.pythons == 0)
		raw.natives = mam_unwind(raw.native, SITE_DEPTH);
	key = key_of(&raw);
	key.high = ~key.high;
	number = look_up(key);
	if (number == 0) {
		pthread_mutex_lock(&writing);
		number = raw.pythons != 0 ? find_python_site(&raw) : find_native_site(&raw);
		if (number != 0)
			remember(key, number);
		pthread_mutex_unlock(&writing);
	}
	*site = sites[number].is;
	return number;
}

void mam_stacks_prepare(void)
{
	void *frames[SITE_DEPTH];

	(void)mam_unwind(frames, SITE_DEPTH);
}

/* lock: writing; other threads may read */
static void empty_cache(void)
{
	for (size_t i = 0; i < SLOTS; i++)
		if (atomic_load_explicit(&cache[i].low, memory_order_relaxed) != 0)
			atomic_store_explicit(&cache[i].low, 0, memory_order_relaxed);
}

void mam_stacks_begin(void)
{
	pthread_mutex_lock(&writing);
	if (room != 0) {
		empty_cache();
		memset(index_of, 0, 2 * (size_t)room * sizeof(*index_of));
	}
	used = written = 0;
	wrote_map = false;
	mam_modules_begin();
	pthread_mutex_unlock(&writing);
}

/* Another thread may have been changing the tree: its memory is not used again. */
void mam_stacks_restart(void)
{
	pthread_mutex_init(&writing, NULL);
	if (room != 0 || sites_used != 0)
		memset(cache, 0, sizeof(cache));
	sites_used = 0;
	nodes = NULL;
	index_of = NULL;
	room = used = written = 0;
	wrote_map = false;
	mam_altstack_restart();
	mam_modules_restart();
	mam_unwind_restart();
}
