/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - the results that a program gets for invalid calls.
 *
 * They are printed, not checked: the driver and the runtime differ in places, and a test compares
 * the lines of a plain run with those of a run under mam.
 */
#include "workload.h"

#include <stdio.h>

#define PIECES 64

static const struct client_api *api;

static void report(const char *what, int result)
{
	printf("%s: %d", what, result);
	if (api->last_error) {
		int first = api->last_error();

		printf(" last error %d then %d", first, api->last_error());
	}
	printf("\n");
}

static int zero_bytes(void)
{
	uintptr_t address = 1;
	int result = api->alloc(&address, 0);

	if (result == 0 && address != 0)
		return -1;
	return result;
}

static int twice(void)
{
	uintptr_t address = 0;
	int result = api->alloc(&address, 4096);

	if (result == 0)
		result = api->release(address);
	return result ? -1 : api->release(address);
}

/* The block must survive the attempt: it is freed correctly afterwards. */
static int interior(void)
{
	uintptr_t address = 0;
	int attempt;

	if (api->alloc(&address, 100000) != 0)
		return -1;
	attempt = api->release(address + 512);
	return api->release(address) ? -1 : attempt;
}

static int foreign(void)
{
	int local = 0;

	return api->release((uintptr_t)&local);
}

/* The interfaces differ in what a failed allocation writes to the program's pointer. */
static int too_large(const char **pointer)
{
	uintptr_t before = 77, address = before;
	int result = api->alloc(&address, (size_t)1 << 46);

	*pointer = address == before ? "unchanged" : address == 0 ? "null" : "something else";
	return result;
}

static int overflowing(void)
{
	uintptr_t address = 0;

	return api->alloc(&address, SIZE_MAX - 100);
}

/* Allocate until a call fails, free all blocks, and allocate again. */
static int until_full(int *after)
{
	uintptr_t pieces[PIECES] = { 0 };
	size_t free_bytes = 0, total_bytes = 0;
	int count = 0, result, undone = 0;

	*after = -1;
	if (api->memory(&free_bytes, &total_bytes) != 0)
		return -1;
	do {
		result = api->alloc(&pieces[count], total_bytes / 16);
	} while (result == 0 && ++count < PIECES);
	while (count > 0)
		undone |= api->release(pieces[--count]);
	*after = undone ? undone : api->alloc(&pieces[0], total_bytes / 16);
	if (*after == 0)
		*after = api->release(pieces[0]);
	return result;
}

void workload_check(const struct client_api *client)
{
	const char *pointer;
	int after;

	api = client;
	report("allocate nothing", zero_bytes());
	report("free the null address", api->release(0));
	report("free twice", twice());
	report("free inside a block", interior());
	report("free an address of the stack", foreign());
	report("allocate 64 TiB", too_large(&pointer));
	printf("the pointer is %s\n", pointer);
	report("allocate nearly all addresses", overflowing());
	report("allocate until full", until_full(&after));
	report("and again after freeing", after);
}
