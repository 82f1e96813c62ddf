/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_kernels.cu - the kernels of `mam bench model`: one atomic of many lanes, free pages that a
 * warp sees in a step, searches that continue after their first page, and the cost of freeing one.
 */
#include "bench/papers/model/kernels.h"

PAGES_KERNEL(model_atomic, model_atomic_one)
PAGES_KERNEL(model_found_corw, model_found)
MODEL_AGAIN(rw)
MODEL_AGAIN(rwbm)
MODEL_AGAIN(crw)
MODEL_GIVE(mam, struct mam_pages, mam_pages_give)
MODEL_GIVE(rw, struct mam_rw, mam_rw_give)
MODEL_GIVE(rwbm, struct mam_rwbm, mam_rwbm_give)
MODEL_GIVE(corw, struct mam_corw, mam_corw_give)
MODEL_GIVE(queue, struct mam_queue, mam_queue_give)
