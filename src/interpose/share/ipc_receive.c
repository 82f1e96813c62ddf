/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_receive.c - the peer's half of ipc_pieces.h.
 *
 *   1. Connect to the owner, send the token, and receive the place of the block.
 *   2. Reserve addresses for all pieces. For each piece: receive its descriptor, import and map it.
 *      The mapping keeps the memory; descriptor and handle are released at once.
 *   3. Give access to the memory's device and to each device that can reach it, as libmam does for
 *      memory of its own.
 *
 * If a step fails, everything is undone. Only the driver's errors are returned as they are.
 */
#include "interpose/share/ipc_pieces.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "interpose/memory/capture.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/real.h"
#include "interpose/routes/table.h"

#define POSIX_DESCRIPTOR 1
#define LOCATION_DEVICE 1
#define ACCESS_READWRITE 3
#define DEVICES_MAX 64

struct location {
	int kind, id;
};

/* CUmemAccessDesc. */
struct access {
	struct location location;
	int flags;
};

/* CUmemAllocationProp. */
struct properties {
	int kind, handles;
	struct location location;
	unsigned char rest[64];
};

/* The addresses that are mapped so far. */
struct target {
	unsigned long long base;
	size_t bytes, mapped;
	int device; /* of the memory; -1: unknown */
};

static int connect_to(const struct mam_ipc_sender *sender)
{
	struct sockaddr_un address;
	socklen_t length = mam_ipc_pieces_address(sender, &address);
	int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (connection >= 0 && connect(connection, (struct sockaddr *)&address, length) == 0 &&
	    mam_ipc_pieces_trust(connection) &&
	    send(connection, sender->token, sizeof(sender->token), MSG_NOSIGNAL) ==
		    (ssize_t)sizeof(sender->token))
		return connection;
	if (connection >= 0)
		close(connection);
	return -1;
}

/* Returns the descriptor of the next piece; -1: there is none. */
static int receive(int connection, struct mam_ipc_piece *piece)
{
	struct iovec part = { piece, sizeof(*piece) };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control) };
	ssize_t length = recvmsg(connection, &header, MSG_CMSG_CLOEXEC);
	struct cmsghdr *rights = length > 0 ? CMSG_FIRSTHDR(&header) : NULL;
	int descriptor;

	if (rights == NULL || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS ||
	    rights->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&descriptor, CMSG_DATA(rights), sizeof(descriptor));
	if (length == (ssize_t)sizeof(*piece))
		return descriptor;
	close(descriptor);
	return -1;
}

/* Returns CUDA's code. */
static int map_piece(const struct mam_real_driver *driver, struct target *target, int descriptor,
		     size_t bytes)
{
	__typeof__(&cuMemMap) map = MAM_TABLE_ORIGINAL(cuMemMap);
	__typeof__(&cuMemRelease) release = MAM_TABLE_ORIGINAL(cuMemRelease);
	struct properties properties;
	unsigned long long handle;
	int answer;

	if (bytes > target->bytes - target->mapped)
		return MAM_CUDA_INVALID_VALUE;
	answer = driver->mem_import(&handle, (void *)(intptr_t)descriptor, POSIX_DESCRIPTOR);
	if (answer != MAM_CUDA_SUCCESS)
		return answer;
	if (driver->mem_properties != NULL &&
	    driver->mem_properties(&properties, handle) == MAM_CUDA_SUCCESS)
		target->device = properties.location.id;
	answer = map(target->base + target->mapped, bytes, 0, handle, 0);
	if (answer == MAM_CUDA_SUCCESS)
		target->mapped += bytes;
	release(handle);
	return answer;
}

/* Returns false also if the block is not live any more. */
static bool receive_place(int connection, struct mam_ipc_place *place)
{
	return recv(connection, place, sizeof(*place), 0) == (ssize_t)sizeof(*place) &&
	       place->bytes != 0 && place->offset <= place->mapped_bytes &&
	       place->bytes <= place->mapped_bytes - place->offset &&
	       place->pieces <= place->mapped_bytes;
}

static int receive_all(const struct mam_real_driver *driver, int connection, uint64_t pieces,
		       struct target *target)
{
	int answer = MAM_CUDA_SUCCESS, descriptor;
	struct mam_ipc_piece piece;

	for (uint64_t i = 0; i < pieces && answer == MAM_CUDA_SUCCESS; i++) {
		descriptor = receive(connection, &piece);
		if (descriptor < 0) {
			answer = MAM_CUDA_INVALID_VALUE;
			break;
		}
		answer = map_piece(driver, target, descriptor, piece.bytes);
		close(descriptor);
	}
	return answer == MAM_CUDA_SUCCESS && target->mapped != target->bytes
		       ? MAM_CUDA_INVALID_VALUE
		       : answer;
}

