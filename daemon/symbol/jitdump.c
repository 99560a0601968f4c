#include "daemon/symbol/jitdump.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/io.h"
#include "base/map.h"
#include "base/parse.h"
#include "daemon/symbol/jitcfi.h"
#include "daemon/symbol/segments.h"

#define MAGIC           0x4A695444u
#define MAGIC_SWAPPED   0x4454694Au
#define HEADER_BYTES    40u
#define ENTRIES_MAX     (2u << 20)
#define LINES_MAX       (4u << 20)
#define RULES_MAX       (2u << 20)
#define SPOILED         UINT32_MAX /* an owner: nobody knows whose memory it was when */
#define NAMES_MAX_BYTES ((size_t)64 << 20)
#define NAME_MAX_LEN    4096u
#define SLACK_NS        1000000000ull
#define ELF_HEAD_BYTES  0x40u

enum record_id {
	RECORD_LOAD,
	RECORD_MOVE,
	RECORD_DEBUG_INFO,
	RECORD_CLOSE,
	RECORD_UNWINDING,
};

struct prefix {
	uint32_t id, total_bytes;
	uint64_t t_ns;
};

struct load {
	uint32_t pid, tid;
	uint64_t vma, addr, bytes, index;
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, old_addr, new_addr, bytes, index;
};

struct debug_info {
	uint64_t addr, count;
};

/* Before .eh_frame and, behind that, .eh_frame_hdr: bytes of both, of the latter, and in memory. */
struct unwinding {
	uint64_t bytes, hdr_bytes, mapped_bytes;
};

struct debug_entry {
	uint64_t addr;
	int32_t line, discriminator;
};

_Static_assert(sizeof(struct prefix) == 16, "layout");
_Static_assert(sizeof(struct load) == 40, "layout");
_Static_assert(sizeof(struct move) == 48, "layout");
_Static_assert(sizeof(struct debug_info) == 16, "layout");
_Static_assert(sizeof(struct debug_entry) == 16, "layout");
_Static_assert(sizeof(struct unwinding) == 24, "layout");

struct line {
	uint32_t offset; /* of its first byte in the code */
	uint32_t file, line;
};

struct entry {
	uint64_t t_ns, start, end;
	uint32_t name;
	uint32_t first_line, line_count;
	uint32_t first_rule, rule_count;
};

/* Invariant: entries are in the order of the file; ordered: that is the order of time too. */
struct jitdump {
	atomic_uint refs;
	struct entry *entries;
	uint32_t count, room;
	uint32_t *order; /* entries by time, when they are not in that order */
	uint32_t order_count;
	bool ordered, timeless, has_header, broken;
	struct line *lines;
	uint32_t line_count, line_room;
	struct jit_rule *rules;
	uint32_t rule_count, rule_room;
	struct segments
		*memory;  /* whose it is now; owner: entry, or SPOILED. NULL: no rules so far */
	uint32_t settled; /* so many entries are in it */
	bool settled_timeless;
	struct jitrules *settled_rules; /* as of then */
	struct strtab *names;
	struct map *by_index; /* code index -> entry */
	pid_t pid;
	uint64_t from_ns;
	uint64_t skip; /* bytes still to come of a record that is done with */
	/* Lines come before the load they belong to. */
	uint64_t pending_addr;
	uint32_t pending_first, pending_count;
	/* And so does an .eh_frame. */
	uint8_t *eh_frame; /* NULL: none */
	size_t eh_frame_bytes;
	struct jitdump_stats stats;
	off_t offset; /* of the file, read so far */
};

int jitdump_new(pid_t pid, uint64_t from_ns, struct jitdump **ret_dump)
{
	AUTO(jitdump_unref_auto) struct jitdump *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	atomic_init(&d->refs, 1);
	d->pid = pid;
	d->from_ns = from_ns;
	d->ordered = true;
	r = strtab_new(ENTRIES_MAX, NAMES_MAX_BYTES, &d->names);
	if (r == 0)
		r = map_new(64, &d->by_index);
	if (r < 0)
		return r;
	*ret_dump = MOVE(d);
	return 0;
}

