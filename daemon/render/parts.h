/* Arrays of JSON, one after the other, in pieces. */
#ifndef PFL_RENDER_PARTS_H
#define PFL_RENDER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"

/* Writes open, the elements in brackets, with length set ,"length":N, and close. */
struct part {
	const char *open;
	size_t (*count)(const void *state);
	/* Of element i; called for each once, in order. */
	void (*put)(void *state, size_t i, struct buf *into);
	bool length;
	const char *close; /* may be NULL */
};

struct parts {
	const struct part *list;
	unsigned count;
	unsigned at; /* of list */
	bool begun;  /* that one is open */
	size_t item; /* next of it */
};

#define PARTS(list_)                                                         \
	{                                                                    \
		.list = (list_), .count = sizeof(list_) / sizeof((list_)[0]) \
	}

/* Up to about until bytes in all. True: everything is written. */
bool parts_put(struct parts *p, void *state, struct buf *into, size_t until);

#endif
