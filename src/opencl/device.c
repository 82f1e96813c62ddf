/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - check that a device has the features that mam needs.
 *
 * 1. The driver must have a compiler, addresses must have 64 bits, and both extensions for 64-bit
 *    atomics must be in the device's list, which is a string of words.
 * 2. OpenCL C 3.0 is used only if the device lists the features for acquire-release order and
 *    device scope. The version alone is not enough: NVIDIA's 3.0 lacks these features.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/device.h"
#include "opencl/error.h"

/* For headers before OpenCL 3.0. */
#ifdef CL_VERSION_3_0
#define FEATURES CL_DEVICE_OPENCL_C_FEATURES
typedef cl_name_version feature;
#else
#define FEATURES 0x106F
typedef struct {
	cl_uint version;
	char name[64];
} feature;
#endif

static const char *const atomics[] = { "cl_khr_int64_base_atomics",
				       "cl_khr_int64_extended_atomics" };
static const char *const orders[] = { "__opencl_c_atomic_order_acq_rel",
				      "__opencl_c_atomic_scope_device" };

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Is `word` one of the words of `text`, and not just a part of one? */
static bool has_word(const char *text, const char *word)
{
	const size_t length = strlen(word);
	const char *at;

	for (at = strstr(text, word); at; at = strstr(at + length, word))
		if ((at == text || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

/* A property of any length, with a final NUL; the caller frees it. */
static enum mam_status ask(const char *who, cl_device_id device, cl_device_info what, void **answer,
			   size_t *bytes)
{
	cl_int code = clGetDeviceInfo(device, what, 0, NULL, bytes);
	char *text;

	if (code != CL_SUCCESS)
		return mam_cl_refused(who, "clGetDeviceInfo", code);
	text = calloc(1, *bytes + 1);
	if (!text)
		return mam_cl_fail(MAM_ERROR_OUT_OF_HOST_MEMORY, CL_SUCCESS,
				   "%s: the host cannot allocate %zu bytes: free host memory.", who,
				   *bytes + 1);
	code = clGetDeviceInfo(device, what, *bytes, text, NULL);
	if (code != CL_SUCCESS) {
		free(text);
		return mam_cl_refused(who, "clGetDeviceInfo", code);
	}
	*answer = text;
	return MAM_OK;
}

/* The device's name, for error messages. */
static void name_of(cl_device_id device, char *name, size_t bytes)
{
	if (clGetDeviceInfo(device, CL_DEVICE_NAME, bytes, name, NULL) != CL_SUCCESS)
		(void)snprintf(name, bytes, "the device");
	name[bytes - 1] = 0;
}

static enum mam_status lacks(const char *who, cl_device_id device, const char *what,
			     const char *remedy)
{
	char name[256] = "";

	name_of(device, name, sizeof(name));
	return mam_cl_fail(MAM_ERROR_UNSUPPORTED, CL_SUCCESS, "%s: %s has no %s: %s.", who, name,
			   what, remedy);
}

static enum mam_status check_atomics(const char *who, cl_device_id device)
{
	enum mam_status status;
	void *extensions;
	size_t bytes, i;

	status = ask(who, device, CL_DEVICE_EXTENSIONS, &extensions, &bytes);
	if (status != MAM_OK)
		return status;
	for (i = 0; i < COUNT(atomics) && status == MAM_OK; i++)
		if (!has_word(extensions, atomics[i]))
			status = lacks(who, device,
				       "64-bit atomics (cl_khr_int64_base_atomics and "
				       "cl_khr_int64_extended_atomics)",
				       "use a device that has them");
	free(extensions);
	return status;
}

/* A device before OpenCL 3.0 does not support this query. */
static enum mam_status check_orders(const char *who, cl_device_id device, bool *has)
{
	size_t bytes = 0, i, k, found = 0;
	enum mam_status status;
	const feature *features;
	void *answer;

	*has = false;
	if (clGetDeviceInfo(device, FEATURES, 0, NULL, &bytes) != CL_SUCCESS || !bytes)
		return MAM_OK;
	status = ask(who, device, FEATURES, &answer, &bytes);
	if (status != MAM_OK)
		return status;
	features = answer;
	for (i = 0; i < bytes / sizeof(*features); i++)
		for (k = 0; k < COUNT(orders); k++)
			found +=
				strncmp(features[i].name, orders[k], sizeof(features[i].name)) == 0;
	*has = found >= COUNT(orders);
	free(answer);
	return MAM_OK;
}

enum mam_status mam_cl_device_check(const char *who, cl_device_id device, const char **options)
{
	cl_bool compiler = CL_FALSE;
	enum mam_status status;
	cl_uint bits = 0;
	bool has;
	cl_int code;

	if (!device)
		return mam_cl_fail(MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
				   "%s: the device is NULL: pass one of clGetDeviceIDs().", who);
	code = clGetDeviceInfo(device, CL_DEVICE_COMPILER_AVAILABLE, sizeof(compiler), &compiler,
			       NULL);
	if (code == CL_SUCCESS)
		code = clGetDeviceInfo(device, CL_DEVICE_ADDRESS_BITS, sizeof(bits), &bits, NULL);
	if (code != CL_SUCCESS)
		return mam_cl_refused(who, "clGetDeviceInfo", code);
	if (!compiler)
		return lacks(who, device, "compiler", "use a driver that has one");
	if (bits != 64)
		return lacks(who, device, "64-bit addresses", "use a device that has them");
	status = check_atomics(who, device);
	if (status == MAM_OK && options) {
		status = check_orders(who, device, &has);
		*options = has ? "-cl-std=CL3.0" : "-cl-std=CL1.2";
	}
	return status;
}

enum mam_status mam_cl_options(cl_device_id device, char *options, size_t bytes)
{
	enum mam_status status;
	const char *made;

	if (!options)
		return mam_cl_fail(MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
				   "mam_cl_options: the output buffer is NULL: pass a buffer.");
	status = mam_cl_device_check("mam_cl_options", device, &made);
	if (status != MAM_OK)
		return status;
	if (strlen(made) >= bytes)
		return mam_cl_fail(
			MAM_ERROR_INVALID_VALUE, CL_SUCCESS,
			"mam_cl_options: %zu bytes are too few for the options: pass %zu.", bytes,
			strlen(made) + 1);
	memcpy(options, made, strlen(made) + 1);
	return MAM_OK;
}
