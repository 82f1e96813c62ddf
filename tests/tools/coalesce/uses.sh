#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# uses.sh - `mam coalesce` changes all calls of malloc and free that may run on the device, wherever
# they are, or none; and it lists each malloc and new.
#
# In the sources below malloc_ and free_ are calls that must be changed, malloc and free must stay
# unchanged, and new_ is a new that must be listed. Each source also has a kernel whose malloc is
# collective, so that there is a reason to change the file. With nvcc all changed sources are
# compiled as well. No device function except those of mam/collective.cuh may call CUDA's malloc or
# free.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

tool=${MAM_BUILDDIR:-.}/mam-coalesce
[ -x "$tool" ] || skip_all 'uses of malloc and free' 'this mam was built without libclang'
tool=$(cd "$(dirname "$tool")" && pwd)/mam-coalesce
COALESCE_INCLUDE=$(cd "$MAM_SRCDIR/tools/coalesce/headers" && pwd)
include="-I $(cd "$MAM_SRCDIR/include" && pwd) -I $(cd "$MAM_SRCDIR/src" && pwd)"
export COALESCE_INCLUDE
unset CUDA_HOME
cd "$scratch" || exit 99

# The source of the case is $1.want; the tool reads $1.cu.
take() # NAME
{
	cat > "$1.want"
	cat >> "$1.want" << 'END'
__global__ void collective(int **p, int n) { p[threadIdx.x] = (int *)malloc_(n); free_(p[threadIdx.x]); }
END
	sed 's/\(malloc\|free\)_(/\1(/g; s/new_ /new /g' "$1.want" > "$1.cu"
	# shellcheck disable=SC2086 # words on purpose
	timeout 60 "$tool" --plain -o "$1.out" "$1.cu" -- $include > list 2> err < /dev/null
	status=$?
}

changed() # NAME [MORE] - the source follows; MORE allocations are listed again, as other instances of a template
{
	take "$1"
	same "$1: can be read" "0 " "$status $(cat err)"
	grep -v '^#include <mam/collective.cuh>$\|^#define MAM_COLLECTIVE_NEW$' "$1.out" |
		sed 's/, MAM_COLLECTIVE_[A-Z]*//g; s/(void)mam_cfree/mam_cfree/g; s/mam_cmalloc(/malloc_(/g; s/mam_cfree(/free_(/g' \
		> got
	sed 's/new_ /new /g' "$1.want" > want
	try "$1: all calls are changed, and nothing else" diff want got
	same "$1: allocations are listed" "$(($(grep -o 'malloc_(\|new_ ' "$1.want" | wc -l) + ${2:-0}))" \
		"$(wc -l < list | tr -d ' ')"
	printf 'namespace n%d {\n#include "%s.out"\n}\n' "$((cases += 1))" "$1" >> all.cu
}

stays() # NAME WHY [MORE] - the source follows; MORE allocations are in macros
{
	take "$1"
	same "$1: can be read" 0 $status
	try "$1: is unchanged" cmp "$1.cu" "$1.out"
	try "$1: the reason" grep -q "malloc is left alone: .*$2" err
	same "$1: allocations are listed" "$(($(grep -o 'malloc_(\|new_ ' "$1.want" | wc -l) + ${3:-0}))" \
		"$(wc -l < list | tr -d ' ')"
}

cases=0
{
	printf '#define MAM_COLLECTIVE_NEW\n#include <mam/collective.cuh>\n'
	printf '#include <cstdio>\n#include <cstdlib>\n#include <new>\n'
} > all.cu

