/* SPDX-License-Identifier: Apache-2.0 */
/* use.c - prints the version of the library with which it was linked. */
#include <mam/mam.h>
#include <stdio.h>

int main(void)
{
	return printf("mam %s\n", mam_version()) < 0;
}
