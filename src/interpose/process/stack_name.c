/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_name.c - the call site of a call stack, as text (stack.h).
 *
 * 1. From the innermost frame outwards, the first frame whose object is not one of CUDA's is the
 *    call site: the application, a framework, cuBLAS or NCCL. That is what the user wants to know.
 * 2. The text is the function's name if the object exports it, otherwise its offset in the
 *    object, as addr2line takes it; and the object's name without its directory.
 * 3. Bytes that a word of a trace cannot contain become %XX.
 *
 * The search takes up to a millisecond in a large library, so each stack is named only
 * once. An object that was unloaded in the meantime is unknown.
 */
#include "interpose/process/stack.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "interpose/process/elf.h"

/* Prefixes of CUDA's own libraries: frames in them and in mam are not call sites. */
static const char *const cuda_objects[] = { "libcudart", "libcuda.so", "libmam" };

bool mam_stack_is_of_cuda(const char *object)
{
	for (size_t i = 0; i < sizeof(cuda_objects) / sizeof(cuda_objects[0]); i++)
		if (strncmp(object, cuda_objects[i], strlen(cuda_objects[i])) == 0)
			return true;
	return false;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

char *mam_stack_put_word(char *at, const char *end, const char *text, size_t max)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < max && text[i] != '\0'; i++) {
		unsigned char byte = (unsigned char)text[i];
		bool plain = byte > ' ' && byte < 127 && byte != '%';

		if (end - at < (plain ? 1 : 3))
			return at;
		if (plain) {
			*at++ = (char)byte;
			continue;
		}
		*at++ = '%';
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	}
	return at;
}

/*
 * A return address belongs to the call before it. Returns false if the object is unknown or one of
 * CUDA's.
 */
static bool name_frame(const void *frame, char *name)
{
	const char *call = (const char *)frame - 1;
	char *at = name, *end = name + MAM_STACK_NAME_BYTES - 1;
	struct mam_elf_place place;
	const char *object;
	char offset[32];

	if (!mam_elf_find(call, &place))
		return false;
	object = last_part(place.object);
	if (mam_stack_is_of_cuda(object))
		return false;
	if (place.function[0] != '\0') {
		at = mam_stack_put_word(at, end, place.function, 120);
		at = mam_stack_put_word(at, end, "@", 1);
		at = mam_stack_put_word(at, end, object, 60);
	} else {
		snprintf(offset, sizeof(offset), "+0x%zx", place.offset);
		at = mam_stack_put_word(at, end, object, 120);
		at = mam_stack_put_word(at, end, offset, sizeof(offset));
	}
	*at = '\0';
	return true;
}

void mam_stack_print(const struct mam_stack *stack, char name[MAM_STACK_NAME_BYTES])
{
	name[0] = '\0';
	for (uint32_t i = 0; i < stack->count && !name_frame(stack->frames[i], name); i++)
		;
}

const char *mam_stack_name(const struct mam_stack *stack)
{
	const char *known = atomic_load_explicit(&stack->name, memory_order_acquire);
	char name[MAM_STACK_NAME_BYTES], *kept;

	if (known != NULL)
		return known;
	mam_stack_print(stack, name);
	kept = mam_stack_cut(strlen(name) + 1);
	if (kept == NULL)
		return "";
	strcpy(kept, name);
	/* If two threads do this at once, both names are the same, and stay. */
	atomic_store_explicit(&((struct mam_stack *)stack)->name, kept, memory_order_release);
	return kept;
}