# ---- initializers ----
changed member << 'END'
struct S { int *p = (int *)malloc_(4); };
__global__ void k(int *o) { S s; o[0] = *s.p; free_(s.p); }
END
changed member_of_template << 'END'
template <class T> struct S { T *p = (T *)malloc_(sizeof(T)); __device__ ~S() { free_(p); } };
__global__ void k(int *o) { S<int> s; o[0] = *s.p; }
END
changed member_of_unused_template << 'END'
template <class T> struct S { T *p = (T *)malloc_(sizeof(T)); T *q{(T *)malloc_(8)}; __device__ void end() { free_(p); free_(q); } };
END
changed partial_specialization << 'END'
template <class T, int N> struct S { T *p; __device__ S() { p = (T *)malloc_(N); } __device__ ~S() { free_(p); } };
template <class T> struct S<T, 0> { T *p = (T *)malloc_(1); __device__ ~S() { free_(p); } };
template <> struct S<char, 1> { char *p{(char *)malloc_(7)}; __device__ ~S() { free_(p); } };
__global__ void k() { S<int, 4> a; S<int, 0> b; S<char, 1> c; }
END
changed constructor << 'END'
struct S { int *p, *q; __device__ S(int n) : p((int *)malloc_(n)), q{(int *)malloc_(n + 1)} {} __device__ ~S() { free_(p); free_(q); } };
struct T { void *p; template <class U> __device__ T(U n) : p(malloc_(sizeof(U) + n)) {} __device__ ~T() { free_(p); } };
struct U { void *p; template <class V> __device__ U(V n) : p(malloc_(sizeof(V) + n)) {} __device__ ~U() { free_(p); } };
__global__ void k(int n) { S s(n); T t(n); }
END
changed base << 'END'
struct B { int *b = (int *)malloc_(8); __device__ B(int *x = (int *)malloc_(4)) : b(x) {} };
struct S : B { int *p; __device__ S() : B((int *)malloc_(12)), p((int *)malloc_(1)) {} };
__global__ void k() { S s; free_(s.b); free_(s.p); }
END
changed aggregate << 'END'
struct S { int *p; int *q; };
struct T { S s = { (int *)malloc_(1), (int *)malloc_(2) }; };
__global__ void k() { S s = { (int *)malloc_(1), nullptr }; S a[2] = { { (int *)malloc_(3), 0 } }; T t; free_(s.p); free_(a[0].p); free_(t.s.q); }
END
changed static_member << 'END'
struct S { static inline int *p = (int *)malloc_(4); };
int *of_host() { return S::p; }
END
changed anonymous_and_nested << 'END'
struct S { union { int *p = (int *)malloc_(4); float *f; }; struct { int *z = (int *)malloc_(8); } in; };
struct O { struct I { int *p = (int *)malloc_(4); struct J { int *r = (int *)malloc_(2); __device__ ~J() { free_(r); } } j; } i; __device__ ~O() { free_(i.p); } };
__global__ void k() { S s; free_(s.p); free_(s.in.z); O o; }
END
changed outside_of_functions << 'END'
int *at_start = (int *)malloc_(4);
static const auto make = [] __device__ (int n) { return (int *)malloc_(n); };
static const auto drop = [] __host__ __device__ (int *p) { free_(p); };
END
stays variable_template 'malloc at line 1 cannot be changed: its text is not what was expected' << 'END'
template <class T> T *eager = (T *)malloc_(sizeof(T));
template <class T> T *fresh = new_ T;
END

# ---- arguments and operands ----
changed default_argument << 'END'
__device__ int *f(int n, int *p = (int *)malloc_(4)) { return p; }
template <class T> __device__ T *g(T n, T *p = (T *)malloc_(sizeof(T))) { return p; }
struct M { __device__ int *h(void *p = malloc_(8)) { return (int *)p; } __device__ M(int *q = (int *)malloc_(2)) { free_(q); } };
__global__ void k() { M m; free_(f(1)); free_(g(1)); free_(m.h()); }
END
stays default_template_argument 'malloc at line 1 is not a call' << 'END'
template <class T, void *(*A)(size_t) = malloc> __device__ T *f() { return (T *)A(sizeof(T)); }
__global__ void k() { free(f<int>()); }
END
changed not_evaluated << 'END'
template <class T = decltype(malloc(4))> struct U { T t; };
__device__ auto g() -> decltype(malloc(3)) { return nullptr; }
__device__ void h() noexcept(noexcept(free(nullptr))) {}
__device__ __attribute__((malloc)) void *get(int n) { return malloc_(n); }
__global__ void k(int *o) { o[0] = sizeof(malloc(4)) + sizeof(decltype(malloc(2))); decltype(malloc(1)) x = nullptr; h(); o[1] = g() == x; free_(get(2)); }
END
changed discarded << 'END'
template <bool B> __global__ void k(int n, int *q) { if constexpr (B) { int *p = (int *)malloc_(n); free_(p); } else { free_(q); } }
void go() { k<true><<<1, 1>>>(1, 0); }
END