static bool can_reach(const struct mam_real_driver *driver, int device, int memory)
{
	int can = 0;

	return device == memory || memory < 0 || driver->can_access_peer == NULL ||
	       (driver->can_access_peer(&can, device, memory) == MAM_CUDA_SUCCESS && can);
}

static int give_access(const struct mam_real_driver *driver, const struct target *target)
{
	struct access access[DEVICES_MAX];
	int current, devices = 0, answer = driver->ctx_device(&current);
	size_t count = 0;

	if (answer != MAM_CUDA_SUCCESS)
		return answer;
	if (driver->device_count == NULL || driver->device_count(&devices) != MAM_CUDA_SUCCESS)
		devices = current + 1;
	for (int device = 0; device < devices && count < DEVICES_MAX; device++)
		if (device == current || can_reach(driver, device, target->device))
			access[count++] =
				(struct access){ { LOCATION_DEVICE, device }, ACCESS_READWRITE };
	return driver->mem_set_access(target->base, target->bytes, access, count);
}

static void undo(const struct mam_real_driver *driver, const struct target *target)
{
	__typeof__(&cuMemUnmap) unmap = MAM_TABLE_ORIGINAL(cuMemUnmap);

	if (target->mapped != 0)
		unmap(target->base, target->mapped);
	driver->mem_unreserve(target->base, target->bytes);
}

static bool is_possible(const struct mam_real_driver *driver)
{
	return driver != NULL && driver->mem_import != NULL && driver->mem_reserve != NULL &&
	       driver->mem_unreserve != NULL && driver->mem_set_access != NULL &&
	       driver->ctx_id != NULL && MAM_TABLE_ORIGINAL(cuMemMap) != NULL &&
	       MAM_TABLE_ORIGINAL(cuMemUnmap) != NULL && MAM_TABLE_ORIGINAL(cuMemRelease) != NULL;
}

static int open_from(const struct mam_real_driver *driver, int connection,
		     struct mam_ipc_opened *opened)
{
	struct target target = { .device = -1 };
	struct mam_ipc_place place;
	int answer;

	if (!receive_place(connection, &place))
		return MAM_CUDA_INVALID_VALUE;
	target.bytes = place.mapped_bytes;
	answer = driver->mem_reserve(&target.base, target.bytes, 0, 0, 0);
	if (answer != MAM_CUDA_SUCCESS)
		return answer;
	answer = receive_all(driver, connection, place.pieces, &target);
	if (answer == MAM_CUDA_SUCCESS)
		answer = give_access(driver, &target);
	if (answer != MAM_CUDA_SUCCESS) {
		undo(driver, &target);
		return answer;
	}
	opened->chunk = target.base;
	opened->address = target.base + place.offset;
	opened->bytes = place.bytes;
	opened->mapped_bytes = place.mapped_bytes;
	return MAM_CUDA_SUCCESS;
}

int mam_ipc_pieces_open(const struct mam_ipc_sender *sender, struct mam_ipc_opened *opened)
{
	const struct mam_real_driver *driver = mam_real_driver();
	int connection, answer;

	if (!is_possible(driver))
		return MAM_CUDA_NOT_SUPPORTED;
	answer = driver->ctx_current(&opened->context);
	if (answer == MAM_CUDA_SUCCESS)
		answer = driver->ctx_id(opened->context, &opened->context_id);
	if (answer != MAM_CUDA_SUCCESS)
		return answer;
	connection = connect_to(sender);
	if (connection < 0)
		return MAM_CUDA_INVALID_VALUE;
	answer = open_from(driver, connection, opened);
	close(connection);
	return answer;
}

/* Work of a context that has ended has ended, too. */
static int wait_for(const struct mam_real_driver *driver, const struct mam_ipc_opened *opened)
{
	unsigned long long id;
	void *popped;
	int answer;

	if (driver->ctx_id(opened->context, &id) != MAM_CUDA_SUCCESS || id != opened->context_id)
		return MAM_CUDA_SUCCESS;
	answer = driver->ctx_push(opened->context);
	if (answer != MAM_CUDA_SUCCESS)
		return answer;
	answer = mam_capture_wait(false);
	driver->ctx_pop(&popped);
	return answer;
}

int mam_ipc_pieces_close(const struct mam_ipc_opened *opened)
{
	const struct mam_real_driver *driver = mam_real_driver();
	const struct target target = { .base = opened->chunk,
				       .bytes = opened->mapped_bytes,
				       .mapped = opened->mapped_bytes };
	int answer = wait_for(driver, opened);

	if (answer == MAM_CUDA_SUCCESS)
		undo(driver, &target);
	return answer;
}
