/* SPDX-License-Identifier: Apache-2.0 */
/* python_calls.c - a library that Python programs call to read their own frames. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "interpose/profile/python.h"

size_t calls_frames(const struct mam_python_frame **frames, size_t max);
size_t calls_in_thread(void);
void calls_forever(int (*is_ending)(void));
void calls_thread(void (*function)(void));
const char *calls_unsupported(void);
int calls_owns(const void *address);

/* As a call of CUDA: ctypes.CDLL releases the interpreter's lock around it, ctypes.PyDLL does not. */
size_t calls_frames(const struct mam_python_frame **frames, size_t max)
{
	return mam_python_frames(frames, max);
}

static void *count_frames(void *count)
{
	const struct mam_python_frame *frames[MAM_PYTHON_DEPTH];

	*(size_t *)count = mam_python_frames(frames, MAM_PYTHON_DEPTH);
	return NULL;
}

/* The number of frames of a thread that never ran Python. */
size_t calls_in_thread(void)
{
	size_t count = 1;
	pthread_t thread;

	if (pthread_create(&thread, NULL, count_frames, &count) == 0)
		pthread_join(thread, NULL);
	return count;
}

static void *run(void *function)
{
	(*(void (**)(void))function)();
	return NULL;
}

/* Calls Python from a thread that Python did not create. */
void calls_thread(void (*function)(void))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, &function) == 0)
		pthread_join(thread, NULL);
}

/*
 * Reads frames until the process ends, and never returns to the interpreter. `is_ending` is the
 * interpreter's function.
 */
void calls_forever(int (*is_ending)(void))
{
	static const char bad[] = "not ok - no frames while another thread ends the interpreter\n";
	const struct mam_python_frame *frames[MAM_PYTHON_DEPTH];

	for (;;) {
		int was_ending = is_ending();
		size_t count = mam_python_frames(frames, MAM_PYTHON_DEPTH);

		if (was_ending && count != 0 && write(1, bad, sizeof(bad) - 1) != 0)
			_exit(1);
	}
}

const char *calls_unsupported(void)
{
	return mam_python_unsupported();
}

int calls_owns(const void *address)
{
	return mam_python_owns(address);
}

/* Runs after the interpreter ended. */
__attribute__((destructor)) static void last(void)
{
	const struct mam_python_frame *frames[MAM_PYTHON_DEPTH];

	if (mam_python_frames(frames, MAM_PYTHON_DEPTH) == 0)
		printf("ok - no frames after the interpreter\n");
	else
		printf("not ok - no frames after the interpreter: some\n");
	fflush(stdout);
}
