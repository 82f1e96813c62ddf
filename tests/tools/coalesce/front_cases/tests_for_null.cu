/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers that are asked whether they are null, and what only looks like that. */
__device__ void asks(int *p, void *q, int n)
{
	if (p)
		n = 1;
	if (!p)
		n = 2;
	if (p == NULL || nullptr != q)
		n = 3;
	if (0 == p && n)
		n = 4;
	while ((p = (int *)q))
		n = 5;
	bool b = p, c = (bool)q, d = n, e = p == q;
	n = (size_t)p == 0;
	n = *p ? 1 : 2;
	n = b + c + d + e;
	float *r = static_cast<float *>(q);
	if (!(char *)r)
		n = 6;
	if ((int *)(unsigned char)n)
		n = 7;
}
