/* SPDX-License-Identifier: Apache-2.0 */
/* profiled.c - see profiled.h. */
#include "interpose/watch/profiled.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <mam/recorder.h>

#include "interpose/process/file.h"
#include "interpose/process/say.h"
#include "interpose/routes/init.h"
#include "interpose/watch/tracer.h"

static atomic_bool is_running; /* atomic; the program started the trace */

static enum mam_status start(const char *file, uint64_t rate)
{
	int error = mam_tracer_open(file, &rate);

	switch (error) {
	case 0:
		mam_tracer_opened();
		atomic_store(&is_running, true);
		return MAM_OK;
	case EBUSY: return MAM_ERROR_UNSUPPORTED;
	case EAGAIN: return MAM_ERROR_WOULD_WAIT;
	default:
		mam_say(MAM_SAY_ERROR, "cannot write profile '%s': %s", file,
			mam_file_error(error));
		return MAM_ERROR_IO;
	}
}

void mam_interpose_alone(void)
{
	mam_init_stand_aside();
}

enum mam_status mam_interpose_profile_start(const char *file, uint64_t rate)
{
	struct mam_file_signals signals;
	enum mam_status status;

	if (mam_init_is_off() && !mam_init_is_alone())
		return MAM_ERROR_UNSUPPORTED;
	mam_init_depth++;
	mam_file_hush(&signals);
	status = start(file, rate);
	mam_file_unhush(&signals);
	mam_init_depth--;
	return status;
}

/* mam ctl may have ended it. */
enum mam_status mam_interpose_profile_stop(void)
{
	struct mam_file_signals signals;
	uint64_t events;
	bool was_open;

	if (!atomic_exchange(&is_running, false))
		return MAM_ERROR_INVALID_VALUE;
	mam_init_depth++;
	mam_file_hush(&signals);
	was_open = mam_tracer_close(&events);
	mam_file_unhush(&signals);
	mam_init_depth--;
	return was_open ? MAM_OK : MAM_ERROR_INVALID_VALUE;
}

enum mam_status mam_interpose_profile_dump(void)
{
	struct mam_file_signals signals;
	int error;

	if (!atomic_load(&is_running))
		return MAM_ERROR_INVALID_VALUE;
	mam_init_depth++;
	mam_file_hush(&signals);
	error = mam_tracer_flush();
	mam_file_unhush(&signals);
	mam_init_depth--;
	return error == 0 ? MAM_OK : error == EIO ? MAM_ERROR_IO : MAM_ERROR_INVALID_VALUE;
}

void mam_profiled_forget(void)
{
	atomic_store(&is_running, false);
}
