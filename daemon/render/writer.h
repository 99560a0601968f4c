/* What a format gives to render.c. */
#ifndef PFL_RENDER_WRITER_H
#define PFL_RENDER_WRITER_H

#include <stddef.h>
#include "daemon/render/render.h"

#define RENDER_PIECE_BYTES ((size_t)64 << 10)

struct writer {
	const char *name, *content_type, *extension;
	enum render_log log;
	bool series, by_thread; /* writes series (see series.h); those of threads, always */
	/* v outlives the state. svg is never NULL; its width is set. */
	int (*start)(const struct view *v, const struct svg_options *svg, void **ret_state);
	/* As render_more(): about RENDER_PIECE_BYTES more, 1 while there is more, 0 at the end. */
	int (*more)(void *state, struct buf *into);
	void (*end)(void *state);
};

extern const struct writer json_writer, folded_writer, svg_writer, text_writer, perfdata_writer,
	pprof_writer, speedscope_writer, firefox_writer, chrome_writer, html_writer,
	diff_text_writer;

#endif
