/* Folded stacks of any bytes, in one piece and line by line: the trees must be the same. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/tree/foldedin.h"

#define NODES_MAX 64 /* small, so that trees are full now and then */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool go_on(void *arg, size_t at)
{
	return true;
}

static struct calltree *new_tree(void)
{
	struct calltree_options o = {.max_nodes = NODES_MAX, .event_count = 1};
	struct calltree *t;
	uint32_t top;

	if (calltree_new(&o, &t) < 0 || calltree_process(t, 0, 0) != 0 ||
		calltree_top(t, 0, &top) < 0)
		abort();
	return t;
}

static int read_piece(struct calltree *t, const char *text, size_t len, struct buf *why)
{
	struct foldedin_stats st = {0};
	int r = foldedin_read(text, len, t, 0, go_on, NULL, &st, why);

	if (st.stacks > st.lines || (r < 0 && (r != -EBADMSG || !why->len)))
		abort();
	return r;
}

/* Nothing is known of the line before then, nor of the sum. */
static int read_lines(struct calltree *t, const char *text, size_t len)
{
	int r = 0;

	for (size_t at = 0, bytes; r == 0 && at < len; at += bytes + 1) {
		const char *newline = memchr(text + at, '\n', len - at);
		struct buf why = BUF_INIT;

		bytes = newline ? (size_t)(newline - text) - at : len - at;
		r = read_piece(t, text + at, bytes, &why);
		buf_done(&why);
	}
	return r;
}

static bool same(const struct profile *a, const struct profile *b)
{
	return a->node_count == b->node_count && a->frame_count == b->frame_count &&
		a->text_bytes == b->text_bytes && memcmp(a->text, b->text, a->text_bytes) == 0 &&
		memcmp(a->nodes, b->nodes, a->node_count * sizeof(*a->nodes)) == 0 &&
		memcmp(a->frames, b->frames, a->frame_count * sizeof(*a->frames)) == 0 &&
		memcmp(a->self_samples, b->self_samples,
			a->node_count * sizeof(*a->self_samples)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct calltree *whole = new_tree(), *lines = new_tree();
	struct profile *a, *b;
	struct buf why = BUF_INIT;
	int r = read_piece(whole, (const char *)data, size, &why);

	if (calltree_snapshot(whole, true, &a) < 0 || profile_check(a) < 0)
		abort();
	if (!why.len || !strstr(why.data, "the sum of")) {
		if (read_lines(lines, (const char *)data, size) != r)
			abort();
		if (calltree_snapshot(lines, true, &b) < 0 || !same(a, b))
			abort();
		profile_unref(b);
	}
	profile_unref(a);
	buf_done(&why);
	calltree_free(whole);
	calltree_free(lines);
	return 0;
}
