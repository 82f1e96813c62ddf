/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cooperative_groups.h - groups of threads: declarations only. It is used with a toolkit's headers,
 * too, because libclang cannot read those of every toolkit.
 */
#ifndef MAM_CO_COOPERATIVE_GROUPS_H
#define MAM_CO_COOPERATIVE_GROUPS_H

#ifdef MAM_COALESCE_TOOLKIT
#include <cuda_runtime.h>
#define MAM_CO_D __device__
#else
#include "mam_cuda.h"
#endif

namespace cooperative_groups
{

/* Members of all groups. */
#define MAM_CO_GROUP                                                                             \
	MAM_CO_D void sync() const;                                                              \
	MAM_CO_D unsigned int thread_rank() const;                                               \
	MAM_CO_D unsigned int size() const;                                                      \
	MAM_CO_D unsigned int num_threads() const;                                               \
	MAM_CO_D bool is_valid() const
/* Additional members of groups that are at most a warp. */
#define MAM_CO_WARP                                                                              \
	MAM_CO_D unsigned int meta_group_rank() const;                                           \
	MAM_CO_D unsigned int meta_group_size() const;                                           \
	template <class T> MAM_CO_D T shfl(T, int) const;                                        \
	template <class T> MAM_CO_D T shfl_up(T, unsigned int) const;                            \
	template <class T> MAM_CO_D T shfl_down(T, unsigned int) const;                          \
	template <class T> MAM_CO_D T shfl_xor(T, unsigned int) const;                           \
	MAM_CO_D int any(int) const;                                                             \
	MAM_CO_D int all(int) const;                                                             \
	MAM_CO_D unsigned int ballot(int) const;                                                 \
	template <class T> MAM_CO_D unsigned int match_any(T) const;                             \
	template <class T> MAM_CO_D unsigned int match_all(T, int &) const

struct thread_group {
	unsigned int handle;
	MAM_CO_GROUP;
};
struct thread_block {
	unsigned int handle;
	MAM_CO_GROUP;
	MAM_CO_D dim3 group_index() const;
	MAM_CO_D dim3 thread_index() const;
	MAM_CO_D dim3 group_dim() const;
	MAM_CO_D dim3 dim_threads() const;
	MAM_CO_D unsigned int barrier_arrive() const;
	MAM_CO_D void barrier_wait(unsigned int) const;
	MAM_CO_D operator thread_group() const;
};
struct multi_grid_group {
	unsigned int handle;
	MAM_CO_GROUP;
};
struct grid_group {
	unsigned int handle;
	MAM_CO_GROUP;
	MAM_CO_D dim3 group_dim() const;
	MAM_CO_D unsigned int block_rank() const;
	MAM_CO_D unsigned int num_blocks() const;
	MAM_CO_D dim3 block_index() const;
	MAM_CO_D dim3 dim_blocks() const;
};
struct coalesced_group {
	unsigned int handle;
	MAM_CO_GROUP;
	MAM_CO_WARP;
	MAM_CO_D operator thread_group() const;
};
template <unsigned int N, class P = void> struct thread_block_tile {
	unsigned int handle;
	thread_block_tile() = default;
	thread_block_tile(const thread_block_tile &) = default;
	template <class Q> MAM_CO_D thread_block_tile(const thread_block_tile<N, Q> &);
	MAM_CO_GROUP;
	MAM_CO_WARP;
	MAM_CO_D operator thread_group() const;
};
#undef MAM_CO_GROUP
#undef MAM_CO_WARP

MAM_CO_D thread_block this_thread_block();
MAM_CO_D grid_group this_grid();
MAM_CO_D coalesced_group coalesced_threads();
template <unsigned int N, class P> MAM_CO_D thread_block_tile<N> tiled_partition(const P &);
MAM_CO_D thread_group tiled_partition(const thread_group &, unsigned int);
template <class G> MAM_CO_D coalesced_group labeled_partition(const G &, int);
template <class G> MAM_CO_D coalesced_group binary_partition(const G &, bool);
template <class G> MAM_CO_D void sync(const G &);
template <class G, class F, class... A> MAM_CO_D void invoke_one(const G &, F &&, A &&...)
{
}
template <class G> MAM_CO_D void wait(const G &);
template <class G, class S> MAM_CO_D void memcpy_async(const G &, void *, const void *, const S &);
template <class G, class T> MAM_CO_D T inclusive_scan(const G &, T);
template <class G, class T> MAM_CO_D T exclusive_scan(const G &, T);
template <class G, class T, class F> MAM_CO_D T reduce(const G &, T value, F &&)
{
	return value;
}
template <class G, class T, class F> MAM_CO_D T inclusive_scan(const G &, T value, F &&)
{
	return value;
}
template <class G, class T, class F> MAM_CO_D T exclusive_scan(const G &, T value, F &&)
{
	return value;
}
template <class T> struct plus {
	MAM_CO_D T operator()(T, T) const;
};
template <class T> struct greater {
	MAM_CO_D T operator()(T, T) const;
};
template <class T> struct less {
	MAM_CO_D T operator()(T, T) const;
};

}

#endif
