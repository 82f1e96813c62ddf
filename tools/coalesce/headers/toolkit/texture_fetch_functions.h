/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texture_fetch_functions.h - CUDA 13 does not have this header any more, but clang includes it.
 * The texture functions in CUDA's headers call this function, which is an nvcc builtin.
 */
#ifndef MAM_TEXTURE_FETCH_FUNCTIONS_H
#define MAM_TEXTURE_FETCH_FUNCTIONS_H

#ifdef __cplusplus
template <class... T> __attribute__((device)) void __nv_tex_surf_handler(const char *name, T... rest);
#endif

#endif
