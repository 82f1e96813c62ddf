/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_client.c - connects to the socket of a process for mam ctl, sends any bytes, and prints the
 * reply.
 *
 *   ctl_client SOCKET [TEXT]  without TEXT: send nothing, and wait until the connection ends
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char reply[4096], *slash;
	ssize_t got;

	slash = count > 1 ? strrchr(arguments[1], '/') : NULL;
	if (slash == NULL || number < 0)
		return 2;
	*slash = '\0'; /* an address is at most 107 bytes long */
	if (chdir(arguments[1]) != 0 || snprintf(address.sun_path, sizeof(address.sun_path), "%s",
						 slash + 1) >= (int)sizeof(address.sun_path))
		return 2;
	if (connect(number, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return 1;
	if (count > 2)
		send(number, arguments[2], strlen(arguments[2]), MSG_NOSIGNAL);
	while ((got = recv(number, reply, sizeof(reply), 0)) > 0)
		fwrite(reply, 1, (size_t)got, stdout);
	return 0;
}
