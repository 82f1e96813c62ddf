/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates and frees device memory, and prints the status. missing.sh chooses the driver. */
#include <stdio.h>

#include "source/source.h"

int main(void)
{
	struct mam_source *source;
	enum mam_status status = mam_source_create("cudamalloc", MAM_DEVICE_CURRENT, &source);
	void *base;

	if (status == MAM_OK) {
		status = mam_source_grow(source, source->properties.granularity, &base);
		if (status == MAM_OK)
			status = mam_source_shrink(source, base, source->properties.granularity);
		mam_source_destroy(source);
	}
	puts(mam_status_name(status));
	return 0;
}
