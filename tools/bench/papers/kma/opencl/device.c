/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - selects the OpenCL device of mam-bench-opencl: of all platforms and devices whose
 * names contain the given strings, the first GPU, or otherwise the first device.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cl.h"

#define MAX 16 /* platforms, and devices per platform, that are considered */

bool cl_failed(struct device_play *play, cl_int code, const char *what)
{
	if (code != CL_SUCCESS && play->trouble[0] == '\0')
		snprintf(play->trouble, sizeof(play->trouble), "OpenCL refused %s: error %d", what,
			 (int)code);
	return play->trouble[0] != '\0';
}

bool cl_failed_mam(struct device_play *play, enum mam_status status, const char *what)
{
	const char *sentence = NULL;

	if (status == MAM_OK)
		return play->trouble[0] != '\0';
	(void)mam_cl_error(&sentence);
	if (play->trouble[0] == '\0')
		snprintf(play->trouble, sizeof(play->trouble), "%s failed: %.400s", what,
			 sentence != NULL ? sentence : "no reason was given");
	return true;
}

/* Ignores case. */
static bool has_part(const char *name, const char *part)
{
	const size_t length = strlen(part);
	size_t i;

	for (; strlen(name) >= length; name++) {
		for (i = 0; i < length; i++) {
			if (tolower((unsigned char)name[i]) != tolower((unsigned char)part[i]))
				break;
		}
		if (i == length)
			return true;
	}
	return false;
}

/* Removes tabs, which separate the fields of a row. */
static void flatten(char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < ' ' || *text == '"' || *text == ',')
			*text = ' ';
	}
}

static void name_device(cl_device_id device, cl_device_info what, char name[CL_NAME_BYTES])
{
	char text[1024] = "";

	if (clGetDeviceInfo(device, what, sizeof(text), text, NULL) != CL_SUCCESS)
		snprintf(text, sizeof(text), "unknown");
	snprintf(name, CL_NAME_BYTES, "%.*s", CL_NAME_BYTES - 1, text);
	flatten(name);
}

static void name_platform(cl_platform_id platform, char name[CL_NAME_BYTES])
{
	char text[1024] = "";

	if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(text), text, NULL) != CL_SUCCESS)
		snprintf(text, sizeof(text), "unknown");
	snprintf(name, CL_NAME_BYTES, "%.*s", CL_NAME_BYTES - 1, text);
	flatten(name);
}

/* Selects the device if it is the first match, or the first GPU. */
static void consider(struct device_play *play, cl_platform_id platform, cl_device_id device,
		     const char *part)
{
	char name[CL_NAME_BYTES];
	cl_device_type type = 0;

	name_device(device, CL_DEVICE_NAME, name);
	if (!has_part(name, part) ||
	    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL) != CL_SUCCESS)
		return;
	if (play->device != NULL && (!play->is_processor || !(type & CL_DEVICE_TYPE_GPU)))
		return;
	play->platform = platform;
	play->device = device;
	play->is_processor = !(type & CL_DEVICE_TYPE_GPU);
	name_platform(platform, play->platform_name);
	memcpy(play->device_name, name, sizeof(name));
	name_device(device, CL_DRIVER_VERSION, play->driver);
}

static void choose(struct device_play *play, const char *platform, const char *device)
{
	cl_platform_id platforms[MAX];
	cl_device_id devices[MAX];
	char name[CL_NAME_BYTES];
	cl_uint count = 0, many, i, k;

	if (clGetPlatformIDs(MAX, platforms, &count) != CL_SUCCESS)
		count = 0;
	for (i = 0; i < count && i < MAX; i++) {
		name_platform(platforms[i], name);
		many = 0;
		if (!has_part(name, platform) || clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL,
								MAX, devices, &many) != CL_SUCCESS)
			continue;
		for (k = 0; k < many && k < MAX; k++)
			consider(play, platforms[i], devices[k], device);
	}
	if (play->device == NULL)
		snprintf(play->trouble, sizeof(play->trouble),
			 "of %u platforms of OpenCL none has '%.80s' in its name and a device with "
			 "'%.80s' in its own; clinfo -l lists them",
			 (unsigned int)count, platform, device);
}

/* The text of kernels.cl and its prerequisites; tools/bench/papers/kma/Makefile.inc generates it. */
extern const unsigned char mam_kma_opencl_text[];

static bool build(struct device_play *play, bool poor, const char *options)
{
	static const char prologue[] =
		"struct edges_keep;\n"
		"static __global void *edges_ring_alloc(struct edges_keep *keep, size_t bytes);\n"
		"static bool edges_ring_free(struct edges_keep *keep, __global void *node);\n"
		"#define MAM_DS_BASE struct edges_keep *\n"
		"#define mam_ds_alloc(base, bytes) edges_ring_alloc(base, bytes)\n"
		"#define mam_ds_free(base, block) edges_ring_free(base, block)\n"
		"#define KMA_POOR\n";
	const char *texts[] = { poor ? prologue : "", mam_cl_source(),
				(const char *)mam_kma_opencl_text };
	char log[300] = "";
	cl_program program;
	cl_int code;

	program = clCreateProgramWithSource(play->context, 3, texts, NULL, &code);
	if (cl_failed(play, code, "the text of the kernels"))
		return false;
	play->programs[poor] = program;
	code = clBuildProgram(program, 1, &play->device, options, NULL, NULL);
	if (code != CL_SUCCESS)
		(void)clGetProgramBuildInfo(program, play->device, CL_PROGRAM_BUILD_LOG,
					    sizeof(log), log, NULL);
	log[sizeof(log) - 1] = '\0';
	flatten(log);
	if (code != CL_SUCCESS && play->trouble[0] == '\0')
		snprintf(play->trouble, sizeof(play->trouble),
			 "OpenCL did not build the kernels: error %d: %s", (int)code, log);
	return code == CL_SUCCESS;
}

static void read_max(struct device_play *play)
{
	cl_ulong max = 0, all = 0;

	(void)clGetDeviceInfo(play->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(max), &max, NULL);
	(void)clGetDeviceInfo(play->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(all), &all, NULL);
	play->heap_max = max < all / 4 ? max : all / 4;
}

bool cl_device_open(struct device_play *play, const char *platform, const char *device)
{
	char options[256];
	cl_int code;

	choose(play, platform, device);
	if (play->device == NULL)
		return false;
	read_max(play);
	if (cl_failed_mam(play, mam_cl_options(play->device, options, sizeof(options)),
			  "mam_cl_options()"))
		return false;
	play->context = clCreateContext(NULL, 1, &play->device, NULL, NULL, &code);
	if (cl_failed(play, code, "a context"))
		return false;
	play->queue =
		clCreateCommandQueue(play->context, play->device, CL_QUEUE_PROFILING_ENABLE, &code);
	if (cl_failed(play, code, "a queue that says times"))
		return false;
	play->told = cl_buffer(play, sizeof(struct kma_told));
	return play->told != NULL && build(play, false, options) && build(play, true, options);
}

void cl_device_close(struct device_play *play)
{
	size_t i;

	cl_heap_end(play);
	for (i = 0; i < 2; i++) {
		if (play->programs[i] != NULL)
			clReleaseProgram(play->programs[i]);
	}
	if (play->told != NULL)
		clReleaseMemObject(play->told);
	if (play->queue != NULL)
		clReleaseCommandQueue(play->queue);
	if (play->context != NULL)
		clReleaseContext(play->context);
}
