/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - graphs, as far as their memory is concerned.
 *
 * A graph is the bytes of its memory nodes. A launch makes the device reserve at least as much for
 * graphs, and the device keeps that until cuDeviceGraphMemTrim: graphs that run one after the other
 * share it. A graph does no work, and its memory is free again when the launch returns.
 */
#include "fake.h"

#include <stdlib.h>

struct CUgraph_st {
	int device; /* of the last memory node */
	size_t bytes;
};

struct CUgraphExec_st {
	int device;
	size_t bytes;
};

static size_t reserved[FAKE_DEVICES], reserved_max[FAKE_DEVICES]; /* lock: fake; bytes */

struct CUgraph_st *fake_graph_make(void)
{
	return calloc(1, sizeof(struct CUgraph_st));
}

int cuGraphCreate(struct CUgraph_st **graph, unsigned int flags)
{
	int result = fake_enter("cuGraphCreate");

	if (result == CUDA_SUCCESS && (!graph || flags))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		*graph = fake_graph_make();
		result = *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	return fake_leave("cuGraphCreate", result, "flags=%u", flags);
}

int cuGraphDestroy(struct CUgraph_st *graph)
{
	int result = fake_enter("cuGraphDestroy");

	if (result == CUDA_SUCCESS)
		free(graph);
	return fake_leave("cuGraphDestroy", result, "graph=%p", (void *)graph);
}

static int add(struct CUgraph_st *graph, struct cu_alloc_node *wanted)
{
	if (!graph || !wanted || wanted->pool.location.type != 1 || wanted->bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_valid(wanted->pool.location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	graph->device = wanted->pool.location.id;
	graph->bytes += wanted->bytes;
	wanted->address = 0x1000; /* must not be used on the host */
	return CUDA_SUCCESS;
}

int cuGraphAddMemAllocNode(struct CUgraphNode_st **node, struct CUgraph_st *graph,
			   const void *dependencies, size_t count, struct cu_alloc_node *wanted)
{
	int result = fake_enter("cuGraphAddMemAllocNode");

	(void)node, (void)dependencies, (void)count;
	if (result == CUDA_SUCCESS)
		result = add(graph, wanted);
	return fake_leave("cuGraphAddMemAllocNode", result, "bytes=%zu",
			  wanted ? wanted->bytes : 0);
}

static int add_any(struct CUgraph_st *graph, struct cu_node *wanted)
{
	int result = fake_enter("cuGraphAddNode");

	if (result == CUDA_SUCCESS && (!graph || !wanted))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && wanted->type == NODE_MEM_ALLOC)
		result = add(graph, &wanted->alloc);
	return fake_leave("cuGraphAddNode", result, "type=%d", wanted ? wanted->type : -1);
}

int cuGraphAddNode(struct CUgraphNode_st **node, struct CUgraph_st *graph, const void *dependencies,
		   size_t count, struct cu_node *wanted)
{
	(void)node, (void)dependencies, (void)count;
	return add_any(graph, wanted);
}

int cuGraphAddNode_v2(struct CUgraphNode_st **node, struct CUgraph_st *graph,
		      const void *dependencies, const void *edges, size_t count,
		      struct cu_node *wanted)
{
	(void)node, (void)dependencies, (void)edges, (void)count;
	return add_any(graph, wanted);
}

int cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				unsigned long long flags)
{
	int result = fake_enter("cuGraphInstantiateWithFlags");

	if (result == CUDA_SUCCESS && (!exec || !graph))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		*exec = malloc(sizeof(**exec));
		if (*exec)
			**exec = (struct CUgraphExec_st){ graph->device, graph->bytes };
		else
			result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return fake_leave("cuGraphInstantiateWithFlags", result, "flags=%llu", flags);
}

int cuGraphExecDestroy(struct CUgraphExec_st *exec)
{
	int result = fake_enter("cuGraphExecDestroy");

	if (result == CUDA_SUCCESS)
		free(exec);
	return fake_leave("cuGraphExecDestroy", result, "exec=%p", (void *)exec);
}

int cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
	struct CUctx_st *context;
	int result = fake_enter("cuGraphLaunch");

	if (result == CUDA_SUCCESS)
		result = fake_stream_context(stream, &context);
	if (result == CUDA_SUCCESS && !exec)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && exec->bytes > reserved[exec->device]) {
		result = fake_memory_charge(exec->device, exec->bytes - reserved[exec->device]);
		if (result == CUDA_SUCCESS)
			reserved[exec->device] = exec->bytes;
		if (reserved[exec->device] > reserved_max[exec->device])
			reserved_max[exec->device] = reserved[exec->device];
	}
	return fake_leave("cuGraphLaunch", result, "exec=%p stream=%p", (void *)exec,
			  (void *)stream);
}

int cuDeviceGraphMemTrim(int device)
{
	int result = fake_enter("cuDeviceGraphMemTrim");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS) {
		fake_memory_uncharge(device, reserved[device]);
		reserved[device] = 0;
	}
	return fake_leave("cuDeviceGraphMemTrim", result, "device=%d", device);
}

int cuDeviceGetGraphMemAttribute(int device, int attribute, uint64_t *value)
{
	int result = fake_enter("cuDeviceGetGraphMemAttribute");

	if (result == CUDA_SUCCESS && !fake_device_valid(device))
		result = CUDA_ERROR_INVALID_DEVICE;
	if (result == CUDA_SUCCESS && (!value || attribute < 0 || attribute > 3))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*value = attribute == 2   ? reserved[device]
			 : attribute == 3 ? reserved_max[device]
					  : 0;
	return fake_leave("cuDeviceGetGraphMemAttribute", result, "device=%d attribute=%d", device,
			  attribute);
}
