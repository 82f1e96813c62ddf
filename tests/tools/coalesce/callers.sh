#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# callers.sh - callers that `mam coalesce` must not overlook. In each of these sources all threads
# of a block reach a function that allocates, as far as kernels show; and only some threads reach it
# in another way. With a verdict of block they would wait for the others forever.

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/tools/coalesce/coalesce.sh"

begin_coalesce 'callers'

scope() # NAME WANTED - the source follows, with one allocation
{
	cat > source.cu
	timeout 60 "$tool" --plain source.cu -- -isystem library > out 2> err < /dev/null
	same "$1" "$2" "$(cut -f 4 out | tr '\n' ' ')$(cat err)"
}

helper='__host__ __device__ inline int *helper(int n) { return (int *)malloc(n); }'
functor='struct op { int **p; __device__ void operator()(int i) const { p[i] = (int *)malloc(8); } };'

mkdir library
cat > library/lib.h << 'END'
namespace lib {
template <class F> __global__ void kernel_(F f, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) f(i); }
template <class F> void for_each(int n, F f) { kernel_<<<1, 32>>>(f, n); }
template <class F> __device__ void seq(int n, F f) { if (threadIdx.x == 3) f(n); }
template <class F> struct wrap { F f; __device__ void go(int i) { if (i & 1) f(i); } };
struct visitor { virtual __device__ void visit(int) = 0; };
__device__ void accept(visitor *v);
__device__ void call(void (*f)(int));
template <class T> __device__ void destroy(T *p) { if (threadIdx.x == 1) p->~T(); }
}
namespace lib { template <class D> struct crtp { __device__ void run() { if (threadIdx.x == 0) static_cast<D *>(this)->step(); } }; }
END
cat > user.h << 'END'
template <class F> __global__ void hkern(F f, int n) { if (threadIdx.x < n) f(threadIdx.x); }
template <class F> void hrun(F f) { hkern<<<1, 32>>>(f, 3); }
template <class F> __device__ void hdev(F f) { if (threadIdx.x == 0) f(3); }
template <class F> struct hcls { F f; __device__ void go() { if (threadIdx.x == 0) f(3); } void host() { hkern<<<1, 3>>>(f, 3); } };
static __device__ int *hhelper(int n);
static __global__ void hk(int *o) { if (threadIdx.x == 0) hhelper(3); }
END

