#include "daemon/render/parts.h"

/* True: this one is complete. */
static bool put_one(struct parts *p, void *state, struct buf *into, size_t until)
{
	const struct part *part = &p->list[p->at];
	size_t count = part->count(state);

	if (!p->begun)
		buf_printf(into, "%s[", part->open);
	p->begun = true;
	for (; p->item < count; p->item++) {
		if (into->len >= until || into->error)
			return false;
		if (p->item > 0)
			buf_append_char(into, ',');
		part->put(state, p->item, into);
	}
	buf_append_char(into, ']');
	if (part->length)
		buf_printf(into, ",\"length\":%zu", count);
	if (part->close)
		buf_append_str(into, part->close);
	return true;
}

bool parts_put(struct parts *p, void *state, struct buf *into, size_t until)
{
	for (; p->at < p->count; p->at++) {
		if (!put_one(p, state, into, until))
			return false;
		p->begun = false;
		p->item = 0;
	}
	return true;
}
