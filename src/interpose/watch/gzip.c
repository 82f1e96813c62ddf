/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip.c - see gzip.h.
 */
#include "interpose/watch/gzip.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <zlib.h> /* types and constants only */

#include "interpose/routes/real.h"

#define LEVEL 1          /* the fastest: lines of a trace are similar */
#define WINDOW (15 + 16) /* the largest, with a gzip header */
#define MEMORY 8

#define POLL_NS 100000 /* between two looks at whether another thread has loaded libz */
#define POLLS_MAX 1000 /* it may wait for the lock of the linker, which this thread may hold */

enum state { NEW, LOADING, LOADED, ABSENT };

static atomic_int state;     /* atomic: an enum state */
static __thread bool inside; /* the thread loads libz, whose constructors may allocate */
static struct {
	int (*init)(z_streamp, int, int, int, int, int, const char *, int);
	int (*reset)(z_streamp);
	int (*deflate)(z_streamp, int);
	uLong (*bound)(z_streamp, uLong);
	bool there;
	z_stream stream;
	void *packed;
	size_t room; /* bytes at packed */
} z;                 /* lock: none; one thread at a time */

static bool find(void *library, const char *name, void *function)
{
	void *found = mam_real_linker()->dlsym(library, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

void mam_gzip_load(void)
{
	const struct timespec a_moment = { 0, POLL_NS };
	int is = NEW;
	void *library;

	if (!atomic_compare_exchange_strong(&state, &is, LOADING)) {
		for (int polls = 0; !inside && polls < POLLS_MAX && is == LOADING; polls++) {
			nanosleep(&a_moment, NULL);
			is = atomic_load(&state);
		}
		return;
	}
	inside = true;
	library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library != NULL && find(library, "deflateInit2_", &z.init) &&
	    find(library, "deflateReset", &z.reset) && find(library, "deflate", &z.deflate) &&
	    find(library, "deflateBound", &z.bound))
		is = LOADED;
	else
		is = ABSENT;
	atomic_store(&state, is);
	inside = false;
}

void mam_gzip_start(size_t bytes)
{
	if (z.there || atomic_load(&state) != LOADED)
		return;
	memset(&z.stream, 0, sizeof(z.stream));
	if (z.init(&z.stream, LEVEL, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
		   (int)sizeof(z.stream)) != Z_OK)
		return;
	z.room = (size_t)z.bound(&z.stream, (uLong)bytes);
	z.packed = mmap(NULL, z.room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	z.there = z.packed != MAP_FAILED;
}

bool mam_gzip_is_there(void)
{
	return z.there;
}

bool mam_gzip_pack(const void *data, size_t bytes, const void **packed, size_t *packed_bytes)
{
	if (z.reset(&z.stream) != Z_OK)
		return false;
	z.stream.next_in = (Bytef *)(uintptr_t)data;
	z.stream.avail_in = (uInt)bytes;
	z.stream.next_out = z.packed;
	z.stream.avail_out = (uInt)z.room;
	if (z.deflate(&z.stream, Z_FINISH) != Z_STREAM_END)
		return false;
	*packed = z.packed;
	*packed_bytes = z.room - z.stream.avail_out;
	return true;
}

void mam_gzip_restart(void)
{
	z.there = false;
	inside = false;
	atomic_store(&state, NEW);
}
