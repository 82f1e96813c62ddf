/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.c - a library that allocates. The code is the same for all BYTES, but with LARGE its stack
 * frame has another size. With CONSTRUCTOR, it also allocates while it is loaded. With PYTHON, it has
 * the symbols of an interpreter, in which no thread runs.
 */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

int cudaMalloc(void **address, size_t bytes);
int cudaFree(void *address);
void allocate(void);

#ifdef LARGE
#define ROOM 4000
#else
#define ROOM 16
#endif

static volatile size_t bytes = BYTES;

__attribute__((noinline, aligned(4096))) void allocate(void)
{
	volatile char room[ROOM];
	void *block;

	room[0] = room[ROOM - 1] = 1;
	if (cudaMalloc(&block, bytes) != 0 || cudaFree(block) != 0)
		exit(4);
	__asm__ volatile("" : : "r"(room) : "memory");
}

#ifdef CONSTRUCTOR
__attribute__((constructor)) static void begin(void)
{
	usleep(50000); /* other threads allocate meanwhile */
	for (int i = 0; i < 100; i++)
		allocate();
}
#endif

#ifdef PYTHON
unsigned long Py_Version = 0x030b00f0;
unsigned long _PyRuntime[512] = { [5] = 1, [6] = 1 }; /* the newest interpreter, and the main one */
char PyCode_Type, PyUnicode_Type, PyBytes_Type;
void *PyGILState_GetThisThreadState(void);
void *_PyThreadState_UncheckedGet(void);

void *PyGILState_GetThisThreadState(void)
{
	return NULL;
}

void *_PyThreadState_UncheckedGet(void)
{
	return NULL;
}
#endif
