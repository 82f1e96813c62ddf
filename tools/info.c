/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.c - `mam info`: what this mam is, what it finds here, and how it is set.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include <mam/mam.h>
#include <mam/options.h>

#include "args.h"
#include "command.h"
#include "format.h"
#include "message.h"
#include "selftest.h"

#define NAME_BYTES 96

struct settings {
	bool options;
	bool self_test;
};

static const struct args_option options[] = {
	{ "options", 'o', ARGS_FLAG, offsetof(struct settings, options), NULL, NULL,
	  "print the environment variables mam reads, with their values" },
	{ "self-test", 't', ARGS_FLAG, offsetof(struct settings, self_test), NULL, NULL,
	  "fill blocks of a pool on the GPU with patterns and read them\n"
	  "back; exit 0: well, 1: wrong, 77: no GPU" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	.name = "mam info",
	.use = "[OPTION]...",
	.intro = "Say what this mam is, which driver and devices it finds, and how it is set.\n",
	.options = options,
};

/* The few calls of the CUDA driver that say what is there. They make no context. */
struct driver {
	int (*init)(unsigned int flags);
	int (*version)(int *version);
	int (*count)(int *count);
	int (*name)(char *name, int bytes, int device);
	int (*total)(size_t *bytes, int device);
	int (*attribute)(int *value, int attribute, int device);
};

#define ATTRIBUTE_MAJOR 75 /* compute capability, as the driver's interface numbers it */
#define ATTRIBUTE_MINOR 76

static const struct {
	const char *symbol;
	size_t offset;
} driver_calls[] = {
	{ "cuInit", offsetof(struct driver, init) },
	{ "cuDriverGetVersion", offsetof(struct driver, version) },
	{ "cuDeviceGetCount", offsetof(struct driver, count) },
	{ "cuDeviceGetName", offsetof(struct driver, name) },
	{ "cuDeviceTotalMem_v2", offsetof(struct driver, total) },
	{ "cuDeviceGetAttribute", offsetof(struct driver, attribute) },
};

/* NULL, or why there is no driver to ask. */
static const char *find_driver(struct driver *driver)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		return "libcuda.so.1 is not on this machine";
	for (size_t i = 0; i < sizeof(driver_calls) / sizeof(driver_calls[0]); i++) {
		void *call = dlsym(library, driver_calls[i].symbol);

		if (!call)
			return "libcuda.so.1 lacks calls that mam needs";
		memcpy((char *)driver + driver_calls[i].offset, &call, sizeof(call));
	}
	return NULL;
}

static void print_device(const struct driver *driver, int device)
{
	char name[NAME_BYTES] = "?";
	int major = 0, minor = 0;
	size_t total = 0;

	driver->name(name, sizeof(name), device);
	driver->total(&total, device);
	driver->attribute(&major, ATTRIBUTE_MAJOR, device);
	driver->attribute(&minor, ATTRIBUTE_MINOR, device);
	printf("device %-4d %s, %s, compute capability %d.%d\n", device, name,
	       format_bytes(total).text, major, minor);
}

static void print_devices(void)
{
	struct driver driver;
	const char *trouble = find_driver(&driver);
	int answer, version = 0, count = 0;

	if (trouble) {
		printf("driver      none: %s\n", trouble);
		return;
	}
	answer = driver.init(0);
	if (answer) {
		printf("driver      found, but it does not start here (its error %d)\n", answer);
		return;
	}
	driver.version(&version);
	driver.count(&count);
	printf("driver      CUDA %d.%d\n", version / 1000, version % 1000 / 10);
	if (count == 0)
		printf("devices     none\n");
	for (int device = 0; device < count; device++)
		print_device(&driver, device);
}

static void print_about(void)
{
	printf("mam         %s\n", mam_version());
	printf("sources     host, cudamalloc\n");
	printf("self-test   %s\n",
	       selftest_built() ? "built in" : "not built in: no nvcc at build time");
	printf("zlib        %s\n", zlibVersion());
	print_devices();
}

/* The table of options, a paragraph each. */
static void print_options(void)
{
	size_t count;
	const struct mam_option_row *rows = mam_options(&count);

	for (size_t i = 0; i < count; i++) {
		const char *value = mam_option_value(rows[i].name);

		printf("%s%s=%s  (%s%s%s; default %s)\n    %s\n", i ? "\n" : "", rows[i].name,
		       value, rows[i].kind, rows[i].values ? ": " : "",
		       rows[i].values ? rows[i].values : "",
		       *rows[i].fallback ? rows[i].fallback : "empty", rows[i].doc);
	}
}

int info_main(int argc, char **argv)
{
	struct settings settings = { false, false };
	int first, status;

	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	if (first < argc) {
		message_error("'%s' is one word too many; see mam info --help", argv[first]);
		return STATUS_BAD;
	}
	if (settings.self_test)
		return selftest();
	if (settings.options)
		print_options();
	else
		print_about();
	return STATUS_GOOD;
}
