/* The whole terminal for a live view. What is said on stderr meanwhile comes when it is closed.
 * However the program ends, the terminal is put back: by a signal, and over a stop and continue
 * too. */
#ifndef PFL_CLI_SCREEN_H
#define PFL_CLI_SCREEN_H

#include <stdbool.h>
#include "base/buf.h"

/* Of the terminal on stdout, else of COLUMNS and LINES, else 80 and 24. */
void screen_size(unsigned *ret_width, unsigned *ret_height);

/* There is one at a time. 0, or a negative errno: no terminal. */
int screen_open(void);
void screen_close(void);
/* Lines that end in \n, from the top; what they leave free is blank. */
void screen_show(const struct buf *lines);

enum screen_key {
	KEY_NONE,      /* the time is over */
	KEY_END = 256, /* a signal asks for the end: SIGINT, SIGTERM, SIGHUP, SIGQUIT */
	KEY_RESIZE,
	KEY_UP,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_ESCAPE,
	KEY_ENTER,
	KEY_BACKSPACE
};
/* A byte or a screen_key. */
int screen_key(int timeout_ms);
/* The signal that asked for the end; 0: none yet. Once screen_open() was called. */
int screen_ended_by(void);

#endif
