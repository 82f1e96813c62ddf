/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn_client.c - takes turns as a process under mam share does, with a slow resume (share.sh).
 *
 *   turn_client RESUME_MS   takes one turn of at most 3 s, and prints its length in ms
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int count, char **arguments)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval turn_max = { .tv_sec = 3 };
	int number = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const char *option = getenv("MAM_SHARE"), *path = option ? strchr(option, ':') : NULL;
	char text[128];
	long began;

	if (count != 2 || path == NULL ||
	    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path + 1) >=
		    (int)sizeof(address.sun_path))
		return 2;
	snprintf(text, sizeof(text), "join %d", atoi(option));
	if (connect(number, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    send(number, text, strlen(text), MSG_NOSIGNAL) < 0 ||
	    recv(number, text, sizeof(text), 0) != 6 || memcmp(text, "resume", 6) != 0)
		return 1;
	usleep((useconds_t)atol(arguments[1]) * 1000);
	began = now_ms();
	send(number, "done 0 0", 8, MSG_NOSIGNAL);
	setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &turn_max, sizeof(turn_max));
	if (recv(number, text, sizeof(text), 0) > 0)
		send(number, "done 0 0", 8, MSG_NOSIGNAL);
	printf("%ld\n", now_ms() - began);
	return 0;
}
