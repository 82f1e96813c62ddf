/* SPDX-License-Identifier: Apache-2.0 */
/* for (;;) */ __global__ void k(int *out, /* ) */ int n)
{
	// if (;) {
	for /* ; */ (int i = 0; /* ; */ i < n; /* ) */)
		out[i] = "=;)"[i] /* && */ & n;
	const char *r = R"(=)" + n;
}
