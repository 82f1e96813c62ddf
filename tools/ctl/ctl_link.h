/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_link.h - one request to a process, and its reply (<mam/control.h>). */
#ifndef TOOLS_CTL_LINK_H
#define TOOLS_CTL_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include <mam/control.h>

#include "page/page_list.h"

struct ctl_link {
	const struct page_entry *process;
	int number;           /* descriptor; -1: none */
	bool is_received;     /* the process works on the request */
	const char *accepted; /* a refusal that counts as an empty CTL_DONE; NULL: none */
	size_t at, length;    /* of the bytes that were received, but not returned */
	char bytes[4096];
	char line[MAM_CONTROL_LINE_MAX];
};

/*
 * ctl_link_open - connect to the process that has this page, and send the request. False: an error,
 * reported unless the process has no socket and `is_quiet`.
 */
bool ctl_link_open(struct ctl_link *link, const struct page_entry *process, const char *request,
		   bool is_quiet);

enum ctl_line {
	CTL_LINE,  /* link->line contains the next line of the reply */
	CTL_DONE,  /* it was the last line; link->line contains what follows "done" */
	CTL_FAILED /* reported: the process refused the request, or did not respond in time */
};
enum ctl_line ctl_link_read(struct ctl_link *link);

/* ctl_link_connect - connect a socket to the process of that page. Returns 0 or an error. */
int ctl_link_connect(int number, const char *page);

void ctl_link_close(struct ctl_link *link);

#endif
