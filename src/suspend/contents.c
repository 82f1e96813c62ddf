/* SPDX-License-Identifier: Apache-2.0 */
/* contents.c - implements contents.h. */
#include "suspend/contents.h"

#include "base/bits.h"
#include "base/log.h"
#include "source/hostmem.h"

#define PORTABLE 1u /* cuMemHostAlloc: pinned for every context */
#define BUFFER ((uint64_t)16 << 20)
#define BUFFERS 2

static enum mam_status pin(struct mam_contents *contents, uint64_t bytes)
{
	const struct mam_device *device = &contents->copy.device;
	struct mam_hostmem host;
	struct mam_device_visit visit;
	struct mam_device_answer answer;

	if (mam_hostmem_read("", &host) && bytes > mam_hostmem_room(&host))
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	answer = mam_device_enter(device, &visit);
	if (answer.result == MAM_DRIVER_SUCCESS) {
		answer = mam_device_answer_of(
			"cuMemHostAlloc",
			device->driver->mem_host_alloc(&contents->memory, bytes, PORTABLE));
		mam_device_leave(device, &visit);
	}
	if (answer.result == MAM_DRIVER_OUT_OF_MEMORY)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	return mam_device_status(device, answer);
}

/* A failure leaks host memory: the context is in an error state, and ends soon. */
static void unpin(struct mam_contents *contents)
{
	const struct mam_device *device = &contents->copy.device;
	struct mam_device_visit visit;

	if (contents->memory == NULL ||
	    mam_device_enter(device, &visit).result != MAM_DRIVER_SUCCESS)
		return;
	(void)device->driver->mem_free_host(contents->memory);
	mam_device_leave(device, &visit);
	contents->memory = NULL;
}

/* A whole number of the units of pieces. */
static uint64_t buffer_of(const struct mam_contents *contents)
{
	return mam_round_up(BUFFER, contents->file.unit);
}

enum mam_status mam_contents_open(struct mam_contents *contents, struct mam_source *source,
				  uint64_t bytes, const char *folder)
{
	enum mam_status status;

	*contents = (struct mam_contents){ .is_file = folder != NULL, .file = { .number = -1 } };
	status = mam_copy_bind(&contents->copy, source);
	if (status != MAM_OK || bytes == 0)
		return status;
	if (folder != NULL)
		status = mam_contents_file_open(&contents->file, folder, bytes,
						source->properties.granularity);
	if (status == MAM_OK)
		status = pin(contents, folder != NULL ? BUFFERS * buffer_of(contents) : bytes);
	if (status != MAM_OK)
		mam_contents_close(contents, false);
	return status;
}

void mam_contents_close(struct mam_contents *contents, bool abandoned)
{
	if (contents->copy.device.driver == NULL)
		return;
	if (!abandoned) {
		unpin(contents);
		mam_copy_unbind(&contents->copy);
	}
	mam_contents_file_close(&contents->file);
	*contents = (struct mam_contents){ .file = { .number = -1 } };
}

enum mam_status mam_contents_begin(struct mam_contents *contents)
{
	contents->status = MAM_OK;
	contents->flight_bytes = 0;
	return mam_copy_begin_apart(&contents->copy, &contents->visit);
}

static void *at_buffer(const struct mam_contents *contents, unsigned buffer)
{
	return (char *)contents->memory + buffer * buffer_of(contents);
}

static bool is_good(const struct mam_contents *contents)
{
	return contents->status == MAM_OK && mam_copy_good(&contents->visit);
}

static void set_flight(struct mam_contents *contents, uint64_t offset, size_t bytes)
{
	contents->flight_buffer ^= 1;
	contents->flight_offset = offset;
	contents->flight_bytes = bytes;
}

/* The chunk in flight has arrived in its buffer: start the next one, if any, and write this one. */
static void save_chunk(struct mam_contents *contents, uint64_t address, uint64_t offset,
		       size_t bytes)
{
	size_t arrived = contents->flight_bytes;
	uint64_t to = contents->flight_offset;
	unsigned buffer = contents->flight_buffer;

	mam_copy_wait(&contents->visit);
	set_flight(contents, offset, bytes);
	if (bytes != 0)
		mam_copy_read(&contents->visit, at_buffer(contents, contents->flight_buffer),
			      address, bytes);
	if (arrived != 0 && is_good(contents))
		contents->status = mam_contents_file_write(
			&contents->file, at_buffer(contents, buffer), to, arrived);
}

/* Read the chunk into the buffer that is not in flight, and wait for the other. */
static void load_chunk(struct mam_contents *contents, uint64_t address, uint64_t offset,
		       size_t bytes)
{
	set_flight(contents, offset, bytes);
	contents->status = mam_contents_file_read(
		&contents->file, at_buffer(contents, contents->flight_buffer), offset, bytes);
	mam_copy_wait(&contents->visit);
	if (is_good(contents))
		mam_copy_write(&contents->visit, address,
			       at_buffer(contents, contents->flight_buffer), bytes);
}

static void in_chunks(struct mam_contents *contents, const struct mam_suspended *piece,
		      void (*chunk)(struct mam_contents *contents, uint64_t address,
				    uint64_t offset, size_t bytes))
{
	uint64_t at = 0, bytes;

	for (; at < piece->piece.bytes && is_good(contents); at += bytes) {
		bytes = piece->piece.bytes - at;
		if (bytes > buffer_of(contents))
			bytes = buffer_of(contents);
		chunk(contents, piece->piece.base + at, piece->offset + at, bytes);
	}
}

/* Which blocks to free if the error persists. */
static void report_piece(const struct mam_contents *contents, const struct mam_suspended *piece)
{
	if (contents->status != MAM_OK)
		mam_log(MAM_LOG_WARN, "cannot load the contents of %llu bytes at %#llx",
			(unsigned long long)piece->piece.bytes,
			(unsigned long long)piece->piece.base);
}

void mam_contents_save(struct mam_contents *contents, const struct mam_suspended *piece)
{
	if (contents->is_file)
		in_chunks(contents, piece, save_chunk);
	else
		mam_copy_read(&contents->visit, (char *)contents->memory + piece->offset,
			      piece->piece.base, piece->piece.bytes);
}

void mam_contents_load(struct mam_contents *contents, const struct mam_suspended *piece)
{
	if (!contents->is_file) {
		mam_copy_write(&contents->visit, piece->piece.base,
			       (char *)contents->memory + piece->offset, piece->piece.bytes);
	} else if (is_good(contents)) {
		in_chunks(contents, piece, load_chunk);
		report_piece(contents, piece);
	}
}

enum mam_status mam_contents_end(struct mam_contents *contents, bool saves)
{
	enum mam_status status;

	if (saves && contents->is_file && is_good(contents))
		save_chunk(contents, 0, 0, 0);
	mam_copy_wait(&contents->visit);
	status = mam_copy_end(&contents->visit);
	return contents->status != MAM_OK ? contents->status : status;
}