struct jitdump *jitdump_ref(struct jitdump *d)
{
	atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
	return d;
}

void jitdump_unref(struct jitdump *d)
{
	/* The release of each holder pairs with the acquire of the last one, who frees. */
	if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(d->entries);
	free(d->lines);
	free(d->order);
	free(d->rules);
	free(d->eh_frame);
	segments_free(d->memory);
	jitrules_unref(d->settled_rules);
	strtab_free(d->names);
	map_free(d->by_index);
	free(d);
}

static int grow(void **array, uint32_t *room, uint32_t count, size_t each, uint32_t max)
{
	uint32_t want = *room ? *room * 2 : 256;
	void *more;

	if (count < *room)
		return 0;
	if (want > max)
		return -ENOSPC;
	more = realloc(*array, want * each);
	if (!more)
		return -ENOMEM;
	*array = more;
	*room = want;
	return 0;
}

static int add_entry(struct jitdump *d, const struct entry *e, uint64_t index)
{
	int r = grow((void **)&d->entries, &d->room, d->count, sizeof(*d->entries), ENTRIES_MAX);

	if (r == 0)
		r = map_set(d->by_index, index, d->count);
	if (r < 0)
		return r;
	if (d->count > 0 && d->entries[d->count - 1].t_ns > e->t_ns)
		d->ordered = false;
	d->entries[d->count++] = *e;
	return 0;
}

/* A record at hand: what of it is in memory. */
struct record {
	const uint8_t *at;
	size_t len;
	uint64_t t_ns;
};

static int add_rule(void *arg, const struct jit_rule *rule)
{
	struct jitdump *d = arg;
	int r = grow(
		(void **)&d->rules, &d->rule_room, d->rule_count, sizeof(*d->rules), RULES_MAX);

	if (r == 0)
		d->rules[d->rule_count++] = *rule;
	return r;
}

/* Over the cap the code is left without: half of its rules would be wrong ones. */
static int take_rules(struct jitdump *d, const uint8_t *eh_frame, struct entry *e)
{
	int r = 0;

	e->first_rule = d->rule_count;
	if (eh_frame)
		r = jitcfi_compile(
			eh_frame, d->eh_frame_bytes, e->start, e->end - e->start, add_rule, d);
	if (r < 0)
		d->rule_count = e->first_rule;
	d->stats.dropped += r == -ENOSPC;
	e->rule_count = d->rule_count - e->first_rule;
	return r == -ENOSPC ? 0 : r;
}

static int take_load(struct jitdump *d, const struct record *r)
{
	AUTO(free_auto) uint8_t *eh_frame = MOVE(d->eh_frame); /* of this load, or of none */
	struct load l;
	struct entry e = {.t_ns = r->t_ns};
	const char *name = (const char *)r->at + sizeof(l);
	size_t len;
	int error;

	memcpy(&l, r->at, sizeof(l));
	len = strnlen(name, r->len - sizeof(l));
	if (l.bytes == 0 || len == 0 || (len == r->len - sizeof(l) && len < NAME_MAX_LEN) ||
		__builtin_add_overflow(l.addr, l.bytes, &e.end)) {
		d->stats.junk++;
		return 0;
	}
	e.start = l.addr;
	if (d->pending_count && d->pending_addr == l.addr) {
		e.first_line = d->pending_first;
		e.line_count = d->pending_count;
	}
	d->pending_count = 0;
	error = take_rules(d, eh_frame, &e);
	if (error == 0)
		error = strtab_id(d->names, name, len < NAME_MAX_LEN ? len : NAME_MAX_LEN, &e.name);
	return error < 0 ? error : add_entry(d, &e, l.index);
}

