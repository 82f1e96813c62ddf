/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_pieces.h - shares blocks in mapped memory (--source=vmm) with other processes.
 *
 * The driver has no handle for such a block: it exports each piece as a file descriptor. So the handle
 * names the owner, whose thread waits at a socket. A peer sends the token of the block. It receives the
 * place of the block, and one descriptor for each piece. There is no file that could stay.
 *
 *   owner   ipc_send.c      a socket in the abstract namespace, whose name follows from the handle; it
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

#include "interpose/share/ipc_opened.h"

/* The owner of a shared block, and the block's token. */
struct mam_ipc_sender {
	int32_t owner; /* as in its note */
	uint64_t names_space, started;
	unsigned char token[MAM_MARKS_TOKEN_BYTES];
};

/* The first message: the block, from the start of its first piece, and its pieces. */
struct mam_ipc_place {
	uint64_t offset, bytes, mapped_bytes, pieces;
};

/*
 * A piece is a message of its size, with a descriptor. The peer closes the connection if it cannot
 * use one; the owner closes it after the last one, or if it cannot export one.
 */
struct mam_ipc_piece {
	uint64_t bytes;
};

/* Returns the length of the socket's address. */
socklen_t mam_ipc_pieces_address(const struct mam_ipc_sender *sender, struct sockaddr_un *address);

/* Whether both ends of a connection belong to one user; sets its timeouts. */
bool mam_ipc_pieces_trust(int connection);

/*
 * mam_ipc_pieces_offer - make this process, the sender, ready to send the pieces of a block. Returns
 * CUDA's code: that of the driver if it does not export the memory, or out of memory.
 */
int mam_ipc_pieces_offer(const struct mam_segment_info *block, const struct mam_ipc_sender *sender);

/*
 * mam_ipc_pieces_open - map the pieces of a block, accessible to each device that can reach them.
 * Returns CUDA's code; *opened is complete then except for count and token. mam_ipc_pieces_close - wait
 * for that context, if it still exists, and unmap them.
 */
int mam_ipc_pieces_open(const struct mam_ipc_sender *sender, struct mam_ipc_opened *opened);
int mam_ipc_pieces_close(const struct mam_ipc_opened *opened);

/* Called at the end of the process, and in the child of a fork: no peer is served any more. */
void mam_ipc_pieces_stop(void);
void mam_ipc_pieces_restart(void);

#endif
