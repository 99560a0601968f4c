#include "daemon/tree/foldedin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_BYTES ((size_t)4 << 20)

#define KNOWN 4096u /* a power of two */

struct level {
	size_t end; /* of the frame, in the line */
	uint32_t node;
};

/* Neighbours share most of their frames, as the lines are sorted where they come from: only what
 * differs from the line before is looked up. levels[0 .. depth) are of that line. */
struct reading {
	struct calltree *tree;
	uint32_t process, top;
	struct foldedin_stats stats;
	const char *before; /* the stack of the line before */
	size_t before_len;
	struct level *levels;
	struct known_name {
		uint32_t text, frame; /* text 0: free */
	} known[KNOWN];               /* of functions of programs, by the offset of their text */
	uint32_t depth, room;
	uint64_t total;
	struct buf *why;
};

static int refuse(struct reading *r, const char *what)
{
	buf_printf(r->why, "line %llu %s", (unsigned long long)r->stats.lines, what);
	return -EBADMSG;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Where the number at the end of the text begins, which is the end when there is none. */
static size_t number_at(const char *text, size_t len)
{
	size_t at = len;

	while (at > 0 && (is_digit(text[at - 1]) || text[at - 1] == '.'))
		at--;
	/* A number stands alone, and begins with a digit. */
	return at < len && is_digit(text[at]) &&
			(at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t')
		? at
		: len;
}

/* "12", or "12.75", which is rounded. */
static int count_of(struct reading *r, const char *text, size_t len, uint64_t *ret_count)
{
	const char *dot = memchr(text, '.', len);
	size_t digits = dot ? (size_t)(dot - text) : len;
	uint64_t count = 0;

	if (dot && memchr(dot + 1, '.', len - digits - 1))
		return refuse(r, "has no count at its end");
	for (size_t i = 0; i < digits; i++) {
		if (__builtin_mul_overflow(count, 10, &count) ||
			__builtin_add_overflow(count, (uint64_t)(text[i] - '0'), &count))
			return refuse(r, "has a count that is too large");
	}
	if (dot && len > digits + 1) {
		r->stats.fractions++;
		count += text[digits + 1] >= '5';
	}
	if (count > INT64_MAX - r->total)
		return refuse(r, "makes the sum of the counts too large");
	r->total += count;
	*ret_count = count;
	return 0;
}

/* Takes the kind off the name. */
static enum named_kind kind_of(const char *name, size_t *len)
{
	enum named_kind kind = NAMED_USER;

	if (*len <= 4 || name[*len - 4] != '_' || name[*len - 3] != '[' || name[*len - 1] != ']')
		return kind;
	switch (name[*len - 2]) {
	case 'k': kind = NAMED_KERNEL; break;
	case 'j': kind = NAMED_JIT; break;
	case 'i': kind = NAMED_INLINED; break;
	default: return kind;
	}
	*len -= 4;
	return kind;
}

/* "[unknown]", and what else has brackets around it, stands for no function. */
static uint32_t frame_of(struct reading *r, const char *name, size_t len)
{
	enum named_kind kind = kind_of(name, &len);
	struct known_name *known;
	int64_t text;

	if (len == 0)
		return calltree_special(r->tree, "[unknown]");
	text = calltree_text(r->tree, name, len);
	if (text < 0)
		return calltree_frame(r->tree, FRAME_NAMED, NAMED_USER, 0);
	if (kind != NAMED_USER)
		return calltree_frame(r->tree, FRAME_NAMED, kind, (uint64_t)text);
	known = &r->known[text & (KNOWN - 1)];
	if (known->text != (uint64_t)text) {
		known->text = (uint32_t)text;
		known->frame = name[0] == '[' && name[len - 1] == ']'
			? calltree_frame(r->tree, FRAME_SPECIAL, 0, (uint64_t)text)
			: calltree_frame(r->tree, FRAME_NAMED, kind, (uint64_t)text);
	}
	return known->frame;
}

/* How many frames are those of the line before. */
static uint32_t shared(const struct reading *r, const char *stack, size_t len)
{
	size_t most = len < r->before_len ? len : r->before_len, same = 0;
	uint32_t n = 0;

	while (same + 8 <= most && memcmp(stack + same, r->before + same, 8) == 0)
		same += 8;
	while (same < most && stack[same] == r->before[same])
		same++;
	/* Its end is a ';' in the line before, or the end of that. */
	while (n < r->depth && r->levels[n].end <= same &&
		(r->levels[n].end == len || stack[r->levels[n].end] == ';'))
		n++;
	return n;
}

static int add_level(struct reading *r, size_t end, uint32_t node)
{
	uint32_t room = r->room ? 2 * r->room : 64;
	struct level *levels;

	if (r->depth == FOLDEDIN_FRAMES_MAX)
		return refuse(r, "has more than 65536 frames");
	if (r->depth == r->room) {
		levels = realloc(r->levels, room * sizeof(*levels));
		if (!levels)
			return -ENOMEM;
		r->levels = levels;
		r->room = room;
	}
	r->levels[r->depth++] = (struct level){end, node};
	return 0;
}

/* The node of the stack; -ENOSPC: the tree has no room for it. */
static int descend(struct reading *r, const char *stack, size_t len, uint32_t *ret_node)
{
	uint32_t depth = shared(r, stack, len);
	uint32_t node = depth ? r->levels[depth - 1].node : r->top;
	size_t at = depth ? r->levels[depth - 1].end + 1 : 0;

	/* A name with a zero byte would become another one. */
	if (at < len && memchr(stack + at, 0, len - at))
		return refuse(r, "has a zero byte in it");
	r->depth = depth;
	while (at <= len) {
		const char *semicolon = memchr(stack + at, ';', len - at);
		size_t end = semicolon ? (size_t)(semicolon - stack) : len;
		int e;

		e = calltree_child(r->tree, node, frame_of(r, stack + at, end - at), &node);
		if (e == 0)
			e = add_level(r, end, node);
		if (e < 0)
			return e;
		at = end + 1;
	}
	*ret_node = node;
	return 0;
}

static int read_line(struct reading *r, const char *line, size_t len)
{
	size_t number, end;
	uint64_t count;
	uint32_t node;
	int e;

	r->stats.lines++;
	while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == ' ' || line[len - 1] == '\t'))
		len--;
	if (len == 0)
		return 0;
	number = end = number_at(line, len);
	if (number == len)
		return refuse(r, "has no count at its end");
	while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t'))
		end--;
	if (end == 0)
		return refuse(r, "has a count and no stack");
	e = count_of(r, line + number, len - number, &count);
	if (e < 0)
		return e;
	r->stats.stacks++;
	r->stats.two_numbers += number_at(line, end) < end;
	e = descend(r, line, end, &node);
	if (e == -ENOSPC)
		node = calltree_dropped(r->tree, r->process);
	else if (e < 0)
		return e;
	r->before = line;
	r->before_len = end;
	calltree_book(r->tree, node, 0, count, count);
	return 0;
}

