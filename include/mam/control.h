/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - requests to a running process: `mam ctl` sends them, the interposer replies; not installed.
 *
 *   socket   A Unix stream socket beside the process's statistics page (<mam/statpage.h>), whose name
 *            is that of the page with MAM_CONTROL_SUFFIX. It accepts connections of the user that
 *            started the process. A process without a page has no socket.
 *   request  One line per connection, at most MAM_CONTROL_REQUEST_MAX bytes with its newline:
 *              trim           release idle memory of all pools to the driver
 *              limit BYTES    change the limit of memory per device; 0: none
 *              dump           list the blocks of all pools
 *              stats          print the statistics as a table
 *              stats keys     print them as lines of key, tab, value
 *              trace PATH     start a trace in that file, an absolute path
 *              trace off      end it
 *              sites SECONDS  keep the call sites that hold most memory on the statistics page, for
 *                             that long from now on; 0: no longer
 *              suspend        hold the program and release its memory; contents are kept in host
 *                             memory, with an absolute PATH in a file in that folder, and with
 *                             "discard" not at all
 *              resume         the opposite
 *   reply    Lines of at most MAM_CONTROL_LINE_MAX bytes with their newline. The first is "working",
 *            sent at once. Then those of a dump or of statistics follow, or lines "waiting" and a
 *            text, while a suspend or resume is not finished. The last one is "done" with
 *            the numbers below, or "error" and a text. A reply without this line is incomplete.
 *              trim           done RELEASED RESERVED: bytes, of all pools together
 *              limit          done USED: bytes that count toward the limit, of the device with most
 *              trace PATH     done BLOCKS: count of the trace's first allocations, of earlier blocks
 *              trace off      done EVENTS: count
 *              suspend        done RELEASED LEFT: bytes; LEFT stay with the driver
 *              resume         done 0 0
 *              others         done
 *   dump     chunk DEVICE SOURCE ADDRESS BYTES     in no order, each before its blocks
 *            block ADDRESS BYTES REQUESTED [TAG]   by address; REQUESTED 0: freed, and
 *                                                  waiting for the GPU; TAG as in mam-trace.5,
 *                                                  or with --leaks the call site
 *            Numbers are decimal.
 */

/*
 * Turns: processes that mam share started connect to its socket (SOCK_SEQPACKET, MAM_SHARE), as soon
 * as they are held at their first CUDA call. A message is a text without a newline.
 *   process      join PROGRAM       the first; also asks for a turn
 *                want               asks for a turn: a thread is held
 *                done RELEASED LEFT, error TEXT    the reply to a request, as above
 *   mam share    resume, suspend [PATH]            as above; one at a time
 */
#ifndef MAM_CONTROL_H
#define MAM_CONTROL_H

#define MAM_CONTROL_SUFFIX ".ctl"
#define MAM_CONTROL_REQUEST_MAX 4104 /* "suspend ", the longest path and a newline */
#define MAM_CONTROL_LINE_MAX 512
#define MAM_CONTROL_TURN_WAIT 100 /* tenths of a second; then the turn goes on */

#endif
