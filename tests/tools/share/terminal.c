/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.c - runs a command on a terminal of its own, and types Ctrl-C (share.sh).
 *
 *   terminal COMMAND [ARGUMENT]...   Types a Ctrl-C for each line of stdin; returns the exit status of the
 *                                    command
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int become(const char *name, char **words)
{
	int terminal;

	setsid();
	signal(SIGINT, SIG_DFL);
	terminal = open(name, O_RDWR);
	if (terminal < 0 || ioctl(terminal, TIOCSCTTY, 0) != 0)
		return 2;
	dup2(terminal, STDIN_FILENO);
	execvp(words[0], words);
	return 2;
}

int main(int count, char **words)
{
	struct pollfd ready[2] = { { .fd = STDIN_FILENO, .events = POLLIN } };
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), status = 0;
	char text[256];
	pid_t child;

	if (count < 2 || terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0 ||
	    ptsname_r(terminal, text, sizeof(text)) != 0)
		return 2;
	child = fork();
	if (child == 0)
		_exit(become(text, words + 1));
	ready[1] = (struct pollfd){ .fd = terminal, .events = POLLIN };
	while (waitpid(child, &status, WNOHANG) == 0) {
		poll(ready, 2, 50);
		if (ready[0].revents != 0 && read(STDIN_FILENO, text, sizeof(text)) > 0)
			(void)!write(terminal, "\003", 1);
		else if (ready[0].revents != 0)
			ready[0].fd = -1;
		if ((ready[1].revents & POLLIN) != 0) /* the echo */
			(void)!read(terminal, text, sizeof(text));
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
