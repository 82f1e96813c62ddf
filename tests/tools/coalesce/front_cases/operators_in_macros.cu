/* SPDX-License-Identifier: Apache-2.0 */
#define GLOBAL (blockIdx.x * blockDim.x + threadIdx.x)
#define BOTH(a, b) ((a) && (b))
#define EITHER(a, b) a || b
#define SUM(a, b) a + b
#define SET(a, b) a = b
#define THEN(a, b) a, b
#define EQUAL(a, b) a == b
#define MORE(a) a++
#define LESS(a) -a
#define AT(p) *p
#define OF(v) &v
#define PLUS +
#define IS =
#define IS_ONE = 1
#define AND_ONE &&1

__global__ void k(int *out, int a, int b, bool p, bool q)
{
	int x = GLOBAL;

	x = SUM(a, b);
	SET(x, b);
	SET(p, q);
	THEN(x, a);
	p = BOTH(a, b);
	p = EITHER(p, q);
	p = EITHER(a > 1, !q);
	p = EQUAL(p, q);
	x = a PLUS b;
	x IS a;
	x IS_ONE;
	p = a AND_ONE;
	MORE(x);
	x = LESS(a);
	AT(out) = AT((out + 1));
	out = OF(x);
	if (BOTH(x, AT(out)))
		x = 0;
}
