/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_intern.c - see python_intern.h.
 */
#include "interpose/profile/python_intern.h"

#include <stdatomic.h>
#include <string.h>

#include "interpose/process/stack.h"

#define BUCKETS ((size_t)1 << 14)
#define BYTES_MAX ((size_t)64 << 20)

struct node {
	struct node *next; /* lock: none, set before it is published */
	uint64_t hash;
	size_t bytes;
	uint64_t data[];
};

static struct node *_Atomic buckets[BUCKETS]; /* atomic */
static _Atomic size_t used;                   /* atomic; bytes of all nodes */

#define STEP 0x9e3779b97f4a7c15u

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The products are independent of each other, so the processor computes several at once. */
uint64_t mam_python_hash(const void *data, size_t bytes, uint64_t seed)
{
	const char *at = data;
	uint64_t key = seed ^ fold(bytes + STEP, STEP), sum = key, words[2];

	for (; bytes >= sizeof(words); bytes -= sizeof(words), at += sizeof(words)) {
		memcpy(words, at, sizeof(words));
		sum += fold(words[0] ^ key, words[1] ^ (key + STEP));
		key += 2 * STEP;
	}
	memset(words, 0, sizeof(words));
	memcpy(words, at, bytes);
	sum += fold(words[0] ^ key, words[1] ^ (key + STEP));
	return fold(sum ^ STEP, sum + key);
}

static struct node *find(struct node *at, const struct node *end, uint64_t hash, const void *data,
			 size_t bytes)
{
	for (; at != end; at = at->next)
		if (at->hash == hash && at->bytes == bytes && memcmp(at->data, data, bytes) == 0)
			return at;
	return NULL;
}

const void *mam_python_intern(const void *data, size_t bytes)
{
	uint64_t hash = mam_python_hash(data, bytes, 0);
	struct node *_Atomic *bucket = &buckets[hash & (BUCKETS - 1)];
	struct node *first = atomic_load_explicit(bucket, memory_order_acquire), *made, *found;
	size_t whole = sizeof(*made) + bytes;

	found = find(first, NULL, hash, data, bytes);
	if (found != NULL)
		return found->data;
	if (atomic_fetch_add_explicit(&used, whole, memory_order_relaxed) + whole > BYTES_MAX) {
		atomic_fetch_sub_explicit(&used, whole, memory_order_relaxed);
		return NULL;
	}
	made = mam_stack_cut(whole);
	if (made == NULL)
		return NULL;
	made->hash = hash;
	made->bytes = bytes;
	memcpy(made->data, data, bytes);
	made->next = first;
	while (!atomic_compare_exchange_weak_explicit(bucket, &first, made, memory_order_release,
						      memory_order_acquire)) {
		found = find(first, made->next, hash, data, bytes);
		if (found != NULL)
			return found->data; /* another thread was faster; `made` stays unused */
		made->next = first;
	}
	return made->data;
}
