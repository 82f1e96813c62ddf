/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_pieces.h - shares blocks in mapped memory (--source=vmm) with other processes.
 *
 * The driver has no handle for such a block: it exports each piece as a file descriptor. So the note
 * of the block (ipc_note.h) names the owner, whose thread waits at a socket. A peer sends the token
 * of the block and receives one descriptor for each piece.
 *
 *   owner   ipc_send.c      a socket in the abstract namespace, whose name follows from the note; it
 *                           ends with the process. Its thread serves peers of the same user that know
 *                           the token of a live block, and exports pieces only then.
 *   peer    ipc_receive.c   maps the pieces one after the other into one address range.
 */
#ifndef MAM_INTERPOSE_IPC_PIECES_H
#define MAM_INTERPOSE_IPC_PIECES_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <mam/mam.h>

#include "interpose/share/ipc_note.h"
#include "interpose/share/ipc_opened.h"

/*
 * A piece is a message of its size, with a descriptor. The peer closes the connection if it cannot
 * use one; the owner closes it after the last one, or if it cannot export one.
 */
struct mam_ipc_piece {
	uint64_t bytes;
};

/* Returns the length of the socket's address. */
socklen_t mam_ipc_pieces_address(const struct mam_ipc_note *note, struct sockaddr_un *address);

/* Whether both ends of a connection belong to one user; sets its timeouts. */
bool mam_ipc_pieces_trust(int connection);

/*
 * mam_ipc_pieces_offer - describe a block in the note, and make the process ready to send its pieces.
 * Returns CUDA's code: that of the driver if it does not export the memory, or out of memory.
 */
int mam_ipc_pieces_offer(const struct mam_segment_info *block, struct mam_ipc_note *note);

/*
 * mam_ipc_pieces_open - map the pieces of a note, accessible to each device that can reach them.
 * Returns CUDA's code; *opened has the chunk and the current context then. mam_ipc_pieces_close - wait
 * for that context, if it still exists, and unmap them.
 */
int mam_ipc_pieces_open(const struct mam_ipc_note *note, struct mam_ipc_opened *opened);
int mam_ipc_pieces_close(const struct mam_ipc_opened *opened);

/* Called at the end of the process, and in the child of a fork: no peer is served any more. */
void mam_ipc_pieces_stop(void);
void mam_ipc_pieces_restart(void);

#endif
