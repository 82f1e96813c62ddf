/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texture_fetch_functions.h - CUDA 13 has it no more, but clang asks for it.
 */