# ---- lambdas, classes in functions, default arguments ----
scope hd_lambda 'none ' << END
$helper
template <class F> __global__ void launch(F f) { f(threadIdx.x); }
__global__ void k(int **p) { p[threadIdx.x] = helper(8); }
int main() { launch<<<1, 32>>>([=] __device__ (int i) { if (i == 0) helper(4); }); k<<<1, 32>>>(nullptr); }
END
scope hd_lambda_macro 'none ' << END
#define DEV __device__
$helper
template <class F> __global__ void launch(F f) { f(threadIdx.x); }
__global__ void k(int **p) { p[threadIdx.x] = helper(8); }
int main() { launch<<<1, 32>>>([=] DEV (int i) { if (i == 0) helper(4); }); k<<<1, 32>>>(nullptr); }
END
scope host_tmpl_lambda 'none ' << END
$helper
template <class F> __global__ void launch(F f) { f(threadIdx.x); }
template <class T> void go(T t) { launch<<<1, 32>>>([=] __device__ (int i) { if (i == 0) helper(t); }); }
__global__ void k(int **p) { p[threadIdx.x] = helper(8); }
int main() { go(3); }
END
scope ns_lambda 'none ' << END
$helper
static auto f = [] __device__ (int i) { return helper(i); };
template <class F> __global__ void launch(F f) { if (threadIdx.x == 0) f(threadIdx.x); }
__global__ void k(int **p) { p[threadIdx.x] = helper(8); }
int main() { launch<<<1, 32>>>(f); }
END
scope local_class_host 'none ' << END
$helper
template <class F> __global__ void launch(F f) { f(threadIdx.x); }
__global__ void k(int **p) { p[threadIdx.x] = helper(8); }
int main() { struct L { __device__ void operator()(int i) { if (i == 0) helper(4); } }; launch<<<1, 32>>>(L()); k<<<1, 32>>>(nullptr); }
END
scope member_init 'none ' << END
$helper
struct S { int *p = helper(4); };
__global__ void k(int **p) { p[threadIdx.x] = helper(8); if (threadIdx.x == 0) { S s; p[0] = s.p; } }
END
scope static_local_init 'none ' << END
$helper
__global__ void k(int **p) { p[threadIdx.x] = helper(8); struct L { int *q = helper(2); }; if (threadIdx.x == 2) { L l; p[1] = l.q; } }
END
scope default_arg_div 'none ' << END
$helper
__device__ int *f(int *p = helper(3)) { return p; }
__global__ void k(int **o) { o[threadIdx.x] = helper(3); if (threadIdx.x == 0) o[0] = f(); }
END
scope default_arg_lambda 'none ' << END
$helper
__device__ int *f(int *p = helper(3)) { return p; }
__global__ void k(int **o) { o[threadIdx.x] = helper(3); auto g = [=](int i) { return f(); }; if (threadIdx.x == 0) o[0] = g(1); }
END
scope constexpr_helper 'none ' << END
$helper
constexpr int *via(int n) { return helper(n); }
__global__ void k(int **o) { o[threadIdx.x] = helper(3); if (threadIdx.x == 0) o[0] = via(1); }
END
scope constexpr_helper_lambda 'none ' << END
$helper
constexpr int *via(int n) { return helper(n); }
__global__ void k(int **o) { o[threadIdx.x] = via(3); auto g = [=](int i) { return via(i); }; if (threadIdx.x == 0) o[0] = g(1); }
END
scope generic_lambda_tmpl 'none ' << 'END'
template <class T> __device__ T *get(int n) { return (T *)malloc(n); }
__global__ void k(int **p) { p[threadIdx.x] = get<int>(8); auto f = [=](auto m) { return get<int>(m); }; if (threadIdx.x == 2) p[0] = f(3); }
END
scope generic_lambda_dep 'none ' << 'END'
template <class T> __device__ T *get(T n) { return (T *)malloc(n); }
__global__ void k(int **p) { p[threadIdx.x] = get<int>(8); auto f = [=](auto m) { return get(m); }; if (threadIdx.x == 2) p[0] = f(3); }
END
scope generic_lambda_method 'none ' << 'END'
struct S { __device__ int *get(int n) { return (int *)malloc(n); } };
__global__ void k(int **p) { S s; p[threadIdx.x] = s.get(8); auto f = [=](auto m) { return m.get(3); }; if (threadIdx.x == 2) p[0] = f(s); }
END

# ---- calls that libclang does not show: constructors, destructors, conversions ----
scope ctor_lambda 'none ' << 'END'
struct D { int *p; __device__ D() { p = (int *)malloc(8); } };
struct E { D d; int n = 4; };
__global__ void k(int **p) { { D d; } auto f = [](int i) { E e; return i; }; if (threadIdx.x == 0) f(1); }
END
scope ctor_member_rest 'none ' << 'END'
struct D { int *p; __device__ D() { p = (int *)malloc(8); } };
struct E { D d; };
__global__ void k(int **p) { { D d; } if (threadIdx.x == 0) { E e; } }
END
scope dtor_lambda 'none ' << 'END'
struct D { int *p; __device__ ~D() { p = (int *)malloc(8); } };
__global__ void k(int **p) { { D d; } auto f = [](int i) { D d; return i; }; if (threadIdx.x == 0) f(1); }
END
scope dtor_temp_lambda 'none ' << 'END'
struct D { int *p; __device__ ~D() { p = (int *)malloc(8); } };
__global__ void k(int **p) { { D d; } auto f = [](int i) { D(); return i; }; if (threadIdx.x == 0) f(1); }
END
scope dtor_member_lambda 'none ' << 'END'
struct D { int *p; __device__ ~D() { p = (int *)malloc(8); } };
struct E { D d; };
__global__ void k(int **p) { { D d; } auto f = [](int i) { E e; return i; }; if (threadIdx.x == 0) f(1); }
END
scope dtor_delete_lambda 'none ' << 'END'
struct D { int *p; __device__ ~D() { p = (int *)malloc(8); } };
__global__ void k(D *q) { { D d; } auto f = [=](int i) { delete q; return i; }; if (threadIdx.x == 0) f(1); }
END
scope conv_lambda 'none ' << 'END'
struct D { __device__ operator int() const { return malloc(8) != 0; } };
__global__ void k(int *o) { D d; o[threadIdx.x] = d; auto f = [=](int i) { int j = d; return j; }; if (threadIdx.x == 0) o[0] = f(1); }
END