static int take_move(struct jitdump *d, const struct record *r)
{
	struct move m;
	struct entry e;
	uint64_t from;

	memcpy(&m, r->at, sizeof(m));
	if (!map_get(d->by_index, m.index, &from) || m.bytes == 0) {
		d->stats.junk++;
		return 0;
	}
	e = d->entries[from];
	e.t_ns = r->t_ns;
	e.start = m.new_addr;
	if (__builtin_add_overflow(m.new_addr, m.bytes, &e.end)) {
		d->stats.junk++;
		return 0;
	}
	return add_entry(d, &e, m.index);
}

static int add_line(struct jitdump *d, uint64_t offset, const struct debug_entry *e, uint32_t file)
{
	int r;

	if (offset > UINT32_MAX)
		return 0;
	r = grow((void **)&d->lines, &d->line_room, d->line_count, sizeof(*d->lines), LINES_MAX);
	if (r == 0)
		d->lines[d->line_count++] = (struct line){.offset = (uint32_t)offset,
			.file = file,
			.line = e->line > 0 ? (uint32_t)e->line : 0};
	return r;
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* V8 writes whatever lies in memory for some names. */
static bool is_file_name(const char *name, size_t len)
{
	uint32_t code;

	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_char(name + i, len - i, &code);
		if (n == 0 || text_is_control(code))
			return false;
	}
	return len > 0;
}

/* V8 adds what the head of an ELF file takes, for perf's sake, and begins with the first byte. */
static void shift_back(struct jitdump *d, uint32_t first)
{
	if (first == d->line_count || d->lines[first].offset != ELF_HEAD_BYTES)
		return;
	for (uint32_t i = first; i < d->line_count; i++)
		d->lines[i].offset -= ELF_HEAD_BYTES;
}

/* The entries are as they come; a file name of one byte 0xff stands for the one before. */
static int read_lines(struct jitdump *d, const struct record *r, const struct debug_info *info)
{
	const uint8_t *at = r->at + sizeof(*info), *end = r->at + r->len;
	uint32_t file = 0;
	int error = 0;

	for (uint64_t i = 0; error == 0 && i < info->count; i++) {
		struct debug_entry e;
		const char *name = (const char *)at + sizeof(e);
		size_t len;

		if ((size_t)(end - at) <= sizeof(e))
			break;
		memcpy(&e, at, sizeof(e));
		len = strnlen(name, (size_t)(end - at) - sizeof(e));
		if (len == (size_t)(end - at) - sizeof(e))
			break;
		at += sizeof(e) + len + 1;
		if (len > 0 && !(len == 1 && (uint8_t)name[0] == 0xff))
			error = strtab_id(d->names, name,
				!is_file_name(name, len)     ? 0
					: len < NAME_MAX_LEN ? len
							     : NAME_MAX_LEN,
				&file);
		if (file == 0)
			e.line = 0;
		if (error == 0 && e.addr >= info->addr)
			error = add_line(d, e.addr - info->addr, &e, file);
	}
	return error;
}

static int take_lines(struct jitdump *d, const struct record *r)
{
	struct debug_info info;
	uint32_t first = d->line_count, count;
	int error;

	memcpy(&info, r->at, sizeof(info));
	d->pending_count = 0;
	error = read_lines(d, r, &info);
	count = d->line_count - first;
	if (error < 0 || count == 0)
		return error;
	qsort(d->lines + first, count, sizeof(*d->lines), compare_lines);
	shift_back(d, first);
	d->pending_addr = info.addr;
	d->pending_first = first;
	d->pending_count = count;
	return 0;
}

static void drop_eh_frame(struct jitdump *d)
{
	free(MOVE(d->eh_frame));
}

