/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes.h - sizes as people write and read them.
 *
 *   "512" "512B"                 512
 *   "64K" "64KiB" "64 KiB" "64k" 65536
 *   "64KB"                       64000
 *   "" "K" "-1" "1.5G" "1 K B" "16E" (2^64, too large)   rejected
 */
#ifndef MAM_BASE_BYTES_H
#define MAM_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAM_BYTES_TEXT 24 /* enough for any text that mam_format_bytes() writes */

/* False: `text` is not a complete size, or exceeds 64 bits. Sets `bytes` only on success. */
bool mam_parse_bytes(const char *text, uint64_t *bytes);

/* The same for a plain decimal number. */
bool mam_parse_count(const char *text, uint64_t *count);

/*
 * "512 B", "64 KiB", "1.43 GiB". A text without a decimal point is exact, and mam_parse_bytes()
 * reads it back. Returns `text`.
 */
char *mam_format_bytes(uint64_t bytes, char text[MAM_BYTES_TEXT]);

#endif