# ---- templates whose instances libclang does not show ----
scope user_run 'none ' << END
$functor
template <class F> __global__ void kern(F f, int n) { if (threadIdx.x < n) f(threadIdx.x); }
template <class F> void run(F f) { kern<<<1, 32>>>(f, 3); }
__global__ void k(int **o) { op f{o}; f(threadIdx.x); }
int main() { k<<<1, 32>>>(nullptr); run(op{nullptr}); }
END
scope user_run2 'none ' << END
$functor
struct other { __device__ void operator()(int i) const { } };
template <class F> __global__ void kern(F f, int n) { if (threadIdx.x < n) f(threadIdx.x); }
template <class F> void run(F f) { kern<<<1, 32>>>(f, 3); }
__global__ void k(int **o) { op f{o}; f(threadIdx.x); }
int main() { k<<<1, 32>>>(nullptr); run(op{nullptr}); kern<<<1, 2>>>(other(), 3); }
END
scope user_run3 'none ' << 'END'
struct op { static __device__ void go(int **p, int i) { p[i] = (int *)malloc(8); } };
struct other { static __device__ void go(int **p, int i) { } };
template <class F> __global__ void kern(int **p, int n) { if (threadIdx.x < n) F::go(p, threadIdx.x); }
template <class F> void run(int **p) { kern<F><<<1, 32>>>(p, 3); }
__global__ void k(int **o) { op::go(o, threadIdx.x); }
int main() { k<<<1, 32>>>(nullptr); run<op>(nullptr); kern<other><<<1, 2>>>(nullptr, 3); }
END
scope user_run4 'none ' << END
$functor
struct other { __device__ void operator()(int i) const { } };
template <class F> __device__ void inner(F f, int n) { if (threadIdx.x < n) f(threadIdx.x); }
template <class F> __global__ void kern(F f, int n) { inner(f, n); }
template <class F> struct runner { void run(F f) { kern<<<1, 32>>>(f, 3); } };
__global__ void k(int **o) { op f{o}; f(threadIdx.x); inner(other(), 3); }
int main() { k<<<1, 32>>>(nullptr); runner<op>().run(op{nullptr}); kern<<<1, 2>>>(other(), 3); }
END
scope user_run_method 'none ' << 'END'
struct op { int **p; __device__ void apply(int i) const { p[i] = (int *)malloc(8); } };
template <class F> __global__ void kern(F f, int n) { if (threadIdx.x < n) f.apply(threadIdx.x); }
template <class F> void run(F f) { kern<<<1, 32>>>(f, 3); }
__global__ void k(int **o) { op f{o}; f.apply(threadIdx.x); }
int main() { k<<<1, 32>>>(nullptr); run(op{nullptr}); }
END
scope user_run_static 'none ' << 'END'
struct op { static __device__ void apply(int **p, int i) { p[i] = (int *)malloc(8); } };
template <class F> __global__ void kern(int **p, int n) { if (threadIdx.x < n) F::apply(p, threadIdx.x); }
template <class F> void run(int **p) { kern<F><<<1, 32>>>(p, 3); }
__global__ void k(int **o) { op::apply(o, threadIdx.x); }
int main() { k<<<1, 32>>>(nullptr); run<op>(nullptr); }
END
scope user_run_tmplfn 'none ' << 'END'
__device__ void apply(int **p, int i) { p[i] = (int *)malloc(8); }
template <void (*F)(int **, int)> __global__ void kern(int **p, int n) { if (threadIdx.x < n) F(p, threadIdx.x); }
template <void (*F)(int **, int)> void run(int **p) { kern<F><<<1, 32>>>(p, 3); }
__global__ void k(int **o) { apply(o, threadIdx.x); }
int main() { k<<<1, 32>>>(nullptr); run<apply>(nullptr); }
END

