/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - mam/profile.h: libmam-preload.so records. Only it defines these symbols. They are looked
 * up in each call, without a lock (tag.c).
 */
#include <mam/profile.h>

#include <dlfcn.h>
#include <string.h>

enum mam_status mam_profile_start(const char *file, uint64_t rate)
{
	enum mam_status (*start)(const char *file, uint64_t rate);
	void *found;

	if (file == NULL || file[0] == '\0')
		return MAM_ERROR_INVALID_VALUE;
	found = dlsym(RTLD_DEFAULT, "mam_interpose_profile_start");
	/* C converts a data pointer to a function pointer only by a copy. */
	memcpy(&start, &found, sizeof(start));
	return start == NULL ? MAM_ERROR_UNSUPPORTED : start(file, rate);
}

enum mam_status mam_profile_stop(void)
{
	void *found = dlsym(RTLD_DEFAULT, "mam_interpose_profile_stop");
	enum mam_status (*stop)(void);

	memcpy(&stop, &found, sizeof(stop));
	return stop == NULL ? MAM_ERROR_INVALID_VALUE : stop();
}