# ---- lambdas, classes, functions ----
changed lambda << 'END'
__global__ void k(int n, int *o) { int *a = (int *)malloc_(8); auto f = [&](int m) { int *q = (int *)malloc_(m); q[0] = *a; int r = q[0]; free_(q); free_(a); return r; }; o[0] = f(n); }
__global__ void captures(int n) { auto f = [p = (int *)malloc_(n)] { free_(p); }; f(); }
__global__ void nested(int n) { auto f = [=](int m) { auto g = [=] { return (int *)malloc_(m); }; return g(); }; free_(f(n)); }
__global__ void generic(int n) { auto f = [=](auto m) { void *p = malloc_(m); free_(p); return m; }; f(n); f(2l); }
END
changed lambda_of_the_host << 'END'
template <class F> __global__ void run(F f) { f(threadIdx.x); }
int go() { int *h = (int *)malloc(4); run<<<1, 32>>>([=] __device__ (int i) { int *q = (int *)malloc_(i); free_(q); }); auto f = [=] { free(h); }; f(); return 0; }
END
changed local_class << 'END'
__global__ void k(int n) { struct L { int *p = (int *)malloc_(4); __device__ void done() { free_(p); } __device__ void *more(int n) { return malloc_(n); } }; L l; l.done(); }
END
changed friend_function << 'END'
struct S { int *p; friend __device__ int *make(S &s, int n) { return s.p = (int *)malloc_(n); } friend __device__ void drop(S &s) { free_(s.p); } };
END
changed base_of_its_argument << 'END'
template <class D> struct B { int *p; __device__ void get(int n) { p = (int *)malloc_(n); static_cast<D *>(this)->more(n); } __device__ ~B() { free_(p); } };
struct D : B<D> { int *q = (int *)malloc_(3); __device__ void more(int n) { q = (int *)malloc_(n); } __device__ ~D() { free_(q); } };
__global__ void k(int n) { D d; d.get(n); }
END
changed virtual_method << 'END'
struct B { __device__ virtual void *get(int n) { return malloc_(n); } __device__ virtual ~B() {} };
struct D : B { int *p = (int *)malloc_(3); __device__ void *get(int n) override { return malloc_(n + 1); } __device__ ~D() { free_(p); } };
__global__ void k(B *b) { D d; B *q = &d; free_(q->get(3)); }
END
changed operators << 'END'
struct S { __device__ operator int *() const { return (int *)malloc_(4); } __device__ int *operator->() { return (int *)malloc_(8); } };
template <class T> struct end { __device__ void operator()(T *p) const { free_(p); } };
template <class T, class D = end<T>> struct unique { T *p; __device__ explicit unique(T *p) : p(p) {} __device__ ~unique() { D()(p); } };
__global__ void k(int n) { S s; int *p = s; free_(p); unique<int> u((int *)malloc_(n)); }
END
changed both_sides << 'END'
__host__ __device__ void *get(size_t n) { return malloc_(n); }
__host__ __device__ void drop(void *p) { free_(p); }
constexpr void *get_if(bool b, size_t n) { return b ? malloc_(n) : nullptr; }
__global__ void k(int n) { if (threadIdx.x) drop(get(n)); free_(get_if(n > 3, n)); }
int go() { drop(get(3)); free(get(2)); return 0; }
END
changed explicit_instance << 'END'
template <class T> __device__ void drop(T *p) { free_(p); }
template __device__ void drop<int>(int *);
template <class T> struct S { T *p = (T *)malloc_(1); __device__ void d() { free_(p); } };
template struct S<float>;
END
changed pointer_to_own_function << 'END'
__device__ void drop(void *p) { free_(p); }
__device__ void (*hook)(void *) = drop;
__global__ void k(void *p) { hook(p); }
END

