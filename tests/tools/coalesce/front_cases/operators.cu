/* SPDX-License-Identifier: Apache-2.0 */
__global__ void k(int *out, int a, int b, bool p, bool q)
{
	int x;

	x = a + b * 2 - (a ^ b) % 3;
	x += a;
	x <<= 1;
	p = p && q || !p;
	p = p & q;
	x = p ? a : b;
	x = (a++, b);
	x = -a + ~b + +a;
	x = a == b, a /* = */ + /* , */ b;
	out[x--] = ++x;
	x = a and b or not a;
	*out = *(out + 1);
	out = &out[3];
	a = sizeof(x++);
}