static int take_unwinding(struct jitdump *d, const struct record *r)
{
	struct unwinding u;

	drop_eh_frame(d);
	memcpy(&u, r->at, sizeof(u));
	if (u.bytes > r->len - sizeof(u) || u.hdr_bytes > u.bytes) {
		d->stats.junk++;
		return 0;
	}
	d->eh_frame_bytes = (size_t)(u.bytes - u.hdr_bytes);
	if (d->eh_frame_bytes == 0)
		return 0;
	d->eh_frame = malloc(d->eh_frame_bytes);
	if (!d->eh_frame)
		return -ENOMEM;
	memcpy(d->eh_frame, r->at + sizeof(u), d->eh_frame_bytes);
	return 0;
}

/* Bytes of a record that have to be there for it to be read; 0: none, it is passed over. */
static size_t needed(const struct prefix *p)
{
	size_t body = p->total_bytes - sizeof(*p), want;

	switch (p->id) {
	case RECORD_LOAD:
		want = sizeof(struct load) + 1;
		if (body < want)
			return 0;
		return body < sizeof(struct load) + NAME_MAX_LEN
			? body
			: sizeof(struct load) + NAME_MAX_LEN;
	case RECORD_MOVE: return body < sizeof(struct move) ? 0 : sizeof(struct move);
	case RECORD_DEBUG_INFO:
		want = sizeof(struct debug_info);
		return body < want || body > JITDUMP_RECORD_MAX - sizeof(*p) ? 0 : body;
	case RECORD_UNWINDING:
		want = sizeof(struct unwinding);
		return body < want || body > JITDUMP_RECORD_MAX - sizeof(*p) ? 0 : body;
	default: return 0;
	}
}

static int take_record(struct jitdump *d, const struct prefix *p, const struct record *r)
{
	int error;

	if (p->id > RECORD_UNWINDING || p->id == RECORD_CLOSE)
		return 0;
	d->stats.records++;
	if (r->len == 0) {
		drop_eh_frame(d);
		d->stats.junk++;
		return 0;
	}
	switch (p->id) {
	case RECORD_LOAD: error = take_load(d, r); break;
	case RECORD_MOVE: error = take_move(d, r); break;
	case RECORD_UNWINDING: error = take_unwinding(d, r); break;
	default: error = take_lines(d, r);
	}
	if (error == -ENOSPC) {
		d->stats.dropped++;
		error = 0;
	}
	return error;
}

static ssize_t take_header(struct jitdump *d, const uint8_t *at, size_t len)
{
	uint32_t words[6]; /* magic, version, bytes of the header, machine, -, pid */

	if (len < HEADER_BYTES)
		return 0;
	memcpy(words, at, sizeof(words));
	if (words[0] == MAGIC_SWAPPED)
		return -ENOTSUP;
	if (words[0] != MAGIC || words[2] < HEADER_BYTES || words[2] > 65536)
		return -EBADMSG;
	d->has_header = true;
	/* A fork goes on with the code, and the file, of its parent, which is older. */
	if (words[5] != (uint32_t)d->pid)
		d->from_ns = SLACK_NS + 1;
	d->skip = words[2] - HEADER_BYTES;
	return HEADER_BYTES;
}

/* Whatever the header says of its clock: the times tell. */
static void look_at_time(struct jitdump *d, const struct prefix *p, uint64_t now_ns)
{
	if (p->id > RECORD_MOVE)
		return;
	if (p->t_ns + SLACK_NS < d->from_ns || p->t_ns > now_ns + SLACK_NS)
		d->timeless = true;
}

/* One record, or as much of one as can be used. Returns its bytes here; 0: not all there. */
static ssize_t take_one(struct jitdump *d, const uint8_t *at, size_t len, uint64_t now_ns)
{
	struct prefix p;
	struct record r;
	size_t want;
	int error;

	if (!d->has_header)
		return take_header(d, at, len);
	if (len < sizeof(p))
		return 0;
	memcpy(&p, at, sizeof(p));
	if (p.total_bytes < sizeof(p))
		return -EBADMSG;
	want = needed(&p);
	if (len - sizeof(p) < want)
		return 0;
	look_at_time(d, &p, now_ns);
	r = (struct record){.at = at + sizeof(p), .len = want, .t_ns = p.t_ns};
	error = take_record(d, &p, &r);
	if (error < 0)
		return error;
	d->skip = p.total_bytes - sizeof(p) - want;
	return (ssize_t)(sizeof(p) + want);
}