# ---- names ----
stays address 'malloc at line 1 is not a call' << 'END'
__global__ void k(int *o) { void *(*f)(size_t) = malloc; void (*g)(void *) = &free; g(f(4)); }
END
stays address_in_a_member 'free at line 1 is not a call' << 'END'
struct S { void (*drop)(void *) = free; };
__global__ void k(void *o) { S s; s.drop(o); }
END
stays address_in_a_table 'free at line 1 is not a call' << 'END'
__device__ void (*table[1])(void *) = { free };
__global__ void k(void *o) { table[0](o); }
END
changed using_declaration << 'END'
using std::malloc;
__global__ void k(int n) { using std::malloc; using std::free; void *p = malloc_(n); free_(p); }
END
stays alias_of_std 'malloc at line 2' << 'END'
namespace s = std;
__global__ void k(int n) { void *p = s::malloc_(n); s::free(p); }
END
stays macro 'malloc at line 4 cannot be changed: it is in a macro' 1 << 'END'
#define ALLOC malloc
#define FREE(p) free(p)
#define AGAIN(n) ALLOC(n)
struct S { void *p = AGAIN(4); };
__global__ void k(int n) { S s; FREE(s.p); }
END
stays macro_of_parts 'malloc at line 2 cannot be changed: it is in a macro' 1 << 'END'
#define CALL(a, b) a##b
struct S { void *p = CALL(mal, loc)(4); };
__global__ void k(int n) { S s; free(s.p); }
END
stays macro_in_an_operand 'NOTHING at line 2 is a macro that contains malloc or free' << 'END'
#define NOTHING free(nullptr)
template <class T> T of = (NOTHING, T());
END
changed macro_of_the_host << 'END'
#define ALLOC(n) malloc(n)
#define CHECK(x) do { if (!(x)) { free(x); } } while (0)
int go() { void *p = ALLOC(3); CHECK(p); return 0; }
END
changed own_functions << 'END'
namespace mine { struct box { int *p; }; __device__ void free(box *b) { b->p = 0; } __device__ void *malloc(int n) { return 0; } }
__global__ void k(mine::box *b) { free(b); mine::free(b); mine::malloc(3); }
END
stays own_function_by_argument 'free at line 2 is not a call' << 'END'
namespace mine { struct box { int *p; }; __device__ void free(box *b) { b->p = 0; } }
template <class T> __device__ void drop(T *t) { free(t); }
END
changed own_members << 'END'
struct pool { __device__ void *malloc(size_t n) { return 0; } __device__ static void free(void *p) {} };
template <class P> __device__ void use(P &p, int free) { p.free(p.malloc(free)); P::free(&p); }
__global__ void k(pool *p, int malloc) { int free = malloc; p->free(p->malloc(free)); use(*p, 2); }
struct fields { int free; int malloc[2]; }; __device__ int sum(fields f) { return f.free + f.malloc[0]; }
END
changed of_the_host << 'END'
struct H { char *p; H() { p = (char *)malloc(3); } ~H() { free(p); } void *operator()(int n) { return std::malloc(n); } };
template <class T> struct HT { T *p; HT() { p = (T *)malloc(sizeof(T)); } ~HT() { ::free(p); } };
static inline void drop(void *p, void (*with)(void *) = free) { free(p); void (*g)(void *) = free; g(p), with(p); }
END
changed left_out << 'END'
#ifdef NOT_DEFINED
__device__ void never(void *p) { free(p); }
#endif
END
stays left_out_of_a_function 'free at line 3 is not a call' << 'END'
__global__ void k(void *p) {
#ifdef NOT_DEFINED
	free(p);
#endif
}
END

stays parentheses 'malloc at line 1 cannot be changed: its text is not what was expected' 1 << 'END'
__global__ void k(int n) { void *p = (malloc)(n); (free)(p); }
END
stays name_on_two_lines 'a name at line 1 is continued on the next line' << 'END'
__global__ void k(void *p) { void (*f)(void *) = fr\
ee; f(p); }
END
changed in_all_places << 'END'
__device__ void a(void *p) { return free_(p); }
__device__ void b(void *p, int n) { n ? free_(p) : (void)0; for (; n; free_(p), n--) ; do free_(p); while (n--); switch (n) { case 1: free_(p); break; default: free_(p), n--; } }
__device__ int c(void *p) { return ({ free_(p); 3; }); }
template <class... T> __device__ void d(T... t) { (free_(t), ...); int x[] = { (free_(t), 0)... }; (void)x; free_(malloc_((sizeof(T) + ...))); }
template <class T> __device__ auto e(T *t) -> decltype(free(t)) { return free_(t); }
__global__ void k(void *p) { a(p); b(p, 1); c(p); d(p, p); e(p); }
END

