/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - the work that every client does, over the calls that each makes in its own way.
 *
 * A client fills in a struct client_api and hands it to workload_main(). All clients print the same
 * result lines for the same options, whichever way their calls take, plain or under `mam run`.
 */
#ifndef MAM_TESTS_WORKLOAD_H
#define MAM_TESTS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each call answers 0 or CUDA's own number for what went wrong. */
struct client_api {
	int (*start)(int device); /* once in each thread */
	int (*alloc)(uintptr_t *address, size_t bytes);
	int (*release)(uintptr_t address);
	int (*up)(uintptr_t to, const void *from, size_t bytes);
	int (*down)(void *to, uintptr_t from, size_t bytes);
	int (*fill)(uintptr_t to, unsigned char value, size_t bytes);
	int (*wait)(void);
	int (*memory)(size_t *free_bytes, size_t *total_bytes);
	int (*last_error)(void); /* NULL: the API has none */
	int (*reset)(void);      /* ends all memory of the device; NULL: not offered */
};

struct client_options {
	unsigned long rounds;
	size_t bytes; /* blocks are smaller than twice this */
	unsigned int threads;
	int device;
	bool check;       /* read whole blocks, and try the error answers */
	bool own_context; /* driver clients: not the primary context */
	bool leak;        /* one block stays allocated at the end */
	bool reset;       /* reset the device after the work, and work again */
	int exit_status;
};

extern struct client_options client_options;

int workload_main(int count, char **arguments, const struct client_api *api);
void workload_check(const struct client_api *api); /* check.c: prints one line an answer */

#endif