static int read_lines(
	struct reading *r, const char *text, size_t len, foldedin_progress_fn progress, void *arg)
{
	size_t at = 0, told = 0;
	int e = 0;

	while (e == 0 && at < len) {
		const char *line = text + at;
		const char *newline = memchr(line, '\n', len - at);
		size_t bytes = newline ? (size_t)(newline - line) : len - at;

		e = read_line(r, line, bytes);
		at += bytes + 1;
		if (e == 0 && at - told >= PROGRESS_BYTES) {
			told = at;
			/* The line before is still compared with. */
			if (!progress(arg, (size_t)(line - text)))
				e = -ECANCELED;
		}
	}
	return e;
}

int foldedin_read(const char *text, size_t len, struct calltree *t, uint32_t process,
	foldedin_progress_fn progress, void *arg, struct foldedin_stats *ret_stats, struct buf *why)
{
	AUTO(free_auto) struct reading *r = calloc(1, sizeof(*r));
	int e = r ? 0 : -ENOMEM;

	if (e < 0)
		return e;
	r->tree = t;
	r->process = process;
	r->why = why;
	e = calltree_top(t, process, &r->top);
	if (e == 0)
		e = read_lines(r, text, len, progress, arg);
	free(r->levels);
	*ret_stats = r->stats;
	return e;
}
