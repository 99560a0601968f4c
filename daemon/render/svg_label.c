#include "daemon/render/svg_label.h"

#include <string.h>

#include "daemon/render/render.h"

/* A stretch of a name, as offsets. */
struct part {
	size_t from, to;
};

static bool is_ident(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '_' || c == '$' || (c & 0x80);
}

/* The length of "operator" and its signs at p, 0 where there is none: those signs are no brackets.
 */
static size_t operator_len(const char *name, size_t at)
{
	static const char word[] = "operator";
	size_t n = at + sizeof(word) - 1;

	if (strncmp(name + at, word, sizeof(word) - 1) != 0 || (at > 0 && is_ident(name[at - 1])) ||
		is_ident(name[n]))
		return 0;
	if (name[n] == '(' && name[n + 1] == ')')
		return n + 2 - at;
	n += strspn(name + n, "<>=!-");
	return n - at;
}

/* Where the pieces of a function's name lie. */
struct outline {
	size_t start, end;  /* without return type and arguments */
	size_t last;        /* where the last component begins */
	size_t before_last; /* and the one before */
	size_t last_args;   /* template arguments of the last component; end where there are none */
};

static bool opens(char c)
{
	return c == '<' || c == '(' || c == '{' || c == '[';
}

static bool closes(const char *at)
{
	return (*at == '>' && at[-1] != '-') || *at == ')' || *at == '}' || *at == ']';
}

/* The outermost level of brackets alone tells pieces apart. What stands before a blank is a return
 * type if arguments follow, else the name is of some other kind and is left in one piece. */
static void outline_init(const char *name, struct outline *o)
{
	size_t len = strlen(name), skip;
	int depth = 0;

	*o = (struct outline){.end = len, .last_args = len};
	for (size_t i = 0; i < len; i++) {
		skip = depth == 0 ? operator_len(name, i) : 0;
		if (skip) {
			i += skip - 1;
		} else if (depth == 0 && name[i] == '(' && i > o->last && name[i - 1] != ' ') {
			o->end = i;
			break;
		} else if (opens(name[i])) {
			if (depth++ == 0 && name[i] == '<' && i > o->last)
				o->last_args = i;
		} else if (depth > 0) {
			depth -= closes(name + i);
		} else if (name[i] == ' ') {
			*o = (struct outline){i + 1, len, i + 1, i + 1, len};
		} else if (name[i] == ':' && name[i + 1] == ':') {
			o->before_last = o->last;
			o->last = i + 2;
			o->last_args = len;
			i++;
		}
	}
	if (o->last_args > o->end)
		o->last_args = o->end;
	if (o->end == len && o->start > 0)
		*o = (struct outline){0, len, 0, 0, len};
	/* "{closure#0}" alone says nothing. */
	else if (opens(name[o->last]) && name[o->last] != '<')
		o->last = o->before_last;
	if (o->last >= o->end)
		*o = (struct outline){0, len, 0, 0, len};
}

/* Two columns for what is usually drawn wide. */
static unsigned cell_width(unsigned char lead)
{
	return lead >= 0xe1 ? 2 : 1; /* from U+1000 on */
}

/* Walks XML text: one character, entity or not. Returns its bytes and its width. */
static size_t step(const char *xml, unsigned *ret_width)
{
	unsigned char c = (unsigned char)xml[0];
	size_t n = 1;

	*ret_width = 1;
	if (c == '&') {
		while (xml[n - 1] != ';' && xml[n])
			n++;
		return n;
	}
	if (c < 0x80)
		return 1;
	while (((unsigned char)xml[n] & 0xc0) == 0x80)
		n++;
	/* The mark of a byte that is no text, U+FFFD, is as narrow as a letter. */
	*ret_width = strncmp(xml, "\xef\xbf\xbd", 3) == 0 ? 1 : cell_width(c);
	return n;
}

static unsigned count_cells(const char *xml, size_t len)
{
	unsigned cells = 0, width;

	for (size_t i = 0; i < len; cells += width)
		i += step(xml + i, &width);
	return cells;
}

/* Appends the part if it fits. */
static bool put_whole(const char *name, struct part part, unsigned cells, struct buf *into)
{
	size_t at = into->len;

	/* Escaping never makes a text narrower than a third of its bytes. */
	if (part.to <= part.from || part.to - part.from > 4 * (size_t)cells)
		return false;
	render_xml_text(into, name + part.from, part.to - part.from);
	if (into->error || count_cells(into->data + at, into->len - at) <= cells)
		return true;
	into->len = at;
	into->data[at] = 0;
	return false;
}

static void put_cut(const char *name, struct part part, unsigned cells, struct buf *into)
{
	size_t at = into->len, i = at, n;
	unsigned used = 0, width;

	if (part.to - part.from > 4 * (size_t)cells + 8)
		part.to = part.from + 4 * (size_t)cells + 8;
	render_xml_text(into, name + part.from, part.to - part.from);
	if (into->error)
		return;
	while (i < into->len) {
		n = step(into->data + i, &width);
		if (used + width > cells - 1)
			break;
		used += width;
		i += n;
	}
	into->len = i;
	into->data[i] = 0;
	buf_append_str(into, "…");
}

void svg_label(const char *name, bool code, unsigned cells, struct buf *into)
{
	struct part whole = {0, strlen(name)};
	struct outline o;

	if (cells < SVG_LABEL_MIN_CELLS || put_whole(name, whole, cells, into))
		return;
	if (!code) {
		put_cut(name, whole, cells, into);
		return;
	}
	outline_init(name, &o);
	if (put_whole(name, (struct part){o.start, o.end}, cells, into) ||
		put_whole(name, (struct part){o.last, o.end}, cells, into) ||
		put_whole(name, (struct part){o.last, o.last_args}, cells, into))
		return;
	put_cut(name, (struct part){o.last, o.end}, cells, into);
}
