#include "daemon/symbol/perfmap.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/io.h"
#include "base/parse.h"
#include "daemon/symbol/segments.h"

#define ENTRIES_MAX     (2u << 20)
#define NAMES_MAX_BYTES ((size_t)64 << 20)
#define FILE_MAX_BYTES  ((off_t)64 << 20)
#define NAME_MAX_LEN    4096
#define READ_BYTES      ((size_t)256 << 10)
#define TAIL_BYTES      64
#define STEPS_MAX       (256u << 20) /* pieces walked in all, against lines made to cost */
#define INSIDE_MAX      65536        /* entries that one line may enclose */

struct entry {
	uint64_t start, end;
	uint64_t since_ns; /* monotonic; 0: from the beginning */
	uint32_t name;
	bool around; /* what lies inside of it stayed */
};

struct perfmap {
	atomic_uint refs;
	struct entry *entries; /* by the owner of a segment */
	uint32_t count, room;
	struct segments *segments;
	struct strtab *names;
	struct segment *inside; /* of the line at hand; INSIDE_MAX */
	uint64_t steps;
	struct perfmap_stats stats;

	/* What was read, to know it again. tail: the last bytes before offset. */
	dev_t dev;
	ino_t inode;
	off_t offset, size;
	struct timespec mtime;
	uint64_t read_ns;  /* when, monotonic; 0: never */
	uint64_t since_ns; /* of the lines at hand */
	char tail[TAIL_BYTES];
	size_t tail_bytes;
	bool skipping; /* in a line too long to be one */
};

int perfmap_new(struct perfmap **ret_map)
{
	AUTO(perfmap_unref_auto) struct perfmap *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	atomic_init(&m->refs, 1);
	r = segments_new(&m->segments);
	if (r == 0)
		r = strtab_new(ENTRIES_MAX, NAMES_MAX_BYTES, &m->names);
	if (r < 0)
		return r;
	*ret_map = MOVE(m);
	return 0;
}

struct perfmap *perfmap_ref(struct perfmap *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}

void perfmap_unref(struct perfmap *m)
{
	/* The release of each holder pairs with the acquire of the last one, who frees. */
	if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(m->entries);
	free(m->inside);
	segments_free(m->segments);
	strtab_free(m->names);
	free(m);
}

