/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized.h - public structs that begin with their own size, so that later versions can extend them.
 *
 * A program passes the size that it was compiled with. If the program is older than the library,
 * its struct is shorter; if it is newer, its struct is longer.
 *   - A struct that the library reads: fields that a shorter one lacks have their defaults. A longer
 *     one is accepted only if every byte that this version does not know is zero, the default.
 *     A size that ends inside a field, or that no version could have, is rejected.
 *   - A struct that the library writes: a shorter one gets as much as fits. In a longer one the
 *     bytes that this version does not know become zero. Its size is unchanged. A size that no
 *     version could have is rejected.
 *   - A struct that the library owns and exposes has the library's size.
 *
 * `size` is a size_t, and the first member.
 */
#ifndef MAM_BASE_SIZED_H
#define MAM_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * A struct of more than this size, or one that exceeds this version's struct by more than that, is
 * garbage: reading or writing that far could crash.
 */
#define MAM_SIZED_MAX 4096u

/* The begin and end of a field. */
struct mam_sized_field {
	size_t begin, end;
};

#define MAM_SIZED_END(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))
#define MAM_SIZED_FIELD(type, field)                              \
	{                                                         \
		offsetof(type, field), MAM_SIZED_END(type, field) \
	}

/* A version's struct ends at the end of a field, or after the padding that follows. */
static inline bool mam_sized_is_end(size_t size, const struct mam_sized_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (size == fields[i].begin || size == fields[i].end)
			return true;
	return false;
}

static inline bool mam_sized_is_zero(const void *given, size_t from, size_t to)
{
	const unsigned char *bytes = (const unsigned char *)given;

	for (size_t i = from; i < to; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/*
 * mam_sized_fits - whether the library can read a struct: `bytes` is its size in this version, and
 * `fields` are the fields that an older version may lack.
 */
static inline bool mam_sized_fits(const void *given, size_t bytes,
				  const struct mam_sized_field *fields, size_t count)
{
	size_t size;

	memcpy(&size, given, sizeof(size));
	if (size >= bytes)
		return size <= MAM_SIZED_MAX && mam_sized_is_zero(given, bytes, size);
	return mam_sized_is_end(size, fields, count);
}

/* mam_sized_read - pre: it fits, and `whole` has the defaults. Sets its size to this version's. */
static inline void mam_sized_read(void *whole, const void *given, size_t bytes)
{
	size_t size;

	memcpy(&size, given, sizeof(size));
	memcpy(whole, given, size < bytes ? size : bytes);
	memcpy(whole, &bytes, sizeof(bytes));
}

/*
 * mam_sized_can_hold - whether the library can write a struct: it has room for its own size, and is
 * not longer than a later version could be. `bytes` is its size in this version.
 */
static inline bool mam_sized_can_hold(const void *out, size_t bytes)
{
	size_t size;

	if (!out)
		return false;
	memcpy(&size, out, sizeof(size));
	return size >= sizeof(size) && size <= bytes + MAM_SIZED_MAX;
}

/* mam_sized_write - pre: it can be written. `whole` is this version's struct, of `bytes` bytes. */
static inline void mam_sized_write(void *out, const void *whole, size_t bytes)
{
	size_t size;

	memcpy(&size, out, sizeof(size));
	if (size > bytes)
		memset((char *)out + bytes, 0, size - bytes);
	memcpy(out, whole, size < bytes ? size : bytes);
	memcpy(out, &size, sizeof(size));
}

#endif
