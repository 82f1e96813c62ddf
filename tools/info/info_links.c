/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info_links.c - how the devices of this machine are connected, and what follows for peer access and
 * NCCL.
 *
 * The driver reports peer access and atomic operations. NVML, if it is installed, reports the path
 * between two devices. Devices are compared in pairs; pairs that are alike share a line.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "info/info.h"

#define DEVICES_MAX 64
#define LINE_BYTES 512
#define BUS_ID_BYTES 32

/* CUdevice_P2PAttribute and CUdevice_attribute. */
enum { ATOMICS = 3, MULTICAST = 132 };

#define NVML_NVLINK 2 /* nvmlGpuP2PCapsIndex_t */

enum path {
	PATH_UNKNOWN,
	PATH_NVLINK,
	PATH_SWITCH,
	PATH_SWITCHES,
	PATH_HOST,
	PATH_NODE,
	PATH_FAR,
	PATHS
};

static const struct {
	const char *key, *label;
} paths[PATHS] = {
	[PATH_UNKNOWN] = { "unknown", "unknown link" },
	[PATH_NVLINK] = { "nvlink", "NVLink" },
	[PATH_SWITCH] = { "pcie-switch", "PCIe, one switch" },
	[PATH_SWITCHES] = { "pcie-switches", "PCIe, several switches" },
	[PATH_HOST] = { "pcie-host", "PCIe, one host bridge" },
	[PATH_NODE] = { "pcie-node", "PCIe, several host bridges" },
	[PATH_FAR] = { "pcie-far", "PCIe, several NUMA nodes" },
};

struct calls {
	int (*can_access)(int *can, int device, int peer);
	int (*peer_attribute)(int *value, int attribute, int device, int peer);
	int (*attribute)(int *value, int attribute, int device);
	int (*bus_id)(char *id, int bytes, int device);
	/* NVML; NULL: not installed */
	int (*start)(void);
	int (*find)(const char *bus_id, void **device);
	int (*peer_status)(void *device, void *peer, int capability, int *status);
	int (*ancestor)(void *device, void *peer, int *level);
};

/* How two devices are connected. */
struct link {
	enum path path;
	bool access; /* in both directions */
	bool atomics;
};

static bool same_link(const struct link *one, const struct link *other)
{
	return one->path == other->path && one->access == other->access &&
	       one->atomics == other->atomics;
}

static bool find_calls(struct calls *calls)
{
	static const struct {
		const char *symbol;
		size_t offset;
		bool nvml;
	} all[] = {
		{ "cuDeviceCanAccessPeer", offsetof(struct calls, can_access), false },
		{ "cuDeviceGetP2PAttribute", offsetof(struct calls, peer_attribute), false },
		{ "cuDeviceGetAttribute", offsetof(struct calls, attribute), false },
		{ "cuDeviceGetPCIBusId", offsetof(struct calls, bus_id), false },
		{ "nvmlInit_v2", offsetof(struct calls, start), true },
		{ "nvmlDeviceGetHandleByPciBusId_v2", offsetof(struct calls, find), true },
		{ "nvmlDeviceGetP2PStatus", offsetof(struct calls, peer_status), true },
		{ "nvmlDeviceGetTopologyCommonAncestor", offsetof(struct calls, ancestor), true },
	};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	bool has_nvml = nvml != NULL;

	if (driver == NULL)
		return false;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		void *library = all[i].nvml ? nvml : driver;
		void *call = library == NULL ? NULL : dlsym(library, all[i].symbol);

		if (call == NULL && !all[i].nvml)
			return false;
		has_nvml = has_nvml && call != NULL;
		memcpy((char *)calls + all[i].offset, &call, sizeof(call));
	}
	if (!has_nvml || calls->start() != 0)
		calls->start = NULL;
	return true;
}

static enum path path_of(const struct calls *calls, int device, int peer)
{
	/* nvmlGpuTopologyLevel_t, divided by 10 */
	static const enum path levels[] = { PATH_SWITCH, PATH_SWITCH, PATH_SWITCHES,
					    PATH_HOST,   PATH_NODE,   PATH_FAR };
	char one_id[BUS_ID_BYTES], other_id[BUS_ID_BYTES];
	void *one, *other;
	int value;

