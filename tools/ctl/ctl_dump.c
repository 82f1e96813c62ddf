/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_dump.c - see ctl_dump.h; ctl_dump_write.c writes the files.
 *
 * A line is accepted only if the writers can rely on it: blocks are inside their chunk, in order,
 * without overlaps, and no sum overflows. A tag may have any bytes.
 */
#include "ctl/ctl_dump.h"

#include <stdlib.h>
#include <string.h>

#include "kit/percent.h"

#define COUNT_MAX ((size_t)1 << 30) /* of blocks, and of chunks */
#define SUM_MAX ((uint64_t)1 << 60)

/* Parses decimal digits and the character after them, and moves *text past it. */
static bool take_number(const char **text, char end, uint64_t *number)
{
	const char *start = *text;

	*number = 0;
	for (; **text >= '0' && **text <= '9'; ++*text)
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(**text - '0'), number))
			return false;
	if (*text == start || **text != end)
		return false;
	if (end != '\0')
		++*text;
	return true;
}

static bool take_word(const char **text, char *word, size_t bytes)
{
	size_t length = strspn(*text, "abcdefghijklmnopqrstuvwxyz");

	if (length == 0 || length >= bytes || (*text)[length] != ' ')
		return false;
	memcpy(word, *text, length);
	word[length] = '\0';
	*text += length + 1;
	return true;
}

/* Makes room for one more: the array has room for the next power of two. */
static void *grow(void *array, size_t count, size_t bytes)
{
	if ((count & (count - 1)) != 0)
		return array;
	return count >= COUNT_MAX ? NULL : realloc(array, (count == 0 ? 1 : 2 * count) * bytes);
}

static bool add_chunk(struct ctl_dump *dump, const char *text)
{
	struct ctl_dump_chunk chunk = { .first = dump->block_count }, *chunks;
	uint64_t device, end;

	if (!take_number(&text, ' ', &device) ||
	    !take_word(&text, chunk.source, sizeof(chunk.source)) ||
	    !take_number(&text, ' ', &chunk.base) || !take_number(&text, '\0', &chunk.bytes))
		return false;
	if (device >= CTL_DUMP_DEVICES_MAX || chunk.bytes == 0 ||
	    chunk.bytes > SUM_MAX - dump->sum ||
	    __builtin_add_overflow(chunk.base, chunk.bytes, &end))
		return false;
	chunk.device = (uint32_t)device;
	chunks = grow(dump->chunks, dump->chunk_count, sizeof(*chunks));
	if (!chunks)
		return false;
	dump->chunks = chunks;
	dump->chunks[dump->chunk_count++] = chunk;
	dump->sum += chunk.bytes;
	return true;
}

static bool is_inside(const struct ctl_dump_block *block, const struct ctl_dump_chunk *chunk)
{
	return block->base >= chunk->base && block->base - chunk->base <= chunk->bytes &&
	       block->bytes <= chunk->bytes - (block->base - chunk->base);
}

static uint64_t end_of(const struct ctl_dump_block *block)
{
	return block->base + block->bytes;
}

/* The tag is all of the text. */
static bool take_tag(struct ctl_dump *dump, const char *text, uint32_t *tag)
{
	char decoded[CTL_DUMP_TAG_MAX];
	size_t length = strlen(text);

	if (length == 0 || length > sizeof(decoded))
		return false;
	if (!dump->has_tags)
		dump->has_tags = names_init(&dump->tags);
	return dump->has_tags &&
	       names_number(&dump->tags, decoded, percent_decode(text, length, decoded), tag);
}

static bool add_block(struct ctl_dump *dump, const char *text)
{
	struct ctl_dump_block block = { .tag = 0 }, *blocks;
	struct ctl_dump_chunk *chunk;
	bool has_tag;

	if (dump->chunk_count == 0 || !take_number(&text, ' ', &block.base) ||
	    !take_number(&text, ' ', &block.bytes))
		return false;
	has_tag = strchr(text, ' ') != NULL;
	if (!take_number(&text, has_tag ? ' ' : '\0', &block.requested) ||
	    (has_tag && !take_tag(dump, text, &block.tag)))
		return false;
	chunk = &dump->chunks[dump->chunk_count - 1];
	if (block.bytes == 0 || block.requested > block.bytes || !is_inside(&block, chunk) ||
	    (chunk->count && block.base < end_of(&dump->blocks[dump->block_count - 1])))
		return false;
	blocks = grow(dump->blocks, dump->block_count, sizeof(*blocks));
	if (!blocks)
		return false;
	dump->blocks = blocks;
	dump->blocks[dump->block_count++] = block;
	chunk->count++;
	return true;
}

bool ctl_dump_add(struct ctl_dump *dump, const char *line)
{
	static const char chunk[] = "chunk ", block[] = "block ";

	if (strncmp(line, chunk, sizeof(chunk) - 1) == 0)
		return add_chunk(dump, line + sizeof(chunk) - 1);
	return strncmp(line, block, sizeof(block) - 1) == 0 &&
	       add_block(dump, line + sizeof(block) - 1);
}

void ctl_dump_fini(struct ctl_dump *dump)
{
	free(dump->chunks);
	free(dump->blocks);
	if (dump->has_tags)
		names_fini(&dump->tags);
	*dump = (struct ctl_dump){ .sum = 0 };
}
