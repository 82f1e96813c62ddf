/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.c - functions without a body whose behavior is known: those of CUDA, C and mam.
 *
 * 1. Namespaces that do not matter are removed from a name: "::", "std::", "cuda::".
 * 2. Atomics and rounding variants form families, which are recognized by parts of their names.
 * 3. All other names are looked up in the lists below. Each list is a string with a blank around
 *    each name.
 *
 * Source: CUDA C++ Programming Guide, its chapters on C++ language extensions, cooperative groups
 * and mathematical functions. Bound: a lookup scans the lists once; facts.c does one for each visit
 * of a node. Invariant: a name is in a list only if the list's property holds for every function of
 * that name.
 */
#include <string.h>

#include "coalesce/judge/judge_parts.h"

/* The result depends only on the arguments. They wait for no other thread, and hold none back. */
static const char pure[] =
	" __brev __brevll __builtin_abs __builtin_bit_cast __builtin_bswap32"
	" __builtin_bswap64 __builtin_clz __builtin_clzll __builtin_constant_p"
	" __builtin_ctz __builtin_ctzll __builtin_expect __builtin_fabs __builtin_fabsf"
	" __builtin_ffs __builtin_ffsll __builtin_popcount __builtin_popcountll"
	" __byte_perm __clz __clzll __cosf __double2hiint __double2loint"
	" __double_as_longlong __dp2a_hi __dp2a_lo __dp4a __exp10f __expf __fdividef"
	" __ffs __ffsll __float_as_int __float_as_uint __funnelshift_l __funnelshift_lc"
	" __funnelshift_r __funnelshift_rc __hadd __hiloint2double __int_as_float"
	" __log10f __log2f __logf __longlong_as_double __mul24 __mul64hi __mulhi __popc"
	" __popcll __powf __rhadd __sad __saturatef __sinf __tanf __uhadd"
	" __uint_as_float __umul24 __umul64hi __umulhi __urhadd __usad abs acos acosf"
	" acosh acoshf asin asinf asinh asinhf atan atan2 atan2f atanf atanh atanhf cbrt"
	" cbrtf ceil ceilf copysign copysignf cos cosf cosh coshf cospi cospif"
	" cooperative_groups::thread_block_tile::thread_block_tile dim3::dim3 erf erfc erfcf "
	"erfcinv erfcinvf erfcx erfcxf erff erfinv erfinvf"
	" exp exp10 exp10f exp2 exp2f expf expm1 expm1f fabs fabsf fdim fdimf fdivide"
	" fdividef floor floorf fma fmaf fmax fmaxf fmin fminf fmod fmodf hypot hypotf"
	" ilogb ilogbf isfinite isinf isnan j0 j0f j1 j1f jn jnf labs ldexp ldexpf"
	" lgamma lgammaf llabs llmax llmin llrint llrintf llround llroundf log log10"
	" log10f log1p log1pf log2 log2f logb logbf logf lrint lrintf lround lroundf"
	" make_char1 make_char2 make_char3 make_char4 make_double1 make_double2"
	" make_double3 make_double4 make_float1 make_float2 make_float3 make_float4"
	" make_int1 make_int2 make_int3 make_int4 make_long1 make_long2 make_long3"
	" make_long4 make_longlong1 make_longlong2 make_longlong3 make_longlong4"
	" make_short1 make_short2 make_short3 make_short4 make_uchar1 make_uchar2"
	" make_uchar3 make_uchar4 make_uint1 make_uint2 make_uint3 make_uint4"
	" make_ulong1 make_ulong2 make_ulong3 make_ulong4 make_ulonglong1"
	" make_ulonglong2 make_ulonglong3 make_ulonglong4 make_ushort1 make_ushort2"
	" make_ushort3 make_ushort4 max min nearbyint nearbyintf nextafter nextafterf"
	" norm3d norm3df norm4d norm4df normcdf normcdff normcdfinv normcdfinvf pow powf"
	" rcbrt rcbrtf remainder remainderf rhypot rhypotf rint rintf round roundeven"
	" roundevenf roundf rsqrt rsqrtf scalbln scalblnf scalbn scalbnf signbit sin"
	" sinf sinh sinhf sinpi sinpif sqrt sqrtf tan tanf tanh tanhf tgamma tgammaf"
	" trunc truncf ullmax ullmin umax umin y0 y0f y1 y1f yn ynf ";

