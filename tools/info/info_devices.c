/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info_devices.c - the CUDA driver of this machine, its devices, and mam's support for them.
 *
 * No function here creates a context, so no GPU memory is allocated.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "kit/format.h"
#include "info/info.h"

#define NAME_BYTES 96

/* Device attributes, as the driver API numbers them. */
#define ATTRIBUTE_MAJOR 75 /* compute capability */
#define ATTRIBUTE_MINOR 76
#define ATTRIBUTE_VIRTUAL_MEMORY 102
#define ATTRIBUTE_EXPORTS_DESCRIPTORS 103
#define ATTRIBUTE_MEMORY_POOLS 115
#define ATTRIBUTE_IPC 125 /* of events, and so of memory */

struct driver {
	int (*init)(unsigned int flags);
	int (*version)(int *version);
	int (*count)(int *count);
	int (*name)(char *name, int bytes, int device);
	int (*total)(size_t *bytes, int device);
	int (*attribute)(int *value, int attribute, int device);
	void *record_event; /* NULL: an older driver */
};

static const struct {
	const char *symbol;
	size_t offset;
	bool needed;
} driver_calls[] = {
	{ "cuInit", offsetof(struct driver, init), true },
	{ "cuDriverGetVersion", offsetof(struct driver, version), true },
	{ "cuDeviceGetCount", offsetof(struct driver, count), true },
	{ "cuDeviceGetName", offsetof(struct driver, name), true },
	{ "cuDeviceTotalMem_v2", offsetof(struct driver, total), true },
	{ "cuDeviceGetAttribute", offsetof(struct driver, attribute), true },
	{ "cuCtxRecordEvent", offsetof(struct driver, record_event), false },
};

/* NULL, or the reason why there is no usable driver. */
static const char *find_driver(struct driver *driver)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		return "libcuda.so.1 was not found";
	for (size_t i = 0; i < sizeof(driver_calls) / sizeof(driver_calls[0]); i++) {
		void *call = dlsym(library, driver_calls[i].symbol);

		if (!call && driver_calls[i].needed)
			return "libcuda.so.1 lacks functions that mam needs";
		memcpy((char *)driver + driver_calls[i].offset, &call, sizeof(call));
	}
	return NULL;
}

static bool has(const struct driver *driver, int attribute, int device)
{
	int value = 0;

	return driver->attribute(&value, attribute, device) == 0 && value != 0;
}

static void print_device(const struct driver *driver, int device, bool plain)
{
	char name[NAME_BYTES] = "?", key[32], label[32];
	int major = 0, minor = 0;
	bool exchanges, exports;
	size_t total = 0;

	driver->name(name, sizeof(name), device);
	driver->total(&total, device);
	driver->attribute(&major, ATTRIBUTE_MAJOR, device);
	driver->attribute(&minor, ATTRIBUTE_MINOR, device);
	snprintf(key, sizeof(key), "device.%d", device);
	snprintf(label, sizeof(label), "device %d", device);
	info_line(plain, key, label, "%s, %s, compute capability %d.%d", name,
		  format_bytes(total).text, major, minor);
	snprintf(key, sizeof(key), "device.%d.has", device);
	info_line(plain, key, "",
		  "virtual memory management (source vmm) %s, the driver's memory pools %s",
		  has(driver, ATTRIBUTE_VIRTUAL_MEMORY, device) ? "yes" : "no",
		  has(driver, ATTRIBUTE_MEMORY_POOLS, device) ? "yes" : "no");
	snprintf(key, sizeof(key), "device.%d.ipc", device);
	exchanges = has(driver, ATTRIBUTE_IPC, device);
	exports = has(driver, ATTRIBUTE_VIRTUAL_MEMORY, device) &&
		  has(driver, ATTRIBUTE_EXPORTS_DESCRIPTORS, device);
	info_line(plain, key, "", "IPC with source cudamalloc %s, with source vmm %s",
		  exchanges ? "yes" : "no", exports ? "yes" : "no");
}

int info_device_count(void)
{
	struct driver driver;
	int count = 0;

	if (find_driver(&driver) || driver.init(0) || driver.count(&count))
		return 0;
	return count;
}

void info_devices(bool plain)
{
	struct driver driver;
	const char *trouble = find_driver(&driver);
	int answer, version = 0, count = 0;

	if (trouble) {
		info_line(plain, "driver", "driver", "none: %s", trouble);
		return;
	}
	answer = driver.init(0);
	if (answer) {
		info_line(plain, "driver", "driver",
			  "found, but its initialization fails (error %d)", answer);
		return;
	}
	driver.version(&version);
	driver.count(&count);
	info_line(plain, "driver", "driver", "CUDA %d.%d", version / 1000, version % 1000 / 10);
	info_line(plain, "deferred", "--free=deferred", "%s",
		  driver.record_event
			  ? "does not wait: the driver has cuCtxRecordEvent"
			  : "waits for the GPU once per batch of frees: the driver has no "
			    "cuCtxRecordEvent (CUDA 12.5)");
	if (count == 0)
		info_line(plain, "devices", "devices", "none");
	for (int device = 0; device < count; device++)
		print_device(&driver, device, plain);
	info_links(count, plain);
}
