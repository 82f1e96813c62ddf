/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - see screen.h. It copies frames to the terminal, and passes keys on to the view.
 *
 * Colors are used for the text only, on the terminal's own background; headings and the selected
 * row are in reverse video. So the screen is readable on light and dark terminals, and without
 * colors: NO_COLOR, if it is not empty, or a terminal that has none.
 */
#include "top/screen.h"

#include "command.h"
#include "kit/message.h"

#ifdef MAM_HAVE_NCURSES
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top/clock.h"
#include "top/heap.h"
#include "top/nvml.h"
#include "top/view.h"

#define REPLY_MS 20  /* between looks for the list of blocks */
#define ESCAPE_MS 25 /* after Esc, for the rest of the sequence of a key */

static volatile sig_atomic_t is_ended;

static struct {
	struct frame frame;
	struct top_view view;
	struct top_rows rows;
	chtype attributes[FRAME_STYLES];
} screen;

static void end(int signal)
{
	(void)signal;
	is_ended = 1;
}

static void set_colors(void)
{
	static const struct {
		enum frame_style style;
		short color;
	} colors[] = { { FRAME_LIVE, COLOR_GREEN },
		       { FRAME_CACHED, COLOR_CYAN },
		       { FRAME_RETIRED, COLOR_MAGENTA },
		       { FRAME_ALERT, COLOR_RED } };
	const char *none = getenv("NO_COLOR");

	screen.attributes[FRAME_STRONG] = A_BOLD;
	screen.attributes[FRAME_HEADING] = A_REVERSE;
	screen.attributes[FRAME_SORTED] = A_REVERSE | A_BOLD | A_UNDERLINE;
	screen.attributes[FRAME_SELECTED] = A_REVERSE;
	screen.attributes[FRAME_ALERT] = A_BOLD;
	if ((none != NULL && none[0] != '\0') || !has_colors() || start_color() != OK ||
	    use_default_colors() != OK)
		return;
	for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++) {
		short pair = (short)(i + 1);

		if (init_pair(pair, colors[i].color, -1) == OK)
			screen.attributes[colors[i].style] |= COLOR_PAIR(pair);
	}
}

