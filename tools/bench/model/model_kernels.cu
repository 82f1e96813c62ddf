/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_kernels.cu - the kernels of `mam bench model`: one atomic of many lanes, what a warp sees in
 * a step, and walks that go on after their first page.
 */
#include "bench/model/kernels.h"

PAGES_KERNEL(model_atomic, model_atomic_one)
PAGES_KERNEL(model_found_corw, model_found)
MODEL_AGAIN(rw)
MODEL_AGAIN(rwbm)
MODEL_AGAIN(crw)