/* The result is arbitrary, and all threads continue after them. Traps stop the whole grid. */
static const char harmless[] =
	" __activemask __all __any __assert_fail __assert_rtn __assertfail __ballot"
	" __brkpt __builtin_assume __builtin_assume_aligned __builtin_memcpy"
	" __builtin_memset __builtin_prefetch __builtin_trap __builtin_unreachable"
	" __clock __clock64 __cvta_generic_to_constant __cvta_generic_to_global"
	" __cvta_generic_to_local __cvta_generic_to_shared __globaltimer __isConstant"
	" __isGlobal __isGridConstant __isLocal __isShared __ldca __ldcg __ldcs __ldcv"
	" __ldg __ldlu __match_any_sync __nanosleep __prof_trigger"
	" __shfl __shfl_down __shfl_down_sync __shfl_up __shfl_up_sync __shfl_xor"
	" __shfl_xor_sync __sincosf __stcg __stcs __stwb __stwt __syncwarp __threadfence"
	" __threadfence_block __threadfence_system __trap abort asm assert clock clock64"
	" cooperative_groups::binary_partition cooperative_groups::coalesced_group::all"
	" cooperative_groups::coalesced_group::any"
	" cooperative_groups::coalesced_group::ballot"
	" cooperative_groups::coalesced_group::is_valid"
	" cooperative_groups::coalesced_group::match_any"
	" cooperative_groups::coalesced_group::meta_group_rank"
	" cooperative_groups::coalesced_group::meta_group_size"
	" cooperative_groups::coalesced_group::num_threads"
	" cooperative_groups::coalesced_group::shfl"
	" cooperative_groups::coalesced_group::shfl_down"
	" cooperative_groups::coalesced_group::shfl_up"
	" cooperative_groups::coalesced_group::shfl_xor"
	" cooperative_groups::coalesced_group::size"
	" cooperative_groups::coalesced_group::sync"
	" cooperative_groups::coalesced_group::thread_rank"
	" cooperative_groups::coalesced_threads cooperative_groups::exclusive_scan"
	" cooperative_groups::grid_group::grid_rank cooperative_groups::invoke_one"
	" cooperative_groups::grid_group::thread_rank cooperative_groups::inclusive_scan"
	" cooperative_groups::labeled_partition cooperative_groups::memcpy_async"
	" cooperative_groups::reduce cooperative_groups::sync"
	" cooperative_groups::thread_group::is_valid"
	" cooperative_groups::thread_group::num_threads"
	" cooperative_groups::thread_group::size cooperative_groups::thread_group::sync"
	" cooperative_groups::thread_group::thread_rank"
	" cooperative_groups::thread_block::barrier_arrive"
	" cooperative_groups::thread_block::barrier_wait"
	" cooperative_groups::thread_block::thread_index"
	" cooperative_groups::thread_block::thread_rank"
	" cooperative_groups::thread_block_tile::all"
	" cooperative_groups::thread_block_tile::any"
	" cooperative_groups::thread_block_tile::ballot"
	" cooperative_groups::thread_block_tile::is_valid"
	" cooperative_groups::thread_block_tile::match_all"
	" cooperative_groups::thread_block_tile::match_any"
	" cooperative_groups::thread_block_tile::meta_group_rank"
	" cooperative_groups::thread_block_tile::shfl"
	" cooperative_groups::thread_block_tile::shfl_down"
	" cooperative_groups::thread_block_tile::shfl_up"
	" cooperative_groups::thread_block_tile::shfl_xor"
	" cooperative_groups::thread_block_tile::sync"
	" cooperative_groups::thread_block_tile::thread_rank"
	" cooperative_groups::tiled_partition cooperative_groups::wait frexp frexpf mam_base_heap "
	"mam_heap_device"
	" mam_kpage_free memchr memcmp memcpy memmove memset modf modff printf putchar"
	" puts remquo remquof sincos sincosf sincospi sincospif strcat strchr strcmp"
	" strcpy strlen strncmp strncpy vprintf wall_clock64 ";

/* Uniform in the block. */
static const char all[] = " cooperative_groups::grid_group::block_index"
			  " cooperative_groups::grid_group::block_rank"
			  " cooperative_groups::grid_group::dim_blocks"
			  " cooperative_groups::grid_group::group_dim"
			  " cooperative_groups::grid_group::is_valid"
			  " cooperative_groups::grid_group::num_blocks"
			  " cooperative_groups::grid_group::num_threads"
			  " cooperative_groups::grid_group::size"
			  " cooperative_groups::this_grid"
			  " cooperative_groups::this_thread_block"
			  " cooperative_groups::thread_block::dim_threads"
			  " cooperative_groups::thread_block::group_dim"
			  " cooperative_groups::thread_block::group_index"
			  " cooperative_groups::thread_block::num_threads"
			  " cooperative_groups::thread_block::size"
			  " cooperative_groups::thread_block_tile::meta_group_size"
			  " cooperative_groups::thread_block_tile::num_threads"
			  " cooperative_groups::thread_block_tile::size ";

/* Barriers of the block. */
static const char barrier[] =
	" __syncthreads __syncthreads_and __syncthreads_count __syncthreads_or"
	" cooperative_groups::grid_group::sync"
	" cooperative_groups::thread_block::sync ";

