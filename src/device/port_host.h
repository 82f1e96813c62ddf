/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_host.h - what host code needs to share a layout with device code: types and qualifiers, no
 * atomics. The host writes a heap's memory before kernels see it and reads it after they ended.
 */
#ifndef MAM_DEVICE_PORT_HOST_H
#define MAM_DEVICE_PORT_HOST_H

#include <stddef.h>
#include <stdint.h>

#define MAM_GLOBAL
#define MAM_KFN static inline
#define MAM_KBOTH static inline

#endif