	if (calls->start == NULL || calls->bus_id(one_id, sizeof(one_id), device) != 0 ||
	    calls->bus_id(other_id, sizeof(other_id), peer) != 0 ||
	    calls->find(one_id, &one) != 0 || calls->find(other_id, &other) != 0)
		return PATH_UNKNOWN;
	if (calls->peer_status(one, other, NVML_NVLINK, &value) == 0 && value == 0)
		return PATH_NVLINK;
	if (calls->ancestor(one, other, &value) != 0 || value < 0 || value > 50)
		return PATH_UNKNOWN;
	return levels[value / 10];
}

/* lock: none; [i][j]: of devices i < j */
static struct link links[DEVICES_MAX][DEVICES_MAX];

static bool can_access(const struct calls *calls, int device, int peer)
{
	int can;

	return calls->can_access(&can, device, peer) == 0 && can != 0;
}

static struct link link_of(const struct calls *calls, int device, int peer)
{
	struct link link = { .path = path_of(calls, device, peer),
			     .access = can_access(calls, device, peer) &&
				       can_access(calls, peer, device) };
	int value;

	link.atomics = calls->peer_attribute(&value, ATOMICS, device, peer) == 0 && value != 0;
	return link;
}

static const char *nccl_of(const struct link *link)
{
	if (!link->access)
		return "shared memory of the host";
	return link->path == PATH_NVLINK    ? "P2P over NVLink"
	       : link->path == PATH_UNKNOWN ? "P2P"
					    : "P2P over PCIe, or shared memory of the host if "
					      "NCCL_P2P_LEVEL excludes the path";
}

/* One line per pair. */
static void print_plain(int count)
{
	for (int device = 0; device < count; device++)
		for (int peer = device + 1; peer < count; peer++) {
			const struct link *link = &links[device][peer];

			printf("link.%d.%d\t%s, peer access %s, atomics %s\n", device, peer,
			       paths[link->path].key, link->access ? "yes" : "no",
			       link->atomics ? "yes" : "no");
			printf("nccl.%d.%d\t%s\n", device, peer, nccl_of(link));
		}
}

/*
 * Prints all pairs with the link of this pair in one line, and what NCCL uses between them, if this is
 * the first of them.
 */
static void print_alike(int count, int first)
{
	const struct link *link = &links[first / count][first % count];
	char pairs[LINE_BYTES] = "";
	int alike = 0, length = 0;

	for (int pair = 0; pair < count * count; pair++) {
		int device = pair / count, peer = pair % count;

		if (device >= peer || !same_link(link, &links[device][peer]))
			continue;
		if (pair < first)
			return;
		alike++;
		if (length < LINE_BYTES - 16)
			length += snprintf(pairs + length, LINE_BYTES - (size_t)length, " %d-%d",
					   device, peer);
	}
	if (alike > 1 && alike == count * (count - 1) / 2)
		snprintf(pairs, sizeof(pairs), " all pairs");
	info_line(false, "", "link", "%s, %s, %s:%s", paths[link->path].label,
		  link->access ? "peer access" : "no peer access",
		  link->atomics ? "atomics" : "no atomics", pairs);
	info_line(false, "", "", "NCCL uses %s", nccl_of(link));
}

static bool all_multicast(const struct calls *calls, int count)
{
	int value;

	for (int device = 0; device < count; device++)
		if (calls->attribute(&value, MULTICAST, device) != 0 || value == 0)
			return false;
	return true;
}

void info_links(int count, bool plain)
{
	struct calls calls;

	if (count > DEVICES_MAX)
		count = DEVICES_MAX;
	if (count < 2 || !find_calls(&calls))
		return;
	for (int device = 0; device < count; device++)
		for (int peer = device + 1; peer < count; peer++)
			links[device][peer] = link_of(&calls, device, peer);
	if (plain)
		print_plain(count);
	for (int pair = 0; pair < count * count && !plain; pair++)
		if (pair / count < pair % count)
			print_alike(count, pair);
	info_line(plain, "multicast", "multicast", "%s",
		  all_multicast(&calls, count) ? "yes: NCCL can use NVLS"
					       : "no: NCCL cannot use NVLS");
}
