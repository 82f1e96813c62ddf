/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - mam/profile.h: libmam-preload.so records (recorder.h).
 */
#include <mam/profile.h>

#include <string.h>

#include "api/recorder.h"

enum mam_status mam_profile_start(const char *file, uint64_t rate)
{
	enum mam_status (*start)(const char *file, uint64_t rate);
	enum mam_status status;
	void *found;

	if (file == NULL || file[0] == '\0')
		return MAM_ERROR_INVALID_VALUE;
	status = mam_recorder_load();
	if (status != MAM_OK)
		return status;
	found = mam_recorder_find("mam_interpose_profile_start");
	/* C converts a data pointer to a function pointer only by a copy. */
	memcpy(&start, &found, sizeof(start));
	return start(file, rate);
}

/* Without that function, no profile was started. */
static enum mam_status call(const char *name)
{
	void *found = mam_recorder_find(name);
	enum mam_status (*function)(void);

	memcpy(&function, &found, sizeof(function));
	return function == NULL ? MAM_ERROR_INVALID_VALUE : function();
}

enum mam_status mam_profile_dump(void)
{
	return call("mam_interpose_profile_dump");
}

enum mam_status mam_profile_stop(void)
{
	return call("mam_interpose_profile_stop");
}
