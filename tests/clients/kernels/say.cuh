/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.cuh - how programs that run on a GPU report errors, and wait for kernels with a timeout.
 *
 *	#define CLIENT "objects"        name in messages
 *	#define SECONDS 60              that a kernel may take
 *	#include "say.cuh"
 *
 * Exit status: 1, an error; 3, a kernel did not finish in time. The program exits at once, because
 * waiting for the device might never end.
 */
#ifndef MAM_TESTS_CLIENTS_SAY_CUH
#define MAM_TESTS_CLIENTS_SAY_CUH

#include <mam/mam.h>

#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <unistd.h>

static inline void fail(int status, const char *format, ...)
{
	std::va_list words;

	std::fflush(stdout);
	std::fputs(CLIENT ": ", stderr);
	va_start(words, format);
	std::vfprintf(stderr, format, words);
	va_end(words);
	std::fputs("\n", stderr);
	_exit(status);
}

static inline void check(cudaError_t result, const char *what)
{
	if (result != cudaSuccess)
		fail(1, "%s: %s", what, cudaGetErrorString(result));
}

static inline void check(enum mam_status status, const char *what)
{
	if (status != MAM_OK)
		fail(1, "%s: %s", what, mam_strerror(status));
}

/* The result of the last launch, and of all work in `stream`. */
static inline cudaError_t wait(cudaStream_t stream, const char *what)
{
	std::time_t deadline = std::time(NULL) + SECONDS;
	cudaError_t result = cudaGetLastError();

	if (result != cudaSuccess)
		return result;
	while ((result = cudaStreamQuery(stream)) == cudaErrorNotReady) {
		if (std::time(NULL) > deadline)
			fail(3, "%s: not done after %d s", what, SECONDS);
		usleep(100);
	}
	return result;
}

static inline void finish(cudaStream_t stream, const char *what)
{
	check(wait(stream, what), what);
}

#endif
