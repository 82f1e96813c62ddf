/* SPDX-License-Identifier: Apache-2.0 */
/* test_graph.c - the device memory of graphs, and refused calls. */
#include "fake/load.h"

#define MIB ((size_t)1 << 20)

static size_t free_mib(const struct cuda *cuda)
{
	size_t free_bytes, total_bytes;

	ck_assert_int_eq(cuda->cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
	return free_bytes / MIB;
}

static struct CUgraphExec_st *make(const struct cuda *cuda, size_t bytes)
{
	struct cu_alloc_node node = { .pool = { .type = 1, .location = { 1, 0 } }, .bytes = bytes };
	struct CUgraphNode_st *made;
	struct CUgraphExec_st *exec;
	struct CUgraph_st *graph;

	ck_assert_int_eq(cuda->cuGraphCreate(&graph, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuGraphAddMemAllocNode(&made, graph, NULL, 0, &node), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda->cuGraphDestroy(graph), CUDA_SUCCESS);
	return exec;
}

START_TEST(launch_reserves_memory_until_trim)
{
	struct CUgraphExec_st *large, *small;
	struct cuda cuda;
	uint64_t held;

	setenv("FAKE_CUDA_MEMORY", "64M", 1);
	cuda = load();
	large = make(&cuda, 40 * MIB);
	small = make(&cuda, 10 * MIB);
	ck_assert_uint_eq(free_mib(&cuda), 64);
	ck_assert_int_eq(cuda.cuGraphLaunch(large, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphLaunch(small, NULL), CUDA_SUCCESS);
	ck_assert_uint_eq(free_mib(&cuda), 24);
	ck_assert_int_eq(cuda.cuDeviceGetGraphMemAttribute(0, 2, &held), CUDA_SUCCESS);
	ck_assert_uint_eq(held, 40 * MIB);
	ck_assert_int_eq(cuda.cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
	ck_assert_uint_eq(free_mib(&cuda), 64);
	ck_assert_int_eq(cuda.cuDeviceGetGraphMemAttribute(0, 2, &held), CUDA_SUCCESS);
	ck_assert_uint_eq(held, 0);
	ck_assert_int_eq(cuda.cuDeviceGetGraphMemAttribute(0, 3, &held), CUDA_SUCCESS);
	ck_assert_uint_eq(held, 40 * MIB);
	ck_assert_int_eq(cuda.cuGraphExecDestroy(large), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphExecDestroy(small), CUDA_SUCCESS);
}
END_TEST

START_TEST(launch_of_large_graph_is_out_of_memory)
{
	struct CUgraphExec_st *exec;
	struct cuda cuda;

	setenv("FAKE_CUDA_MEMORY", "64M", 1);
	cuda = load();
	exec = make(&cuda, 65 * MIB);
	ck_assert_int_eq(cuda.cuGraphLaunch(exec, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(free_mib(&cuda), 64);
	ck_assert_int_eq(cuda.cuGraphExecDestroy(exec), CUDA_SUCCESS);
}
END_TEST

START_TEST(invalid_graph_calls_are_refused)
{
	struct cuda cuda = load();
	struct cu_alloc_node node = { .pool = { .type = 1, .location = { 1, 7 } }, .bytes = 1 };
	struct CUgraphExec_st *exec;
	struct CUgraph_st *graph;
	uint64_t held;

	ck_assert_int_eq(cuda.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuGraphAddMemAllocNode(NULL, graph, NULL, 0, &node),
			 CUDA_ERROR_INVALID_DEVICE);
	ck_assert_int_eq(cuda.cuGraphAddMemAllocNode(NULL, graph, NULL, 0, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuGraphInstantiateWithFlags(&exec, NULL, 0),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuGraphLaunch(NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuDeviceGraphMemTrim(7), CUDA_ERROR_INVALID_DEVICE);
	ck_assert_int_eq(cuda.cuDeviceGetGraphMemAttribute(0, 4, &held), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, launch_reserves_memory_until_trim);
	tcase_add_test(tests, launch_of_large_graph_is_out_of_memory);
	tcase_add_test(tests, invalid_graph_calls_are_refused);
}

int main(void)
{
	return run_suite("fake/graph", add);
}
