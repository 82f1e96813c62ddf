/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - see python.h.
 */
#define _GNU_SOURCE /* process_vm_readv */
#include "interpose/profile/python.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "interpose/profile/python_find.h"
#include "interpose/profile/python_intern.h"

#define SKIPPED_MAX 1024 /* frames without a name, maximum */
#define TEXT_BYTES 1024  /* longer names are cut */
#define KNOWN ((size_t)1 << 14)
#define OWNED_BY_INTERPRETER 3 /* and larger values: the frame is not one of Python code */
#define FACTOR 0x9e3779b97f4a7c15u
#define NOT_HASHED UINT64_MAX
/* The state of a string, starting at the field `kind`. */
#define KIND 7u
#define COMPACT 8u
#define ASCII 16u
#define TAG_BITS ((uintptr_t)7) /* of references to objects since 3.14 */

/* A name in the interpreter. */
struct text {
	const void *characters;
	size_t length;     /* characters */
	unsigned int kind; /* bytes per character */
	uint64_t hash; /* the interpreter's, over the characters; NOT_HASHED: not computed yet */
};

/* All that a frame's description depends on. */
struct source {
	struct text file, function;
	const uint8_t *lines; /* the line table */
	size_t lines_bytes;
	uint32_t first_line, instruction;
};

/* A source whose frame is known. Interned, so never changed or freed. */
struct known {
	uint64_t
		hash; /* of the function, the first line, the instruction and the end of the file name */
	const void *file, *lines;
	size_t file_bytes, lines_bytes;
	const struct mam_python_frame *frame;
};

static const struct known *_Atomic known[KNOWN]; /* atomic; by hash, two places each */

static const struct mam_python_frame no_memory = { .function = "(unknown)", .file = "(unknown)" };

static uintptr_t word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

static uint32_t number_at(uintptr_t address)
{
	return *(const uint32_t *)address;
}

static bool may_be_object(uintptr_t address)
{
	return address >= 4096 && address % sizeof(void *) == 0;
}

static bool is_a(const struct mam_python *python, uintptr_t object, uintptr_t type)
{
	return may_be_object(object) && word_at(object + python->layout.type) == type;
}

static bool read_text(const struct mam_python *python, uintptr_t object, struct text *text)
{
	const struct mam_python_layout *layout = &python->layout;
	uint32_t state;

	if (!is_a(python, object, python->text_type))
		return false;
	state = number_at(object + layout->text_state) >> layout->kind_shift;
	text->length = word_at(object + layout->text_length);
	text->kind = state & KIND;
	text->hash = word_at(object + layout->text_length + sizeof(text->length));
	text->characters = (const void *)(object + ((state & ASCII) != 0 ? layout->text_ascii
									 : layout->text_wide));
	/* A string that is not compact has its characters elsewhere. No name is like that. */
	return (state & COMPACT) != 0 && text->length < (size_t)1 << 24 &&
	       (text->kind == 1 || text->kind == 2 || text->kind == 4);
}

static uint32_t character(const struct text *text, size_t i)
{
	switch (text->kind) {
	case 1: return ((const uint8_t *)text->characters)[i];
	case 2: return ((const uint16_t *)text->characters)[i];
	}
	return ((const uint32_t *)text->characters)[i];
}

/*
 * Encodes one character as UTF-8 and returns its bytes. The interpreter maps bytes of file names
 * that are not UTF-8 to the surrogates U+DC80 to U+DCFF; these become the byte again.
 */