# ---- headers of the source ----
scope hdr_run 'none ' << END
#include "user.h"
$functor
__global__ void k(int **o) { op f{o}; f(threadIdx.x); }
int main() { k<<<1, 32>>>(nullptr); hrun(op{nullptr}); }
END
scope hdr_dev 'none ' << END
#include "user.h"
$functor
__global__ void k(int **o) { op f{o}; f(threadIdx.x); hdev(f); }
END
scope hdr_dev_lambda 'none ' << END
#include "user.h"
$functor
__global__ void k(int **o) { op f{o}; f(threadIdx.x); auto g = [=](auto h) { hdev(h); }; g(f); }
END
scope hdr_cls 'none ' << END
#include "user.h"
$functor
__global__ void k(int **o) { op f{o}; f(threadIdx.x); hcls<op> c{f}; c.go(); }
END
scope hdr_cls_host 'none ' << END
#include "user.h"
$functor
__global__ void k(int **o) { op f{o}; f(threadIdx.x); }
int main() { hcls<op>().host(); }
END
scope hdr_kernel 'none ' << 'END'
#include "user.h"
static __device__ int *hhelper(int n) { return (int *)malloc(n); }
__global__ void k(int **o) { o[threadIdx.x] = hhelper(3); }
END

# ---- libraries ----
scope sys_functor 'none ' << END
#include <lib.h>
$functor
__global__ void k(int **o) { op f{o}; f(threadIdx.x); }
int main() { k<<<1, 32>>>(nullptr); lib::for_each(7, op{nullptr}); }
END
scope sys_functor_var 'none ' << END
#include <lib.h>
$functor
__global__ void k(int **o) { op f{o}; f(threadIdx.x); }
int main() { k<<<1, 32>>>(nullptr); op f{nullptr}; lib::for_each(7, f); }
END
scope sys_functor_kernel 'none ' << END
#include <lib.h>
$functor
__global__ void k(int **o) { op f{o}; f(threadIdx.x); }
int main() { k<<<1, 32>>>(nullptr); lib::kernel_<<<1, 32>>>(op{nullptr}, 3); }
END
scope sys_functor_dev 'none ' << END
#include <lib.h>
$functor
__global__ void k(int **o) { op f{o}; f(threadIdx.x); lib::seq(3, f); }
END
scope sys_functor_wrap 'none ' << END
#include <lib.h>
$functor
__global__ void k(int **o) { op f{o}; f(threadIdx.x); lib::wrap<op> w{f}; w.go(threadIdx.x); }
END
scope sys_lambda_helper 'none ' << END
#include <lib.h>
$helper
__global__ void k(int **o) { o[threadIdx.x] = helper(3); }
int main() { k<<<1, 32>>>(nullptr); lib::for_each(7, [] __device__ (int i) { helper(i); }); }
END
scope sys_fnptr 'none ' << 'END'
#include <lib.h>
__device__ void cb(int n) { malloc(n); }
__global__ void k(int **o) { cb(3); lib::call(cb); }
END
scope sys_virtual 'none ' << 'END'
#include <lib.h>
struct V : lib::visitor { __device__ void visit(int n) override { malloc(n); } };
__global__ void k(int **o) { V v; v.visit(3); v.V::visit(4); lib::accept(&v); }
END
scope sys_destroy 'none ' << 'END'
#include <lib.h>
struct D { int *p; __device__ ~D() { p = (int *)malloc(8); } };
__global__ void k(D *o) { { D d; } lib::destroy(o); }
END
scope crtp_sys2 'none ' << 'END'
#include <lib.h>
struct op : lib::crtp<op> { __device__ void step() { malloc(3); } };
__global__ void k(op *o) { o->step(); o->run(); }
END
scope sys_base_of_functor 'none ' << 'END'
#include <lib.h>
struct base { __device__ int *get(int n) { return (int *)malloc(n); } };
struct op : base { __device__ void operator()(int i) { get(i); } };
__global__ void k(int **o) { op b; b.get(3); }
int main() { lib::for_each(3, op()); }
END

# ---- cases that remain proven ----
scope own_method_of_derived 'block ' << 'END'
#include <lib.h>
struct op : lib::wrap<int> { __device__ void go2() { malloc(3); } };
__global__ void k(op *o) { o->go2(); }
END
scope class_in_a_container_of_the_host 'block ' << 'END'
#include <vector>
struct op { int **p; __host__ __device__ op() : p(0) {} __device__ void go(int i) const { p[i] = (int *)malloc(8); } };
__global__ void k(op *o) { o->go(threadIdx.x); }
int main() { std::vector<op> v(3); op *d; cudaMalloc(&d, sizeof(op)); k<<<1, 32>>>(d); }
END
finish