ssize_t jitdump_feed(struct jitdump *d, const void *data, size_t len, uint64_t now_ns)
{
	const uint8_t *at = data, *end = at + len;
	ssize_t n = 1;

	while (at < end && !d->broken) {
		if (d->skip > 0) {
			uint64_t skip =
				d->skip < (uint64_t)(end - at) ? d->skip : (uint64_t)(end - at);
			d->skip -= skip;
			at += skip;
			continue;
		}
		n = take_one(d, at, (size_t)(end - at), now_ns);
		if (n <= 0)
			break;
		at += n;
	}
	if (n < 0 && n != -ENOMEM)
		d->broken = true;
	return n < 0 ? n : at - (const uint8_t *)data;
}

static ssize_t read_at(int fd, void *into, size_t len, off_t offset)
{
	ssize_t n;

	do
		n = pread(fd, into, len, offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int jitdump_read(struct jitdump *d, int fd)
{
	AUTO(free_auto) uint8_t *chunk = NULL;
	uint64_t now_ns = time_mono_ns();
	ssize_t n, used;

	if (d->broken)
		return -EBADMSG;
	chunk = malloc(JITDUMP_RECORD_MAX);
	if (!chunk)
		return -ENOMEM;
	for (;;) {
		if (d->skip > 0 && d->skip <= INT64_MAX - (uint64_t)d->offset) {
			d->offset += (off_t)d->skip;
			d->skip = 0;
		}
		n = read_at(fd, chunk, JITDUMP_RECORD_MAX, d->offset);
		if (n <= 0)
			return (int)n;
		used = jitdump_feed(d, chunk, (size_t)n, now_ns);
		if (used <= 0)
			return (int)used; /* half a record */
		d->offset += used;
	}
}

static int compare_times(const void *a, const void *b, void *arg)
{
	const struct entry *entries = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (entries[i].t_ns != entries[k].t_ns)
		return entries[i].t_ns < entries[k].t_ns ? -1 : 1;
	return (i > k) - (i < k);
}

/* The entries by time, where that is not the order of the file. */
static int put_in_order(struct jitdump *d)
{
	uint32_t *order;

	if (d->ordered || d->timeless || d->order_count == d->count)
		return 0;
	order = malloc(d->count * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->count; i++)
		order[i] = i;
	qsort_r(order, d->count, sizeof(*order), compare_times, d->entries);
	free(d->order);
	d->order = order;
	d->order_count = d->count;
	return 0;
}

int jitdump_history(struct jitdump *d, struct jithistory *h)
{
	int r = put_in_order(d);

	for (uint32_t i = 0; r == 0 && i < d->count; i++) {
		uint32_t k = d->ordered || d->timeless ? i : d->order[i];
		const struct entry *e = &d->entries[k];
		struct jit_code code = {.start = e->start,
			.end = e->end,
			.since_ns = d->timeless ? 0 : e->t_ns,
			.name = e->name,
			.entry = k};

		r = jithistory_add(h, &code, false);
	}
	return r;
}

/* ---- unwind rules ---- */

/* Without times nobody knows until when the memory was the one's and since when the other's. */
static uint32_t owner_of(const struct jitdump *d, uint32_t k)
{
	const struct entry *e = &d->entries[k];
	const struct segment *s = segments_at_or_above(d->memory, e->start);

	for (; s && s->start < e->end; s = segments_at_or_above(d->memory, s->end))
		if (d->timeless || s->owner == SPOILED || d->entries[s->owner].t_ns > e->t_ns)
			return SPOILED;
	return k;
}

static int settle(struct jitdump *d, uint32_t k)
{
	const struct entry *e = &d->entries[k];
	uint32_t owner = owner_of(d, k);
	int r = segments_erase(d->memory, e->start, e->end);

	return r < 0 ? r : segments_put(d->memory, e->start, e->end, owner);
}

static int settle_all(struct jitdump *d)
{
	int r;

	if (d->settled_timeless != d->timeless) {
		segments_free(MOVE(d->memory));
		d->settled = 0;
		d->settled_timeless = d->timeless;
	}
	r = d->memory ? 0 : segments_new(&d->memory);
	while (r == 0 && d->settled < d->count)
		r = settle(d, d->settled++);
	return r;
}

static uint32_t collect(const struct jitdump *d, struct jit_piece *pieces)
{
	const struct segment *s = segments_at_or_above(d->memory, 0);
	uint32_t n = 0;

	for (; s; s = segments_at_or_above(d->memory, s->end)) {
		const struct entry *e = s->owner == SPOILED ? NULL : &d->entries[s->owner];

		if (!e || e->rule_count == 0)
			continue;
		if (pieces)
			pieces[n] = (struct jit_piece){.start = s->start,
				.end = s->end,
				.origin = e->start,
				.since_ns = d->timeless ? 0 : e->t_ns,
				.first = e->first_rule,
				.count = e->rule_count};
		n++;
	}
	return n;
}

int jitdump_rules(struct jitdump *d, struct jitrules **ret_rules)
{
	AUTO(free_auto) struct jit_piece *pieces = NULL;
	uint32_t n;
	int r;

	if (d->rule_count == 0)
		return -ENOENT;
	if (d->settled == d->count && d->settled_timeless == d->timeless && d->settled_rules) {
		*ret_rules = jitrules_ref(d->settled_rules);
		return 0;
	}
	r = settle_all(d);
	if (r < 0)
		return r;
	n = collect(d, NULL);
	pieces = malloc((size_t)n * sizeof(*pieces) + 1);
	if (!pieces)
		return -ENOMEM;
	(void)collect(d, pieces);
	jitrules_unref(MOVE(d->settled_rules));
	r = jitrules_new(pieces, n, d->rules, d->rule_count, &d->settled_rules);
	if (r == 0)
		*ret_rules = jitrules_ref(d->settled_rules);
	return r;
}

/* ---- names ---- */

const char *jitdump_name(const struct jitdump *d, const struct jit_code *code)
{
	return strtab_get(d->names, code->name);
}

/* Of each line the first byte is known: the last one at or below offset is meant. */
static const struct line *line_at(const struct jitdump *d, const struct entry *e, uint64_t offset)
{
	uint32_t lo = 0, hi = e->line_count;
	const struct line *lines;

	if (hi == 0)
		return NULL;
	lines = d->lines + e->first_line;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (lines[mid].offset <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? &lines[lo - 1] : NULL;
}

void jitdump_line(const struct jitdump *d, const struct jit_code *code, uint64_t addr,
	const char **ret_file, uint32_t *ret_line)
{
	const struct entry *e = &d->entries[code->entry];
	const struct line *l = line_at(d, e, addr - e->start);

	*ret_file = l ? strtab_get(d->names, l->file) : "";
	*ret_line = l ? l->line : 0;
}

void jitdump_get_stats(const struct jitdump *d, struct jitdump_stats *ret_stats)
{
	*ret_stats = d->stats;
	ret_stats->timeless = d->timeless;
	ret_stats->bytes = sizeof(*d) + d->room * sizeof(*d->entries) +
		d->line_room * sizeof(*d->lines) + d->rule_room * sizeof(*d->rules) +
		(d->memory ? segments_bytes(d->memory) : 0) + d->order_count * sizeof(*d->order) +
		strtab_bytes(d->names) + map_bytes(d->by_index);
}
