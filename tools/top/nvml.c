/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.c - see nvml.h. The types are those of NVML's application binary interface.
 */
#include "top/nvml.h"

#include <dlfcn.h>
#include <string.h>

#define PROCESSES_MAX 1024 /* on one GPU */

struct memory {
	unsigned long long total, free, used;
};

/* Of the functions with version 2 and 3. */
struct user {
	unsigned int pid;
	unsigned long long used;
	unsigned int gpu_instance, compute_instance;
};

typedef void *device;

static struct {
	bool was_loaded;
	bool is_good;
	int (*init)(void);
	int (*count)(unsigned int *count);
	int (*by_index)(unsigned int index, device *device);
	int (*name)(device device, char *name, unsigned int bytes);
	int (*memory)(device device, struct memory *memory);
	int (*users)(device device, unsigned int *count, struct user *users);
} nvml;

static struct user users[MAM_STATPAGE_DEVICES][PROCESSES_MAX];
static unsigned int user_counts[MAM_STATPAGE_DEVICES];

static void load(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	nvml.was_loaded = true;
	if (library == NULL)
		return;
	*(void **)&nvml.init = dlsym(library, "nvmlInit_v2");
	*(void **)&nvml.count = dlsym(library, "nvmlDeviceGetCount_v2");
	*(void **)&nvml.by_index = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&nvml.name = dlsym(library, "nvmlDeviceGetName");
	*(void **)&nvml.memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
	*(void **)&nvml.users = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
	if (nvml.users == NULL)
		*(void **)&nvml.users = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v2");
	nvml.is_good = nvml.init != NULL && nvml.count != NULL && nvml.by_index != NULL &&
		       nvml.name != NULL && nvml.memory != NULL && nvml.users != NULL &&
		       nvml.init() == 0;
	if (!nvml.is_good)
		dlclose(library);
}

static void read_gpu(unsigned int index, struct top_gpu *gpu)
{
	struct memory memory = { .total = 0 };
	device handle;

	memset(gpu, 0, sizeof(*gpu));
	user_counts[index] = 0;
	if (nvml.by_index(index, &handle) != 0)
		return;
	if (nvml.name(handle, gpu->name, sizeof(gpu->name) - 1) != 0)
		gpu->name[0] = '\0';
	if (nvml.memory(handle, &memory) == 0) {
		gpu->total_bytes = memory.total;
		gpu->used_bytes = memory.used;
	}
	user_counts[index] = PROCESSES_MAX;
	if (nvml.users(handle, &user_counts[index], users[index]) != 0)
		user_counts[index] = 0;
	if (user_counts[index] > PROCESSES_MAX)
		user_counts[index] = PROCESSES_MAX;
}

/* Sums up the entries of a process on one GPU. Returns false if there are none. */
static bool bytes_on(int index, pid_t process, uint64_t *bytes)
{
	bool found = false;

	*bytes = 0;
	for (unsigned int i = 0; i < user_counts[index]; i++) {
		const struct user *user = &users[index][i];

		/* NVML sets all bits if it does not know, as in a container. */
		if (user->pid != (unsigned int)process || user->used == UINT64_MAX)
			continue;
		found = true;
		*bytes += user->used;
	}
	return found;
}

static void match(const struct top_model *model, struct top_process *process)
{
	uint64_t found[MAM_STATPAGE_DEVICES];
	size_t count = 0;

	for (int i = 0; i < model->gpu_count; i++)
		count += bytes_on(i, process->pid, &found[count]);
	if (count == process->use_count && process->uses[0].gpu != TOP_NO_GPU)
		for (size_t i = 0; i < count; i++)
			process->uses[i].nvml_bytes = found[i];
}

void nvml_sample(struct top_model *model)
{
	unsigned int count = 0;

	if (!nvml.was_loaded)
		load();
	model->gpu_count = 0;
	if (!nvml.is_good || nvml.count(&count) != 0)
		return;
	model->gpu_count = count < MAM_STATPAGE_DEVICES ? (int)count : MAM_STATPAGE_DEVICES;
	for (int i = 0; i < model->gpu_count; i++)
		read_gpu((unsigned int)i, &model->gpus[i]);
	for (size_t i = 0; i < model->count; i++)
		match(model, &model->processes[i]);
}
