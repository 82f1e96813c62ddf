/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.h - the figures of nvidia-smi, from NVML, the driver's library. It is loaded if it exists.
 *
 * NVML numbers the GPUs of the machine, and mam those of a process, which CUDA_VISIBLE_DEVICES may
 * select. So memory of a process is found by its process ID: if it uses as many GPUs by mam as NVML
 * lists for it, they are the same in this order.
 */
#ifndef TOOLS_TOP_NVML_H
#define TOOLS_TOP_NVML_H

#include "top/model.h"

/* nvml_sample - set the GPUs of a model, and `nvml_bytes` of the uses. */
void nvml_sample(struct top_model *model);

#endif
