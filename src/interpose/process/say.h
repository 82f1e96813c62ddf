/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.h - one sentence to the person who runs the program.
 */
#ifndef MAM_INTERPOSE_SAY_H
#define MAM_INTERPOSE_SAY_H

/* As MAM_LOG names them, from the fewest words to the most. */
enum mam_say_level { MAM_SAY_ERROR, MAM_SAY_WARN, MAM_SAY_INFO, MAM_SAY_DEBUG };

/* Whether MAM_LOG wants sentences of this level. */
int mam_say_wants(enum mam_say_level level);

/*
 * "mam: " and the sentence, to MAM_LOG_FILE or standard error, in one write, cut at 1000 bytes. No
 * memory is allocated, errno stays as it was.
 */
void mam_say(enum mam_say_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
