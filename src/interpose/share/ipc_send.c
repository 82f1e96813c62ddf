/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_send.c - the owner's half of ipc_pieces.h.
 *
 * The thread is started with the first shared block and blocks all signals, which belong to the
 * program's threads. It serves one peer after the other, and gives up on a peer that does not
 * answer.
 */
#define _GNU_SOURCE /* struct ucred, accept4 */
#include "interpose/share/ipc_pieces.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "interpose/memory/chunks.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"
#include "interpose/share/marks.h"

#define PEER_SECONDS 5 /* the longest wait for a peer */
#define WAITING_MAX 64 /* peers */
#define POSIX_DESCRIPTOR 1

static atomic_int listener = -1; /* atomic; the socket */
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

socklen_t mam_ipc_pieces_address(const struct mam_ipc_sender *sender, struct sockaddr_un *address)
{
	int length;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
			  "mam-ipc-%u-%d-%llx-%llx", (unsigned int)geteuid(), (int)sender->owner,
			  (unsigned long long)sender->started,
			  (unsigned long long)sender->names_space);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

bool mam_ipc_pieces_trust(int connection)
{
	const struct timeval longest = { .tv_sec = PEER_SECONDS };
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest)) == 0 &&
	       setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest)) == 0 &&
	       getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       peer.uid == geteuid();
}

/* Returns CUDA's code. */
static int export_piece(uint64_t base, int *descriptor)
{
	__typeof__(&cuMemRetainAllocationHandle) retain =
		MAM_TABLE_ORIGINAL(cuMemRetainAllocationHandle);
	__typeof__(&cuMemRelease) release = MAM_TABLE_ORIGINAL(cuMemRelease);
	const struct mam_real_driver *driver = mam_real_driver();
	unsigned long long handle;
	int answer;

	if (retain == NULL || release == NULL || driver == NULL || driver->mem_export == NULL)
		return MAM_CUDA_NOT_SUPPORTED;
	answer = retain(&handle, (void *)(uintptr_t)base);
	if (answer != MAM_CUDA_SUCCESS)
		return answer;
	answer = driver->mem_export(descriptor, handle, POSIX_DESCRIPTOR, 0);
	release(handle);
	return answer;
}

static bool send_piece(int connection, const struct mam_chunks_piece *piece)
{
	struct mam_ipc_piece message = { piece->bytes };
	struct iovec part = { &message, sizeof(message) };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control) };
	struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
	int descriptor;
	bool sent;

	if (export_piece(piece->base, &descriptor) != MAM_CUDA_SUCCESS)
		return false;
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &descriptor, sizeof(descriptor));
	sent = sendmsg(connection, &header, MSG_NOSIGNAL) == (ssize_t)sizeof(message);
	close(descriptor);
	return sent;
}

/* The next piece of a block, from its start or from the end of the last piece. */
static bool next_piece(const struct mam_segment_info *block, struct mam_chunks_piece *piece)
{
	uint64_t start = (uintptr_t)block->base;
	uint64_t at = piece->bytes == 0 ? start : piece->base + piece->bytes;

	return at < start + block->requested &&
	       mam_chunks_piece((uintptr_t)block->chunk_base, at, piece);
}

static struct mam_ipc_place place_of(const struct mam_segment_info *block)
{
	struct mam_ipc_place place = { .bytes = block->requested };
	struct mam_chunks_piece piece = { 0 };

	while (next_piece(block, &piece)) {
		if (place.pieces++ == 0)
			place.offset = (uintptr_t)block->base - piece.base;
		place.mapped_bytes += piece.bytes;
	}
	return place;
}

/* The driver's calls need no context. */
static void send_pieces(int connection, const void *block)
{
	struct mam_segment_info segment = { .size = sizeof(segment) };
	struct mam_chunks_piece piece = { 0 };
	struct mam_ipc_place place;

	if (mam_owner(block, NULL, &segment) != MAM_OK || !segment.live || segment.base != block)
		return;
	place = place_of(&segment);
	if (send(connection, &place, sizeof(place), MSG_NOSIGNAL) != (ssize_t)sizeof(place))
		return;
	while (next_piece(&segment, &piece) && send_piece(connection, &piece))
		;
}

static void *serve_peers(void *unused)
{
	const struct timespec a_moment = { 0, 10000000 };
	unsigned char token[MAM_MARKS_TOKEN_BYTES];
	const void *block;
	int connection;

	(void)unused;
	mam_init_depth++;
	for (;;) {
		connection = accept4(atomic_load(&listener), NULL, NULL, SOCK_CLOEXEC);
		if (connection < 0 && (errno == EINVAL || errno == EBADF))
			return NULL; /* stopped, or the program closed all descriptors */
		if (connection < 0) {
			nanosleep(&a_moment, NULL);
			continue;
		}
		if (mam_ipc_pieces_trust(connection) &&
		    recv(connection, token, sizeof(token), 0) == (ssize_t)sizeof(token) &&
		    mam_marks_block_of(token, &block))
			send_pieces(connection, block);
		close(connection);
	}
}

static bool start_thread(void)
{
	sigset_t all, before;
	pthread_t thread;
	bool started;

	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return false;
	started = pthread_create(&thread, NULL, serve_peers, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (started)
		pthread_detach(thread);
	return started;
}

static bool start_locked(const struct mam_ipc_sender *sender)
{
	struct sockaddr_un address;
	socklen_t length = mam_ipc_pieces_address(sender, &address);
	int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (made < 0)
		return false;
	atomic_store(&listener, made);
	if (bind(made, (struct sockaddr *)&address, length) == 0 &&
	    listen(made, WAITING_MAX) == 0 && start_thread())
		return true;
	atomic_store(&listener, -1);
	close(made);
	return false;
}

static bool start(const struct mam_ipc_sender *sender)
{
	bool started;

	pthread_mutex_lock(&start_lock);
	started = atomic_load(&listener) >= 0 || start_locked(sender);
	pthread_mutex_unlock(&start_lock);
	return started;
}

int mam_ipc_pieces_offer(const struct mam_segment_info *block, const struct mam_ipc_sender *sender)
{
	struct mam_chunks_piece piece = { 0 };
	int descriptor, answer;

	if (next_piece(block, &piece)) {
		answer = export_piece(piece.base, &descriptor);
		if (answer != MAM_CUDA_SUCCESS)
			return answer;
		close(descriptor);
	}
	return start(sender) ? MAM_CUDA_SUCCESS : MAM_CUDA_OUT_OF_MEMORY;
}

void mam_ipc_pieces_stop(void)
{
	int made = atomic_load(&listener);

	if (made >= 0)
		shutdown(made, SHUT_RDWR);
}

/* The socket belongs to the parent: no thread of this process serves it. */
void mam_ipc_pieces_restart(void)
{
	int made = atomic_exchange(&listener, -1);

	pthread_mutex_init(&start_lock, NULL);
	if (made >= 0)
		close(made);
}
