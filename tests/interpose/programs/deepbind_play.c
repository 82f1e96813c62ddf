/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deepbind_play.c - makes a client (tests/clients, its main() renamed to client_main) a plugin for
 * deepbind_host.
 */
#include <stddef.h>

int client_main(int count, char **arguments);
int play(void);

int play(void)
{
	static char name[] = "plugin", option[] = "--rounds", rounds[] = "5";
	char *arguments[] = { name, option, rounds, NULL };

	return client_main(3, arguments);
}
