/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - the work that every client does, with the calls that each client provides.
 *
 * A client fills in a struct client_api and passes it to workload_main(). All clients print the
 * same result lines for the same options, through any interface, plain or under `mam run`.
 */
#ifndef MAM_TESTS_WORKLOAD_H
#define MAM_TESTS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each call returns 0 or CUDA's error code. */
struct client_api {
	int (*start)(int device); /* once per thread */
	int (*alloc)(uintptr_t *address, size_t bytes);
	int (*release)(uintptr_t address);
	int (*up)(uintptr_t to, const void *from, size_t bytes);
	int (*down)(void *to, uintptr_t from, size_t bytes);
	int (*fill)(uintptr_t to, unsigned char value, size_t bytes);
	int (*wait)(void);
	int (*memory)(size_t *free_bytes, size_t *total_bytes);
	int (*last_error)(void); /* NULL: the API does not have it */
	int (*reset)(void);      /* frees all memory of the device; NULL: not supported */
};

struct client_options {
	unsigned long rounds;
	size_t bytes; /* blocks are smaller than twice this */
	unsigned int threads;
	int device;
	bool check;       /* read whole blocks, and test invalid calls */
	bool own_context; /* driver clients: not the primary context */
	bool leak;        /* one block stays allocated at the end */
	bool reset;       /* reset the device after the work, and work again */
	int exit_status;
};

extern struct client_options client_options;

int workload_main(int count, char **arguments, const struct client_api *api);
void workload_check(const struct client_api *api); /* check.c: prints one line per result */

#endif
