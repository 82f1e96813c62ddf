/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.c - the names and descriptions of statuses, and the version.
 *
 * One table, with a row for each value of enum mam_status, in the order of the values.
 */
#include <mam/mam.h>

static const struct {
	const char *name;
	const char *sentence;
} statuses[] = {
	[MAM_OK] = { "MAM_OK", "The call succeeded." },
	[MAM_ERROR_INVALID_VALUE] = { "MAM_ERROR_INVALID_VALUE",
				      "An argument is outside the range that the call allows." },
	[MAM_ERROR_OUT_OF_MEMORY] = { "MAM_ERROR_OUT_OF_MEMORY",
				      "No free block in the pool is large enough, and the source "
				      "has no more memory." },
	[MAM_ERROR_OUT_OF_HOST_MEMORY] = { "MAM_ERROR_OUT_OF_HOST_MEMORY",
					   "The host has no memory left for the pool's metadata." },
	[MAM_ERROR_NOT_OWNED] = { "MAM_ERROR_NOT_OWNED",
				  "The address is not in a chunk of the pool." },
	[MAM_ERROR_INTERIOR] = { "MAM_ERROR_INTERIOR",
				 "The address is inside a block, not its start." },
	[MAM_ERROR_DOUBLE_FREE] = { "MAM_ERROR_DOUBLE_FREE",
				    "No block is allocated at the address: it was already freed." },
	[MAM_ERROR_LIVE_BLOCKS] = { "MAM_ERROR_LIVE_BLOCKS", "The pool still has live blocks." },
	[MAM_ERROR_DESTROYED] = { "MAM_ERROR_DESTROYED",
				  "The pool was destroyed or abandoned before the call." },
	[MAM_ERROR_NO_DEVICE] = { "MAM_ERROR_NO_DEVICE",
				  "There is no usable CUDA driver, or no such device." },
	[MAM_ERROR_WOULD_WAIT] = { "MAM_ERROR_WOULD_WAIT", "The pool would have to grow, and the "
							   "call may not wait for that." },
	[MAM_ERROR_DRIVER] = { "MAM_ERROR_DRIVER", "The CUDA driver returned an error." },
	[MAM_ERROR_CORRUPT] = { "MAM_ERROR_CORRUPT", "The pool's metadata is inconsistent." },
	[MAM_ERROR_UNSUPPORTED] = { "MAM_ERROR_UNSUPPORTED",
				    "This build, source or machine does not support the request." },
	[MAM_ERROR_IO] = { "MAM_ERROR_IO", "Reading or writing a file failed." },
	[MAM_ERROR_SUSPENDED] = { "MAM_ERROR_SUSPENDED",
				  "The pool is suspended, and allocates nothing until it is "
				  "resumed." },
};

#define STATUS_COUNT (sizeof(statuses) / sizeof(statuses[0]))

/* A caller may pass any integer. A negative one becomes a large index. */
static bool is_known(enum mam_status status)
{
	return (size_t)status < STATUS_COUNT;
}

const char *mam_strerror(enum mam_status status)
{
	return is_known(status) ? statuses[status].sentence : "Unknown status.";
}

const char *mam_status_name(enum mam_status status)
{
	return is_known(status) ? statuses[status].name : "MAM_ERROR_UNKNOWN";
}

/* configure's version names the commit of a build between two releases. */
const char *mam_version(void)
{
#ifdef PACKAGE_VERSION
	return PACKAGE_VERSION;
#else
	return MAM_VERSION;
#endif
}
