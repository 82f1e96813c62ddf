/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.c - the four functions of NVML that describe the path between two devices, by
 * FAKE_CUDA_LINKS, as tests/fake/nvml/libnvidia-ml.so.1. A device is the address of its number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

static int numbers[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };

VISIBLE int nvmlInit_v2(void);
VISIBLE int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device);
VISIBLE int nvmlDeviceGetP2PStatus(void *device, void *peer, int capability, int *status);
VISIBLE int nvmlDeviceGetTopologyCommonAncestor(void *device, void *peer, int *level);

int nvmlInit_v2(void)
{
	return getenv("FAKE_NVML_FAILS") ? 999 : 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device)
{
	unsigned int number;

	if (sscanf(bus_id, "0000:%x:00.0", &number) != 1 || number >= 8)
		return 2;
	*device = &numbers[number];
	return 0;
}

static int is_linked(const void *device, const void *peer, const char *kind)
{
	const char *links = getenv("FAKE_CUDA_LINKS");
	char pair[16];

	if (!links || !*links)
		return strcmp(kind, "nvlink") == 0;
	for (int turn = 0; turn < 2; turn++) {
		snprintf(pair, sizeof(pair), "%d-%d:%s", *(const int *)(turn ? peer : device),
			 *(const int *)(turn ? device : peer), kind);
		if (strstr(links, pair))
			return 1;
	}
	return 0;
}

int nvmlDeviceGetP2PStatus(void *device, void *peer, int capability, int *status)
{
	*status = capability == 2 && is_linked(device, peer, "nvlink") ? 0 : 1;
	return 0;
}

/* Devices without a link are on different NUMA nodes. */
int nvmlDeviceGetTopologyCommonAncestor(void *device, void *peer, int *level)
{
	*level = is_linked(device, peer, "pcie") ? 10 : 50;
	return 0;
}