/* All lanes of the mask get the same result. */
static const char vote[] =
	" __all_sync __any_sync __ballot_sync __reduce_add_sync __reduce_and_sync"
	" __reduce_max_sync __reduce_min_sync __reduce_or_sync __reduce_xor_sync ";

/* Of a warp-sized tile. */
static const char tile_vote[] = " all any ballot ";

static const char memory[] =
	" calloc mam_kcalloc mam_kmemalign mam_kpage_alloc mam_krealloc realloc ";

/* They end the thread. */
static const char end[] = " _Exit __exit _exit exit pthread_exit quick_exit ";

static const struct {
	const char *names;
	enum known meaning;
} lists[] = {
	{ pure, KNOWN_PURE },
	{ harmless, KNOWN_HARMLESS },
	{ all, KNOWN_ALL },
	{ barrier, KNOWN_BARRIER },
	{ vote, KNOWN_VOTE },
	{ " __match_all_sync ", KNOWN_MATCH },
	{ " __shfl_sync ", KNOWN_SHUFFLE },
	{ " malloc ", KNOWN_MALLOC },
	{ " mam_kmalloc ", KNOWN_KMALLOC },
	{ memory, KNOWN_MEMORY },
	{ " free ", KNOWN_FREE },
	{ " mam_kfree ", KNOWN_KFREE },
	{ end, KNOWN_END },
};

/* Random numbers, half precision, textures, and internals of clang's own headers. */
static const char *const families[] = { "curand",          "__half", "__float2half", "__h2",
					"tex1D",           "tex2D",  "tex3D",        "tex1Dfetch",
					"__nvvm_read_ptx", "__nv_" };

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* These are known only in std::, because programs have their own. */
static const char of_std[] = " as_const bit_cast clamp forward move ";

/* atomicAdd, atomicCAS_block, ... */
static bool is_atomic(const char *name)
{
	static const char *const what[] = { "Add", "Sub", "Exch", "Min", "Max", "Inc",
					    "Dec", "CAS", "And",  "Or",  "Xor" };
	if (!begins(name, "atomic"))
		return false;
	for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
		const char *rest = name + strlen("atomic") + strlen(what[i]);
		if (begins(name + strlen("atomic"), what[i]) &&
		    (!*rest || strcmp(rest, "_block") == 0 || strcmp(rest, "_system") == 0))
			return true;
	}
	return false;
}

/* __fadd_rn, __float2int_rz, ...: arithmetic with explicit rounding. */
static bool is_rounding(const char *name)
{
	size_t length = strlen(name);
	if (length < 6 || !begins(name, "__") || name[length - 3] != '_' || name[length - 2] != 'r')
		return false;
	return strchr("nzud", name[length - 1]) != NULL;
}

static bool lists_name(const char *list, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = list; (at = strstr(at, name)); at += length)
		if (at[-1] == ' ' && at[length] == ' ')
			return true;
	return false;
}

bool known_reserved(const char *name)
{
	static const char *const ours[] = { "mam_", "std::", "cuda::", "cooperative_groups::" };
	for (size_t i = 0; name && i < sizeof ours / sizeof *ours; i++)
		if (begins(name, ours[i]))
			return true;
	return false;
}

/* A warp-sized tile votes; its other methods are those of any tile. */
static enum known known_tile(const char *method)
{
	static const char any_tile[] = "cooperative_groups::thread_block_tile::";
	char name[sizeof any_tile + 16];
	if (lists_name(tile_vote, method))
		return KNOWN_TILE_VOTE;
	if (strcmp(method, "shfl") == 0)
		return KNOWN_TILE_SHUFFLE;
	if (strcmp(method, "match_all") == 0)
		return KNOWN_MATCH;
	if (strlen(method) > 15)
		return KNOWN_NOT;
	memcpy(name, any_tile, sizeof any_tile);
	strcpy(name + sizeof any_tile - 1, method);
	return known_name(name);
}

enum known known_name(const char *name)
{
	static const char warp_tile[] = "cooperative_groups::thread_block_tile<32>::";
	if (!name)
		return KNOWN_NOT;
	if (begins(name, "cooperative_groups::") && strstr(name, "::operator thread_group"))
		return KNOWN_HARMLESS;
	if (begins(name, warp_tile))
		return known_tile(name + sizeof warp_tile - 1);
	if (begins(name, "::"))
		name += 2;
	if (begins(name, "cuda::"))
		name += 6;
	if (begins(name, "std::")) {
		name += 5;
		if (lists_name(of_std, name))
			return KNOWN_PURE;
	}
	if (!*name || strchr(name, ' '))
		return KNOWN_NOT;
	if (is_atomic(name))
		return KNOWN_ATOMIC;
	if (is_rounding(name))
		return KNOWN_PURE;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (begins(name, families[i]))
			return KNOWN_HARMLESS;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (lists_name(lists[i].names, name))
			return lists[i].meaning;
	return KNOWN_NOT;
}