static bool open_screen(void)
{
	struct sigaction action = { .sa_handler = end };

	setlocale(LC_CTYPE, "");
	screen.frame.is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (!isatty(STDIN_FILENO)) {
		message_error("standard input is not a terminal; see 'mam top --plain'");
		return false;
	}
	if (newterm(NULL, stdout, stdin) == NULL) {
		const char *type = getenv("TERM");

		message_error("cannot use a terminal of type '%s'; see 'mam top --plain'",
			      type == NULL ? "" : type);
		return false;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	if (getenv("ESCDELAY") == NULL) /* which ncurses reads */
		set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	mouseinterval(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	set_colors();
	return true;
}

/* Runs of one style are written at once. */
static void show_frame(void)
{
	const struct frame *frame = &screen.frame;

	erase();
	for (int row = 0; row < frame->rows; row++) {
		const struct frame_cell *cells = &frame->cells[row * frame->columns];
		int style = -1;

		move(row, 0);
		for (int i = 0; i < frame->columns; i++) {
			if (cells[i].style != style)
				attrset(screen.attributes[cells[i].style]);
			style = cells[i].style;
			addstr(cells[i].text);
		}
	}
	attrset(A_NORMAL);
	refresh();
}

static bool draw(const struct top_model *model)
{
	top_rows_fini(&screen.rows);
	if (!top_rows_build(&screen.rows, model, &screen.view.order) ||
	    !frame_begin(&screen.frame, LINES, COLS))
		return false;
	top_view_follow(&screen.view, &screen.rows);
	top_draw(&screen.frame, &screen.view, model, &screen.rows);
	show_frame();
	return true;
}

/* The heap is that of the process that is shown. Returns true if there is something new. */
static bool poll_heap(const struct top_model *model)
{
	const struct top_place *at = &screen.view.place;
	const struct page_entry *shown = NULL;

	for (size_t i = 0; screen.view.screen == TOP_PROCESS && i < model->list.count; i++) {
		const struct page_entry *entry = &model->list.entries[i];

		if (entry->pid == at->pid && entry->start == at->start && entry->copy == at->copy)
			shown = entry;
	}
	top_heap_show(shown);
	return (!screen.view.is_paused || top_heap_is_busy()) && top_heap_poll(clock_ns());
}

static int key_of(int code)
{
	switch (code) {
	case KEY_UP: return TOP_KEY_UP;
	case KEY_DOWN: return TOP_KEY_DOWN;
	case KEY_PPAGE: return TOP_KEY_PAGE_UP;
	case KEY_NPAGE: return TOP_KEY_PAGE_DOWN;
	case KEY_HOME: return TOP_KEY_HOME;
	case KEY_END: return TOP_KEY_END;
	case KEY_ENTER:
	case '\r':
	case '\n': return TOP_KEY_ENTER;
	case 27: return TOP_KEY_ESCAPE;
	case KEY_BACKSPACE:
	case 8:
	case 127: return TOP_KEY_ERASE;
	default: return code > KEY_F0 && code <= KEY_F(12) ? TOP_KEY_F0 + code - KEY_F0 : code;
	}
}

static bool click(void)
{
	enum top_click kind = TOP_CLICK;
	MEVENT event;

	if (getmouse(&event) != OK)
		return true;
	if (event.bstate & BUTTON4_PRESSED)
		kind = TOP_WHEEL_UP;
	else if (event.bstate & BUTTON5_PRESSED)
		kind = TOP_WHEEL_DOWN;
	return top_view_click(&screen.view, &screen.rows, kind, event.y, event.x);
}

static bool handle(int code)
{
	if (code == ERR || code == KEY_RESIZE)
		return true;
	if (code == KEY_MOUSE)
		return click();
	return top_view_press(&screen.view, &screen.rows, key_of(code));
}

/* False: an error, which was reported. */
static bool sample(struct top_model *model)
{
	if (!top_model_sample(model, clock_ns()))
		return false;
	nvml_sample(model);
	return true;
}

/* Of a terminal that is gone, reading returns at once. */
static bool is_closed(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

static bool show(struct top_model *model, uint64_t interval_ms, uint64_t count)
{
	uint64_t next_ns = clock_ns() + interval_ms * 1000000, samples = 0;
	bool good = sample(model) && draw(model);

	while (good && !is_ended) {
		uint64_t now_ns = clock_ns();
		int code, wait_ms = (int)((next_ns - now_ns) / 1000000) + 1;

		if (now_ns >= next_ns) {
			next_ns = now_ns + interval_ms * 1000000;
			if (count != 0 && ++samples == count)
				break;
			good = (screen.view.is_paused || sample(model)) && draw(model);
			continue;
		}
		if (poll_heap(model))
			good = draw(model);
		timeout(top_heap_is_busy() && wait_ms > REPLY_MS ? REPLY_MS : wait_ms);
		code = getch();
		if ((code == ERR && is_closed()) || !handle(code))
			break;
		if (code != ERR)
			good = draw(model);
	}
	return good;
}

bool screen_is_built(void)
{
	return true;
}

int screen_run(struct top_model *model, uint64_t interval_ms, uint64_t count)
{
	bool good;

	if (!open_screen())
		return STATUS_BAD;
	model->list.is_quiet = true;
	top_view_init(&screen.view);
	good = show(model, interval_ms, count);
	endwin();
	top_rows_fini(&screen.rows);
	frame_fini(&screen.frame);
	return good ? STATUS_GOOD : STATUS_BAD;
}
#else
bool screen_is_built(void)
{
	return false;
}

int screen_run(struct top_model *model, uint64_t interval_ms, uint64_t count)
{
	(void)model;
	(void)interval_ms;
	(void)count;
	message_error(
		"mam was built without ncurses, which the screen needs; see 'mam top --plain'");
	return STATUS_BAD;
}
#endif
