/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized.h - structs of the public headers that begin with their own size, so that they can grow.
 *
 * A program passes the size that it was compiled with. It may be older than the library, and its
 * struct shorter, or newer, and its struct longer.
 *   - A struct that the library reads: fields that a shorter one lacks have their defaults. A longer
 *     one is accepted only if every byte that this version does not know is zero, which asks for
 *     nothing. A size that ends inside a field, or that no version could have, is refused.
 *   - A struct that the library writes: a shorter one gets as much as it holds. In a longer one the
 *     bytes that this version does not know become zero. Its size stays as it is. A size that no
 *     version could have is refused.
 *   - A struct that the library owns and shows has the library's size.
 *
 * `size` is a size_t, and the first member.
 */
#ifndef MAM_BASE_SIZED_H
#define MAM_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * A struct that is longer, or that is longer by as much than this version's, is garbage: to read or
 * write that far could crash.
 */
#define MAM_SIZED_MAX 4096u

/* Where a field begins and ends. */
struct mam_sized_field {
	size_t begin, end;
};

#define MAM_SIZED_END(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))
#define MAM_SIZED_FIELD(type, field)                                  \
	{                                                             \
		offsetof(type, field), MAM_SIZED_END(type, field) \
	}

/* A version's struct ends where a field does, or after the padding that follows. */
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
 * mam_sized_fits - whether a struct can be read: `bytes` is its size in this version, and `fields` are
 * those that an older version may lack.
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

/* mam_sized_read - pre: it fits, and `whole` has the defaults. Its size becomes this version's. */
static inline void mam_sized_read(void *whole, const void *given, size_t bytes)
{
	size_t size;

	memcpy(&size, given, sizeof(size));
	memcpy(whole, given, size < bytes ? size : bytes);
	memcpy(whole, &bytes, sizeof(bytes));
}

/*
 * mam_sized_can_hold - whether a struct can be written: it has room for its own size, and no more
 * than a later version could have. `bytes` is its size in this version.
 */
static inline bool mam_sized_can_hold(const void *out, size_t bytes)
{
	size_t size;

	if (!out)
		return false;
	memcpy(&size, out, sizeof(size));
	return size >= sizeof(size) && size <= bytes + MAM_SIZED_MAX;
}

/* mam_sized_write - pre: it can be written. `whole` is this version's, of `bytes` bytes. */
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