static size_t encode(uint32_t c, char *to)
{
	size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	if (c - 0xdc80 < 0x80) {
		*to = (char)(c - 0xdc00);
		return 1;
	}
	if (c - 0xd800 < 0x800 || c > 0x10ffff) {
		*to = '?';
		return 1;
	}
	for (size_t i = bytes - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(heads[bytes] | c);
	return bytes;
}

static const char *intern_text(const struct text *text)
{
	char bytes[TEXT_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < text->length && used + 4 < sizeof(bytes); i++)
		used += encode(character(text, i), bytes + used);
	bytes[used++] = '\0';
	return mam_python_intern(bytes, used);
}

static size_t bytes_of(const struct text *text)
{
	return text->length * text->kind;
}

static uint64_t hash_source(const struct source *source)
{
	uint64_t hash = ((uint64_t)source->first_line << 32 | source->instruction) * FACTOR,
		 word = 0;
	size_t bytes = bytes_of(&source->file), end = bytes < sizeof(word) ? bytes : sizeof(word);

	/* Names of functions always have a hash, those of files only since 3.13. */
	if (source->function.hash != NOT_HASHED)
		hash ^= source->function.hash;
	else
		hash = mam_python_hash(source->function.characters, bytes_of(&source->function),
				       hash);
	memcpy(&word, (const char *)source->file.characters + bytes - end, end);
	hash = (hash ^ word) * FACTOR;
	return hash ^ hash >> 32 ^ source->file.kind;
}

static bool is_of(const struct known *at, const struct source *source, const struct known *wanted)
{
	return at->hash == wanted->hash && at->file_bytes == wanted->file_bytes &&
	       at->lines_bytes == wanted->lines_bytes &&
	       memcmp(at->file, source->file.characters, wanted->file_bytes) == 0 &&
	       memcmp(at->lines, source->lines, wanted->lines_bytes) == 0;
}

static const struct mam_python_frame *intern_frame(const struct mam_python *python,
						   const struct source *source)
{
	struct mam_python_frame frame;
	const struct mam_python_frame *made;

	memset(&frame, 0, sizeof(frame));
	frame.function = intern_text(&source->function);
	frame.file = intern_text(&source->file);
	frame.line = mam_python_line(python->layout.lines, source->lines, source->lines_bytes,
				     source->first_line, source->instruction);
	if (frame.function == NULL || frame.file == NULL)
		return &no_memory;
	made = mam_python_intern(&frame, sizeof(frame));
	return made != NULL ? made : &no_memory;
}

static const struct mam_python_frame *frame_of(const struct mam_python *python,
					       const struct source *source)
{
	struct known made = { .hash = hash_source(source),
			      .file_bytes = bytes_of(&source->file),
			      .lines_bytes = source->lines_bytes };
	const struct known *_Atomic *pair = &known[made.hash & (KNOWN - 2)], *_Atomic *into = pair;
	const struct known *at;

	for (int i = 0; i < 2; i++) {
		at = atomic_load_explicit(&pair[i], memory_order_acquire);
		if (at == NULL)
			into = &pair[i];
		else if (is_of(at, source, &made))
			return at->frame;
	}
	made.frame = intern_frame(python, source);
	made.file = mam_python_intern(source->file.characters, made.file_bytes);
	made.lines = mam_python_intern(source->lines, made.lines_bytes);
	if (made.frame != &no_memory && made.file != NULL && made.lines != NULL) {
		at = mam_python_intern(&made, sizeof(made));
		if (at != NULL)
			atomic_store_explicit(into, at, memory_order_release);
	}
	return made.frame;
}

/* Returns the offset of the frame's instruction in its code, or a negative number before the first. */
static int64_t instruction_of(const struct mam_python *python, uintptr_t frame, uintptr_t code)
{
	const struct mam_python_layout *layout = &python->layout;
	uintptr_t start = code + layout->code_bytes, copies;
	int32_t index;

	switch (layout->lines) {
	case MAM_PYTHON_LINES_3_9: return (int32_t)number_at(frame + layout->instruction);
	case MAM_PYTHON_LINES_3_10:
		return 2 * (int64_t)(int32_t)number_at(frame + layout->instruction);
	case MAM_PYTHON_LINES_3_11: break;
	}
	if (layout->copy != MAM_PYTHON_ABSENT) { /* an array: its size, then pointers */
		copies = word_at(code + layout->code_copies);
		index = (int32_t)number_at(frame + layout->copy);
		if (may_be_object(copies) && index >= 0 && (uintptr_t)index < word_at(copies))
			start = word_at(copies + sizeof(copies) * ((size_t)index + 1));
	}
	return (int64_t)(word_at(frame + layout->instruction) - start);
}

/* Returns false if the frame has no name or has not begun. */
static bool read_frame(const struct mam_python *python, uintptr_t frame, uintptr_t code,
		       struct source *source)
{
	const struct mam_python_layout *layout = &python->layout;
	uintptr_t lines = word_at(code + layout->line_table);
	int64_t instruction = instruction_of(python, frame, code);

	if (instruction < 0 || instruction > INT32_MAX ||
	    !read_text(python, word_at(code + layout->file), &source->file) ||
	    !read_text(python, word_at(code + layout->function), &source->function))
		return false;
	source->first_line = number_at(code + layout->first_line);
	source->instruction = (uint32_t)instruction;
	source->lines = (const uint8_t *)"";
	source->lines_bytes = 0;
	if (is_a(python, lines, python->bytes_type)) {
		source->lines = (const uint8_t *)(lines + layout->bytes_data);
		source->lines_bytes = word_at(lines + layout->bytes_size);
	}
	return true;
}

/*
 * Up to 3.11, PyGILState_GetThisThreadState() returns the state of the main interpreter also while
 * the thread runs a sub-interpreter. The current state is the right one then, if it belongs to this
 * thread. If it belongs to another thread, that thread may be freeing it, so the system reads it.
 */
static bool is_own(const struct mam_python *python, uintptr_t state)
{
	unsigned long id = 0;
	struct iovec to = { .iov_base = &id, .iov_len = sizeof(id) };
	struct iovec from = { .iov_base = (void *)(state + python->layout.thread_id),
			      .iov_len = sizeof(id) };
	int saved = errno;
	bool read = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(id);

	errno = saved;
	return read && id == (unsigned long)pthread_self();
}

static uintptr_t this_thread(const struct mam_python *python)
{
	uintptr_t newest = word_at(python->runtime + python->layout.interpreters);
	uintptr_t current, state;

	/* No function of a library may be called before it is relocated, so not before it is in use. */
	if (newest == 0)
		return 0;
	current = (uintptr_t)python->current();
	if (current != 0 && python->current_is_own)
		return current;
	state = (uintptr_t)python->state();
	if (current != 0 && current != state && state != 0 &&
	    newest != word_at(python->runtime + python->layout.interpreters + sizeof(newest)) &&
	    is_own(python, current))
		return current;
	return state;
}

/* The thread that shuts the interpreter down frees the states and frames of all others. */
static bool is_ending(const struct mam_python *python, uintptr_t thread)
{
	uintptr_t ending = __atomic_load_n(
		(const uintptr_t *)(python->runtime + python->layout.finalizing), __ATOMIC_ACQUIRE);

	return ending != 0 && ending != thread;
}

/* Since 3.13, a specialized call of a class adds a frame of the interpreter's own code. */
static bool is_internal(const struct mam_python_frame *frame)
{
	return frame->line == 0 && frame->file == frame->function && frame != &no_memory;
}

size_t mam_python_frames(const struct mam_python_frame **frames, size_t max)
{
	const struct mam_python *python = mam_python_find();
	const struct mam_python_layout *layout;
	uintptr_t thread, frame, code;
	size_t count = 0, skipped = 0;
	const struct mam_python_frame *found;
	struct source source;

	if (python == NULL || !python->supported)
		return 0;
	layout = &python->layout;
	thread = this_thread(python);
	if (thread == 0 || is_ending(python, thread))
		return 0;
	frame = word_at(thread + layout->thread_frame);
	if (layout->record_frame != MAM_PYTHON_ABSENT && frame != 0)
		frame = word_at(frame + layout->record_frame);
	while (may_be_object(frame) && count < max && skipped < SKIPPED_MAX &&
	       !is_ending(python, thread)) {
		if (layout->owner == MAM_PYTHON_ABSENT ||
		    *(const uint8_t *)(frame + layout->owner) < OWNED_BY_INTERPRETER) {
			code = word_at(frame + layout->code) & ~TAG_BITS;
			if (!is_a(python, code, python->code_type))
				break;
			found = read_frame(python, frame, code, &source) ? frame_of(python, &source)
									 : NULL;
		} else {
			found = NULL;
		}
		if (found != NULL && !is_internal(found))
			frames[count++] = found;
		else
			skipped++;
		frame = word_at(frame + layout->previous);
	}
	return count;
}

bool mam_python_owns(const void *pc)
{
	const struct mam_python *python = mam_python_find();

	return python != NULL && (uintptr_t)pc - python->begin < python->end - python->begin;
}

const char *mam_python_unsupported(void)
{
	const struct mam_python *python = mam_python_find();

	return python == NULL || python->supported ? NULL : python->version;
}
