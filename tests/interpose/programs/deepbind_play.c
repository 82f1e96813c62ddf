/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deepbind_play.c - builds a client (tests/clients, with main() renamed to client_main) as a plugin
 * for deepbind_host.
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
