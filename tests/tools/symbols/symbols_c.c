/* SPDX-License-Identifier: Apache-2.0 */
/* A program, or with -DLIBRARY the library of one, for symbols.sh. The marks name the lines. */
void record(const char *mark);
int from_library(int number);

#define APART __attribute__((noinline))

#ifdef LIBRARY
static APART int in_library(int number)
{
	record("library"); /* at library */
	return number + 1;
}

int from_library(int number)
{
	int result = in_library(number);

	record("exported"); /* at exported */
	return result;
}
#else
static inline __attribute__((always_inline)) int inlined(int number)
{
	record("inlined"); /* at inlined */
	return number * 2;
}

static APART int hidden(int number)
{
	int result;

	record("static");         /* at static */
	result = inlined(number); /* at call */
	record("after");          /* at after */
	return result;
}

/* The linker removes it, and leaves its debug information at address 0, where it overlaps others. */
void removed(void);
void removed(void)
{
	__asm__ volatile(".skip 65536");
}

int main(int count, char **words)
{
	int result = hidden(count);

	(void)words;
#ifdef WITH_LIBRARY
	result += from_library(count);
#endif
	record("main"); /* at main */
	return result == 0;
}
#endif
