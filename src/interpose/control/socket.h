/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.h - the socket of this process for mam ctl (<mam/control.h>).
 *
 * The program may close any descriptor at any time, and get its number for a file of its own. So
 * both sockets are structs of file.h, which identify the file before each use. A process that
 * closed its socket cannot be controlled anymore.
 * Threads: one, except mam_socket_remove() and mam_socket_drop().
 */
#ifndef MAM_INTERPOSE_SOCKET_H
#define MAM_INTERPOSE_SOCKET_H

#include <stdbool.h>

#include "interpose/process/file.h"

/*
 * Creates the socket of this process, and removes those of dead processes. Returns false if it
 * cannot be created, for example because there is no statistics page.
 */
bool mam_socket_open(void);

/*
 * Waits for the next connection of the user that owns the socket. Returns NULL if the socket was
 * closed. mam_socket_close() ends the connection.
 */
struct mam_file *mam_socket_accept(void);
void mam_socket_close(void);

/* Removes the socket's name, if this process created it. */
void mam_socket_remove(void);

/* Called in the child of a fork: closes the sockets of the parent. */
void mam_socket_drop(void);

#endif
