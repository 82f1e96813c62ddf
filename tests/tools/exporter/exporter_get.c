/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client for exporter.sh: sends its input to a server, and prints the response.
 *
 *	usage: exporter_get PATH | exporter_get ADDRESS PORT
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_path(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int client = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	return connect(client, (struct sockaddr *)&address, sizeof(address)) == 0 ? client : -1;
}

static int connect_port(const char *text, const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int client = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_port = htons((unsigned short)atoi(port));
	if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
		return -1;
	return connect(client, (struct sockaddr *)&address, sizeof(address)) == 0 ? client : -1;
}

/* Copies all bytes. Returns false on an error. */
static int copy(int from, int to)
{
	char bytes[4096];
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)got) != got)
			return 0;
	return got == 0;
}

int main(int argc, char **argv)
{
	int client = argc == 2   ? connect_path(argv[1])
		     : argc == 3 ? connect_port(argv[1], argv[2])
				 : -1;

	if (client < 0 || !copy(STDIN_FILENO, client) || shutdown(client, SHUT_WR) != 0)
		return 1;
	return copy(client, STDOUT_FILENO) ? 0 : 1;
}
