/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen.h - the socket of a server, from the text of an option.
 */
#ifndef TOOLS_LISTEN_H
#define TOOLS_LISTEN_H

/*
 * listen_open - listen on "[ADDRESS:]PORT" or "unix:PATH", and print on stderr where. Without an
 * address only this machine can connect. A socket at PATH is replaced if no process listens on it.
 * Returns the descriptor, which does not block; -1: not possible (reported).
 */
int listen_open(const char *where);

/* listen_close - close the socket, and remove its path. */
void listen_close(int socket);

#endif
