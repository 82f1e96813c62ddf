/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texture_fetch_functions.h - CUDA 13 has it no more, but clang asks for it. What reads textures in
 * CUDA's headers calls this one, which nvcc has inside.
 */
#ifndef MAM_TEXTURE_FETCH_FUNCTIONS_H
#define MAM_TEXTURE_FETCH_FUNCTIONS_H

#ifdef __cplusplus
template <class... T> __attribute__((device)) void __nv_tex_surf_handler(const char *name, T... rest);
#endif

#endif
