/* SPDX-License-Identifier: Apache-2.0 */
#define MAKE(T, n) new T[n]
#define DROP(p) delete p
#define ONE int
#define MANY int[7]

__global__ void k(int n)
{
	int *p = MAKE(int, n), *q = new ONE, *r = new int[sizeof(ONE)], *s = new MANY;

	DROP(p);
}