static int add_entry(struct perfmap *m, const struct entry *e)
{
	if (m->count == m->room) {
		uint32_t room = m->room ? m->room * 2 : 256;
		struct entry *more;
		if (room > ENTRIES_MAX)
			return -ENOSPC;
		more = realloc(m->entries, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		m->entries = more;
		m->room = room;
	}
	m->entries[m->count++] = *e;
	return 0;
}

/* What a new line does to what is there. */
enum relation {
	RELATION_BESIDE,  /* encloses nothing but parts of wider ones */
	RELATION_AROUND,  /* encloses others, which stay */
	RELATION_INSTEAD, /* the memory was used anew */
	RELATION_DROP,    /* too much work */
};

/* Fills m->inside with the pieces that stay. */
static enum relation relate(struct perfmap *m, const struct entry *n, size_t *ret_inside)
{
	const struct segment *s = segments_at_or_above(m->segments, n->start);
	size_t k = 0;

	for (; s && s->start < n->end; s = segments_at_or_above(m->segments, s->end)) {
		const struct entry *o = &m->entries[s->owner];
		if (++m->steps > STEPS_MAX)
			return RELATION_DROP;
		bool same = o->start == n->start && o->end == n->end;
		if (same ? o->name == n->name : o->start <= n->start && o->end >= n->end)
			continue;
		if (o->start <= n->start || o->end > n->end)
			return RELATION_INSTEAD;
		if (k == INSIDE_MAX)
			return RELATION_DROP;
		if (!m->inside)
			m->inside = malloc(INSIDE_MAX * sizeof(*m->inside));
		if (!m->inside)
			return RELATION_DROP;
		m->inside[k++] = *s;
	}
	*ret_inside = k;
	return k ? RELATION_AROUND : RELATION_BESIDE;
}

static int put_between(struct perfmap *m, const struct entry *n, uint32_t owner, size_t inside)
{
	uint64_t at = n->start;
	int r = 0;

	for (size_t i = 0; r == 0 && i < inside; i++) {
		const struct segment *s = &m->inside[i];
		if (s->start > at)
			r = segments_put(m->segments, at, s->start, owner);
		if (r == 0)
			r = segments_put(m->segments, s->start, s->end, s->owner);
		at = s->end;
	}
	if (r == 0 && at < n->end)
		r = segments_put(m->segments, at, n->end, owner);
	return r;
}

static bool is_known(const struct perfmap *m, const struct entry *n)
{
	const struct segment *s = segments_at_or_above(m->segments, n->start);
	const struct entry *o = s ? &m->entries[s->owner] : NULL;

	return o && s->start == n->start && s->end == n->end && o->start == n->start &&
		o->end == n->end && o->name == n->name;
}

static int take_entry(struct perfmap *m, struct entry *n)
{
	size_t inside = 0;
	enum relation relation;
	int r;

	if (is_known(m, n))
		return 0;
	relation = relate(m, n, &inside);
	if (relation == RELATION_DROP)
		return -ENOSPC;
	n->since_ns = m->since_ns;
	n->around = relation != RELATION_INSTEAD;
	r = add_entry(m, n);
	if (r < 0)
		return r;
	r = segments_erase(m->segments, n->start, n->end);
	if (r == 0)
		r = put_between(m, n, m->count - 1, relation == RELATION_AROUND ? inside : 0);
	return r;
}

/* A number up to the next blank; *at moves behind it. */
static bool take_hex(const char **at, const char *end, uint64_t *ret)
{
	const char *from = *at, *blank = memchr(from, ' ', (size_t)(end - from));

	if (!blank)
		return false;
	if (blank - from > 2 && from[0] == '0' && (from[1] == 'x' || from[1] == 'X'))
		from += 2;
	if (parse_hex(from, (size_t)(blank - from), ret) < 0)
		return false;
	*at = blank + 1;
	return true;
}

static int take_line(struct perfmap *m, const char *line, size_t len)
{
	const char *at = line, *end = line + len;
	uint64_t size = 0;
	struct entry e = {0};
	size_t name_len;
	int r;

	m->stats.lines++;
	if (!take_hex(&at, end, &e.start) || !take_hex(&at, end, &size) || at == end ||
		memchr(at, 0, (size_t)(end - at)) || size == 0 ||
		__builtin_add_overflow(e.start, size, &e.end)) {
		m->stats.junk++;
		return 0;
	}
	name_len = (size_t)(end - at);
	r = strtab_id(m->names, at, name_len < NAME_MAX_LEN ? name_len : NAME_MAX_LEN, &e.name);
	if (r == 0)
		r = take_entry(m, &e);
	if (r == -ENOSPC) {
		m->stats.dropped++;
		r = 0;
	}
	return r;
}

ssize_t perfmap_feed(struct perfmap *m, const char *text, size_t len)
{
	const char *at = text, *end = text + len, *stop;

	while (at < end && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		int r = m->skipping ? 0 : take_line(m, at, (size_t)(stop - at));
		if (r < 0)
			return r;
		m->skipping = false;
		at = stop + 1;
	}
	return at - text;
}

static ssize_t read_at(int fd, char *into, size_t len, off_t offset)
{
	ssize_t n;

	do
		n = pread(fd, into, len, offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* The file is the one we read before, and what we read is still in it. */
static bool is_continued(const struct perfmap *m, int fd, const struct stat *st)
{
	char tail[TAIL_BYTES];

	if (m->dev != st->st_dev || m->inode != st->st_ino || st->st_size < m->offset)
		return false;
	return read_at(fd, tail, m->tail_bytes, m->offset - (off_t)m->tail_bytes) ==
		(ssize_t)m->tail_bytes &&
		memcmp(tail, m->tail, m->tail_bytes) == 0;
}

static void remember_tail(struct perfmap *m, const char *end, size_t len)
{
	m->tail_bytes = len < TAIL_BYTES ? len : TAIL_BYTES;
	memcpy(m->tail, end - m->tail_bytes, m->tail_bytes);
}

static int read_rest(struct perfmap *m, int fd)
{
	AUTO(free_auto) char *chunk = malloc(READ_BYTES);

	if (!chunk)
		return -ENOMEM;
	while (m->offset < FILE_MAX_BYTES) {
		ssize_t n = read_at(fd, chunk, READ_BYTES, m->offset), used;
		if (n <= 0)
			return (int)n;
		used = perfmap_feed(m, chunk, (size_t)n);
		if (used < 0)
			return (int)used;
		if (used == 0 && n < (ssize_t)READ_BYTES)
			return 0; /* half a line */
		if (used == 0) {
			m->stats.junk += !m->skipping;
			m->skipping = true;
			used = n;
		}
		m->offset += used;
		remember_tail(m, chunk + used, (size_t)used);
	}
	return 0;
}

/* When what was written since the last reading was. */
static uint64_t time_of_change(const struct perfmap *m, const struct stat *st, uint64_t now_ns)
{
	int64_t age = (int64_t)time_wall_ns() -
		((int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec);
	uint64_t t = age < 0 ? now_ns : (uint64_t)age < now_ns ? now_ns - (uint64_t)age : 0;

	if (m->read_ns == 0)
		return 0;
	return t < m->read_ns ? m->read_ns : t;
}

int perfmap_read(struct perfmap *m, int fd)
{
	uint64_t now_ns = time_mono_ns();
	struct stat st;
	int r;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (m->dev == st.st_dev && m->inode == st.st_ino && m->size == st.st_size &&
		m->mtime.tv_sec == st.st_mtim.tv_sec && m->mtime.tv_nsec == st.st_mtim.tv_nsec) {
		m->read_ns = now_ns;
		return 0;
	}
	if (!is_continued(m, fd, &st)) {
		m->offset = 0;
		m->tail_bytes = 0;
		m->skipping = false;
	}
	m->dev = st.st_dev;
	m->inode = st.st_ino;
	m->size = st.st_size;
	m->mtime = st.st_mtim;
	m->since_ns = time_of_change(m, &st, now_ns);
	r = read_rest(m, fd);
	m->read_ns = now_ns;
	return r;
}

const char *perfmap_find(const struct perfmap *m, uint64_t addr, uint64_t *ret_start)
{
	const struct segment *s = segments_at_or_above(m->segments, addr);

	if (!s || s->start > addr)
		return NULL;
	*ret_start = m->entries[s->owner].start;
	return strtab_get(m->names, m->entries[s->owner].name);
}

int perfmap_history(const struct perfmap *m, struct jithistory *h)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < m->count; i++) {
		const struct entry *e = &m->entries[i];
		struct jit_code code = {.start = e->start,
			.end = e->end,
			.since_ns = e->since_ns,
			.name = e->name,
			.entry = i};

		r = jithistory_add(h, &code, e->around);
	}
	return r;
}

const char *perfmap_name(const struct perfmap *m, const struct jit_code *code)
{
	return strtab_get(m->names, code->name);
}

void perfmap_get_stats(const struct perfmap *m, struct perfmap_stats *ret_stats)
{
	*ret_stats = m->stats;
	ret_stats->bytes = sizeof(*m) + m->room * sizeof(*m->entries) +
		segments_bytes(m->segments) + strtab_bytes(m->names) +
		(m->inside ? INSIDE_MAX * sizeof(*m->inside) : 0);
}
