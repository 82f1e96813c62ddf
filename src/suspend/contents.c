/* SPDX-License-Identifier: Apache-2.0 */
/* contents.c - implements contents.h. */
#include "suspend/contents.h"

#include "base/bits.h"
#include "base/log.h"

#define BUFFER ((uint64_t)16 << 20)
#define BUFFERS 2

/* A whole number of the units of pieces. */
static uint64_t buffer_of(const struct mam_contents *contents)
{
	return mam_round_up(BUFFER, contents->file.unit);
}

enum mam_status mam_contents_open(struct mam_contents *contents, struct mam_source *source,
				  uint64_t bytes, const char *folder)
{
	enum mam_status status;

	if (folder == NULL && contents->pinned.memory != NULL && !contents->is_file &&
	    mam_pinned_extend(&contents->pinned, bytes)) {
		contents->mark_at = bytes / 4 * 3;
		return MAM_OK;
	}
	mam_contents_close(contents, false);
	*contents = (struct mam_contents){ .is_file = folder != NULL,
					   .mark_at = bytes / 4 * 3,
					   .file = { .number = -1 } };
	status = mam_copy_bind(&contents->copy, source);
	if (status == MAM_OK && !mam_pinned_is_possible(contents->copy.device.driver))
		status = MAM_ERROR_UNSUPPORTED;
	if (status == MAM_OK && bytes == 0)
		return MAM_OK;
	if (status == MAM_OK && folder != NULL)
		status = mam_contents_file_open(&contents->file, folder, bytes,
						source->properties.granularity);
	if (status == MAM_OK && folder != NULL)
		status = mam_pinned_open(&contents->pinned, BUFFERS * buffer_of(contents),
					 buffer_of(contents));
	else if (status == MAM_OK)
		status = mam_pinned_open(&contents->pinned, bytes, 0);
	if (status != MAM_OK)
		mam_contents_close(contents, false);
	return status;
}

static void unpin(struct mam_contents *contents)
{
	const struct mam_device *device = &contents->copy.device;
	struct mam_device_visit visit;
	unsigned int result = mam_device_enter(device, &visit).result;

	if (result != MAM_DRIVER_SUCCESS) {
		mam_pinned_drop(&contents->pinned, result == MAM_DRIVER_CONTEXT_IS_DESTROYED ||
							   result == MAM_DRIVER_DEINITIALIZED);
		return;
	}
	mam_pinned_close(&contents->pinned, device->driver);
	mam_device_leave(device, &visit);
}

void mam_contents_close(struct mam_contents *contents, bool abandoned)
{
	if (contents->copy.device.driver == NULL)
		return;
	if (abandoned) {
		mam_pinned_drop(&contents->pinned, true);
	} else {
		unpin(contents);
		mam_copy_unbind(&contents->copy);
	}
	mam_contents_file_close(&contents->file);
	*contents = (struct mam_contents){ .file = { .number = -1 } };
}

static bool is_good(const struct mam_contents *contents)
{
	return contents->status == MAM_OK && mam_copy_good(&contents->visit);
}

/* Pinned memory at `offset`, with `room` bytes to the end of its unit. Check is_good() afterwards. */
static char *reach(struct mam_contents *contents, uint64_t offset, size_t *room)
{
	unsigned int result;

	if (!is_good(contents))
		return NULL;
	result = mam_pinned_reach(&contents->pinned, contents->copy.device.driver, offset, room);
	if (result == MAM_DRIVER_OUT_OF_MEMORY)
		contents->status = MAM_ERROR_OUT_OF_HOST_MEMORY;
	else
		contents->visit.answer = mam_device_answer_of("cuMemHostRegister", result);
	return contents->pinned.memory + offset;
}

enum mam_status mam_contents_begin(struct mam_contents *contents)
{
	size_t room;
	enum mam_status status;

	contents->status = MAM_OK;
	contents->flight_bytes = 0;
	contents->is_marked = contents->has_begun_well = contents->has_ended_well = false;
	status = mam_copy_begin_apart(&contents->copy, &contents->visit);
	if (status == MAM_OK && contents->is_file)
		(void)reach(contents, BUFFERS * buffer_of(contents) - 1, &room);
	return status;
}

static void *at_buffer(const struct mam_contents *contents, unsigned buffer)
{
	return contents->pinned.memory + buffer * buffer_of(contents);
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
		mam_log(MAM_LOG_WARN,
			"cannot restore %llu bytes of suspended memory at %#llx; if that persists, "
			"free the blocks there",
			(unsigned long long)piece->piece.bytes,
			(unsigned long long)piece->piece.base);
}

/* Copy a piece to or from host memory, in as many parts as it has units there. */
static void in_units(struct mam_contents *contents, const struct mam_suspended *piece, bool saves)
{
	uint64_t at = 0;
	size_t room;
	char *host;

	while (at < piece->piece.bytes) {
		host = reach(contents, piece->offset + at, &room);
		if (!is_good(contents))
			return;
		if (room > piece->piece.bytes - at)
			room = piece->piece.bytes - at;
		if (saves)
			mam_copy_read(&contents->visit, host, piece->piece.base + at, room);
		else
			mam_copy_write(&contents->visit, piece->piece.base + at, host, room);
		at += room;
	}
}

void mam_contents_save(struct mam_contents *contents, const struct mam_suspended *piece)
{
	if (contents->is_file) {
		in_chunks(contents, piece, save_chunk);
		return;
	}
	if (piece->offset >= contents->mark_at && !contents->is_marked) {
		mam_copy_mark(&contents->visit);
		contents->is_marked = true;
	}
	in_units(contents, piece, true);
}

bool mam_contents_is_saved(struct mam_contents *contents, const struct mam_suspended *piece)
{
	bool waits_for_mark = contents->is_marked && piece->offset < contents->mark_at;

	if (waits_for_mark && !contents->has_begun_well) {
		mam_copy_wait_mark(&contents->visit);
		contents->has_begun_well = is_good(contents);
	} else if (!waits_for_mark && !contents->has_ended_well) {
		if (contents->is_file && is_good(contents))
			save_chunk(contents, 0, 0, 0);
		mam_copy_wait(&contents->visit);
		contents->has_ended_well = is_good(contents);
	}
	return is_good(contents);
}

void mam_contents_load(struct mam_contents *contents, const struct mam_suspended *piece)
{
	if (!contents->is_file) {
		in_units(contents, piece, false);
	} else if (is_good(contents)) {
		in_chunks(contents, piece, load_chunk);
		report_piece(contents, piece);
	}
}

enum mam_status mam_contents_end(struct mam_contents *contents)
{
	enum mam_status status;

	mam_copy_wait(&contents->visit);
	status = mam_copy_end(&contents->visit);
	return contents->status != MAM_OK ? contents->status : status;
}