# ---- other functions that allocate and free ----
stays assembly 'inline assembly at line 1 calls malloc or free' << 'END'
__global__ void k(void *p) { asm volatile("{ .param .b64 a; st.param.b64 [a], %0; call free, (a); }" :: "l"(p)); }
END
stays of_the_runtime 'cudaMalloc at line 1' << 'END'
__global__ void k(int n) { int *p; cudaMalloc((void **)&p, n); free(p); }
END
changed news << 'END'
struct S { int *p = new_ int(4); int *q = new_ int[3]; __device__ ~S() { delete p; delete[] q; } };
template <class T> struct U { T *p = new_ T; T *q; __device__ U() : q(new_ T[4]) {} __device__ ~U() { delete p; delete[] q; } };
struct O { int v; __device__ static void *operator new(size_t n) { return malloc_(n); } __device__ static void operator delete(void *p) { free_(p); } };
__device__ int *f(int *p = new_ int) { return p; }
__global__ void k(int n) { S s; delete f(); void *m = malloc_(sizeof(int)); int *i = new (m) int; free_(i); O *o = new_ O; delete o; O *g = ::new_ O; ::delete g; void *v = ::operator new(n); operator delete(v); }
END
try "news: the header replaces the operators" grep -q '^#define MAM_COLLECTIVE_NEW' news.out
changed own_new_in_one_instance 2 << 'END'
struct O { int v; __device__ static void *operator new(size_t n) { return malloc_(n); } __device__ static void operator delete(void *p) { free_(p); } };
struct alignas(64) A { int x[16]; };
template <class T> __device__ T *make() { return new_ T; }
template <class T> __device__ T *many(int n) { return new_ T[n]; }
__global__ void k(int n) { delete make<int>(); delete make<O>(); delete[] many<int>(3); delete[] many<O>(3); }
__global__ void aligned() { A *a = new_ A; delete a; delete make<A>(); delete[] many<A>(3); }
END
changed placement << 'END'
__global__ void k() { void *m = malloc_(sizeof(int)); int *i = new (m) int; free_(i); }
END
stays own_operator_new 'operator new at line 1 is defined by the source' << 'END'
__device__ void *operator new(size_t n) { return malloc_(n); }
__device__ void operator delete(void *p) noexcept { free(p); }
__global__ void k() { int *s = new_ int; delete s; }
END

# ---- headers ----
included() # NAME - the header follows
{
	cat > "$1.h"
	printf '#include "%s.h"\n' "$1" > "$1.head"
}

included h_member << 'END'
struct S { int *p = (int *)malloc(4); };
END
stays h_member 'malloc at .*h_member.h:1 is in a file that is included' < h_member.head
included h_kernel << 'END'
static __global__ void kernel(void *p) { free(p); }
END
stays h_kernel 'free at .*h_kernel.h:1 is in a file' < h_kernel.head
included h_macro << 'END'
#define DROP(p) free(p)
END
changed h_macro < h_macro.head
echo '__global__ void k(void *p) { DROP(p); }' >> h_macro.head
stays h_macro_used 'free at line 2 cannot be changed: it is in a macro' < h_macro.head
included h_host << 'END'
static inline void drop_it(void *p) { free(p); auto f = [](void *q) { free(q); }; f(p); }
struct H { char *p; H() { p = (char *)malloc(3); } ~H() { free(p); } };
END
changed h_host < h_host.head
for header in heap.cuh coalesce.cuh ds.cuh; do
	echo "#include <mam/$header>" > h.head
	changed "h_$header" < h.head
done
echo '#include <mam/kmalloc_override.cuh>' > h.head
stays h_override 'malloc at .*kmalloc_override.cuh:' < h.head

# ---- compiling the changed sources with nvcc ----
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if [ ! -x "$nvcc" ]; then
	skip "compiled" "there is no nvcc"
	finish
fi
# shellcheck disable=SC2086
try "all changed sources compile" "$nvcc" -std=c++17 -arch=sm_90 --extended-lambda --expt-relaxed-constexpr -w $include \
	-c --keep -o all.o all.cu
awk '/\.(func|entry)/ { name = $0 }
	/^[ \t]*(malloc|free|_Zn[wa]m|_Zd[la]Pvm?),?[ \t]*$/ { print $1, name }' all.ptx > calls
try "mam/collective.cuh calls CUDA's heap" grep -q '^malloc,.*mam_collective_get' calls
# The toolkit's delete of types with larger alignment, which keep the toolkit's new, is inlined.
same "no other code calls CUDA's heap" "" "$(grep -v 'mam_collective_\(get\|give\)\|aligned' calls)"
finish
