#include "daemon/symbol/modnames.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/io.h"
#include "base/log.h"
#include "base/map.h"
#include "daemon/cfi/table.h"
#include "daemon/symbol/debugfile.h"
#include "daemon/symbol/namestore.h"
#include "daemon/symbol/splitfiles.h"

#define BACKOFF_FIRST_NS 1000000000ull
#define BACKOFF_LAST_NS  (300 * 1000000000ull)
#define DEBUG_SEARCH_NS  (300 * 1000000000ull) /* a debug package may be installed meanwhile */
#define CUT_NS           (60 * 1000000000ull)  /* the machine may be less busy then */
#define PLAIN_BATCH      READER_ADDRS_MAX
#define INLINES_BATCH    16384 /* each batch walks the units that it touches anew */
#define INLINES_CUT      4096  /* when that many do not come back in time */
#define ENTRIES_MAX      4096
#define DEBUG_FDS_MAX    64

/* How much is asked of the reader: what killed it is left out for a while. */
enum effort {
	EFFORT_FULL,
	EFFORT_FILE, /* the file's own tables of symbols: no DWARF, no debug file, nothing packed */
	EFFORT_RAW,  /* as they are in the file */
	EFFORT_NONE, /* in back-off */
};

/* What is known of one module. busy: somebody is asking about it, so that it must stay. */
struct entry {
	uint32_t id;
	unsigned busy;
	uint64_t used; /* by the clock of uses */
	struct namestore *store;
	size_t counted_bytes;
	enum effort effort;
	uint64_t effort_until_ns, backoff_ns;
	uint64_t stale_ns; /* from when on the store is to be filled anew; 0: never */
	/* Under the lock of the reader. */
	bool looked_at, told_broken, told_mismatch, told_unreadable;
	struct reader_debuglink link;
	uint32_t own_flags; /* READER_FLAG_… of the file by itself */
	uint64_t debug_searched_ns;
	int debug_fd; /* -1: none */
	bool debug_by_id;
	char *debug_path;           /* of debug_fd */
	int alt_fd, package_fd;     /* -1: none */
	uint64_t parts_searched_ns; /* in vain */
	bool told_parts;
};

/* Two locks, reader before cache: a batch on its way does not keep others from what is cached. */
struct modnames {
	struct broker *broker;
	size_t max_bytes;
	pthread_mutex_t reader_lock;
	struct readerclient *reader;
	unsigned debug_fds;
	pthread_mutex_t cache_lock;
	struct map *entries; /* module id -> struct entry */
	size_t bytes;
	uint64_t clock;
	struct names_stats stats; /* hits, misses, evictions, debug_mismatches */
};

int modnames_new(struct broker *b, reader_spawn_fn spawn, void *arg, size_t cache_max_bytes,
	struct modnames **ret_names)
{
	AUTO(modnames_free_auto) struct modnames *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->broker = b;
	n->max_bytes = cache_max_bytes;
	pthread_mutex_init(&n->reader_lock, NULL);
	pthread_mutex_init(&n->cache_lock, NULL);
	r = map_new(64, &n->entries);
	if (r == 0)
		r = readerclient_new(spawn, arg, &n->reader);
	if (r < 0)
		return r;
	*ret_names = MOVE(n);
	return 0;
}

/* It is looked for again when the module is asked about again. */
static void drop_part(struct modnames *n, int *fd)
{
	if (*fd < 0)
		return;
	close(MOVE_FD(*fd));
	__atomic_sub_fetch(&n->debug_fds, 1, __ATOMIC_RELAXED);
}

static void drop_debug_file(struct modnames *n, struct entry *e)
{
	drop_part(n, &e->alt_fd);
	drop_part(n, &e->package_fd);
	if (e->debug_fd < 0)
		return;
	close(MOVE_FD(e->debug_fd));
	e->debug_searched_ns = 0;
	__atomic_sub_fetch(&n->debug_fds, 1, __ATOMIC_RELAXED);
}

static void entry_free(struct modnames *n, struct entry *e)
{
	drop_debug_file(n, e);
	namestore_unref(e->store);
	free(e->debug_path);
	free(e);
}

void modnames_free(struct modnames *n)
{
	uint64_t id, value;
	size_t at = 0;

	if (!n)
		return;
	while (n->entries && map_next(n->entries, &at, &id, &value))
		entry_free(n, (struct entry *)(uintptr_t)value);
	map_free(n->entries);
	readerclient_free(n->reader);
	pthread_mutex_destroy(&n->reader_lock);
	pthread_mutex_destroy(&n->cache_lock);
	free(n);
}

/* Cache lock held. */
static struct entry *least_recently_used(const struct modnames *n)
{
	struct entry *least = NULL;
	uint64_t id, value;
	size_t at = 0;

	while (map_next(n->entries, &at, &id, &value)) {
		struct entry *e = (struct entry *)(uintptr_t)value;
		if (e->busy == 0 && (!least || e->used < least->used))
			least = e;
	}
	return least;
}

static void trim(struct modnames *n)
{
	struct entry *e;

	while ((n->bytes > n->max_bytes || map_count(n->entries) > ENTRIES_MAX) &&
		(e = least_recently_used(n)) != NULL) {
		map_remove(n->entries, e->id, NULL);
		n->bytes -= e->counted_bytes;
		n->stats.evictions++;
		entry_free(n, e);
	}
}

static struct entry *entry_new(struct modnames *n, uint32_t id)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->id = id;
	e->debug_fd = e->alt_fd = e->package_fd = -1;
	if (namestore_new(&e->store) < 0 || map_set(n->entries, id, (uint64_t)(uintptr_t)e) < 0) {
		namestore_unref(e->store);
		free(e);
		return NULL;
	}
	return e;
}

/* What was left out after a death, or for want of time, is tried again when that is over; what was
 * found without it must not stand in the way. Cache lock held. */
static void restore(struct modnames *n, struct entry *e)
{
	uint64_t now = time_mono_ns();
	bool lowered = e->effort != EFFORT_FULL && now >= e->effort_until_ns;
	struct namestore *fresh;

	if (!lowered && (e->stale_ns == 0 || now < e->stale_ns))
		return;
	if (namestore_new(&fresh) < 0)
		return;
	namestore_unref(e->store);
	e->store = fresh;
	n->bytes -= e->counted_bytes;
	e->counted_bytes = 0;
	e->stale_ns = 0;
	if (lowered)
		e->effort = EFFORT_FULL;
}

/* The entry, busy, and a hold on its store. */
static struct entry *entry_get(struct modnames *n, uint32_t id, struct namestore **ret_store)
{
	struct entry *e = NULL;
	uint64_t value;

	pthread_mutex_lock(&n->cache_lock);
	if (map_get(n->entries, id, &value))
		e = (struct entry *)(uintptr_t)value;
	else
		e = entry_new(n, id);
	if (e) {
		restore(n, e);
		e->busy++;
		e->used = ++n->clock;
		*ret_store = namestore_ref(e->store);
	}
	pthread_mutex_unlock(&n->cache_lock);
	return e;
}

static void entry_put(struct modnames *n, struct entry *e)
{
	pthread_mutex_lock(&n->cache_lock);
	n->bytes -= e->counted_bytes;
	e->counted_bytes = namestore_bytes(e->store);
	n->bytes += e->counted_bytes;
	e->busy--;
	trim(n);
	pthread_mutex_unlock(&n->cache_lock);
}

/* Those of vaddrs that are not in the store. */
static uint32_t find_missing(struct modnames *n, struct namestore *s, enum names_want want,
	const uint64_t *vaddrs, uint32_t count, uint64_t *missing)
{
	uint32_t k = 0;

	pthread_mutex_lock(&n->cache_lock);
	for (uint32_t i = 0; i < count; i++)
		if (!namestore_has(s, want, vaddrs[i]))
			missing[k++] = vaddrs[i];
	pthread_mutex_unlock(&n->cache_lock);
	return k;
}

static void count_lookups(struct modnames *n, uint32_t hits, uint32_t misses)
{
	pthread_mutex_lock(&n->cache_lock);
	n->stats.hits += hits;
	n->stats.misses += misses;
	pthread_mutex_unlock(&n->cache_lock);
}

/* A death costs an effort; the last one costs a pause that doubles. */
static enum effort lower_effort(struct modnames *n, struct entry *e, enum effort to)
{
	pthread_mutex_lock(&n->cache_lock);
	if (e->effort == EFFORT_FULL) {
		e->backoff_ns = e->backoff_ns ? e->backoff_ns * 2 : BACKOFF_FIRST_NS;
		if (e->backoff_ns > BACKOFF_LAST_NS)
			e->backoff_ns = BACKOFF_LAST_NS;
	}
	e->effort = to;
	e->effort_until_ns = time_mono_ns() + e->backoff_ns;
	pthread_mutex_unlock(&n->cache_lock);
	return to;
}

static enum effort effort_of(struct modnames *n, struct entry *e)
{
	enum effort effort;

	pthread_mutex_lock(&n->cache_lock);
	effort = e->effort;
	pthread_mutex_unlock(&n->cache_lock);
	return effort;
}

struct debug_trial {
	struct modnames *n;
	struct module *m;
	struct entry *e;
	int error;
};

static void refuse_debug_file(
	struct debug_trial *t, const char *path, const struct reader_result *why)
{
	bool mismatch = why->status == 0;

	pthread_mutex_lock(&t->n->cache_lock);
	t->n->stats.debug_mismatches += mismatch;
	pthread_mutex_unlock(&t->n->cache_lock);
	if (!t->e->told_mismatch)
		log_warning("%s: debug file %s not used: %s", t->m->path, path,
			mismatch ? "it is of another build" : strerror(-why->status));
	t->e->told_mismatch = true;
}

/* Does this debug file belong to the module? The reader says. */
static bool try_debug_file(int fd, const char *path, void *arg)
{
	struct debug_trial *t = arg;
	struct reader_debuglink link;
	struct reader_result answer;
	int r = readerclient_debuglink(t->n->reader, t->m->fd, fd, &link, &answer);

	if (r == 0 && answer.status == 0 && !(answer.flags & READER_FLAG_DEBUG_MISMATCH)) {
		t->e->debug_fd = fd;
		t->e->debug_by_id = debugfile_is_by_id(path);
		free(t->e->debug_path);
		t->e->debug_path = strdup(path);
		memcpy(t->e->link.alt_id, link.alt_id, sizeof(link.alt_id));
		t->e->link.alt_id_bytes = link.alt_id_bytes;
		memcpy(t->e->link.alt_name, link.alt_name, sizeof(link.alt_name));
		__atomic_add_fetch(&t->n->debug_fds, 1, __ATOMIC_RELAXED);
		log_debug("%s: debug file %s", t->m->path, path);
		return true;
	}
	close(fd);
	if (r == 0)
		refuse_debug_file(t, path, &answer);
	t->error = r;
	return r < 0; /* a reader that died, or none: enough of this */
}

/* Reader lock held. What the file has by itself, once. */
static int look_at(struct modnames *n, struct module *m, struct entry *e)
{
	struct reader_result answer;
	int r;

	if (e->looked_at)
		return 0;
	r = readerclient_debuglink(n->reader, m->fd, -1, &e->link, &answer);
	if (r < 0)
		return r;
	if (answer.status < 0)
		memset(&e->link, 0, sizeof(e->link)); /* the question for names will say why */
	e->own_flags = answer.flags;
	e->looked_at = true;
	return 0;
}

/* Reader lock held. One descriptor less, of an entry that nobody is asking about. */
static void close_a_debug_file(struct modnames *n)
{
	struct entry *least = NULL;
	uint64_t id, value;
	size_t at = 0;

	pthread_mutex_lock(&n->cache_lock);
	while (map_next(n->entries, &at, &id, &value)) {
		struct entry *e = (struct entry *)(uintptr_t)value;
		if (e->busy == 0 && (e->debug_fd >= 0 || e->alt_fd >= 0 || e->package_fd >= 0) &&
			(!least || e->used < least->used))
			least = e;
	}
	if (least)
		drop_debug_file(n, least);
	pthread_mutex_unlock(&n->cache_lock);
}

static int find_debug_file(
	struct modnames *n, struct module *m, struct entry *e, enum names_want want)
{
	struct debug_trial t = {.n = n, .m = m, .e = e};
	uint64_t now = time_mono_ns();
	bool complete = (e->own_flags & READER_FLAG_HAS_SYMTAB) &&
		(want == NAMES_PLAIN || (e->own_flags & READER_FLAG_HAS_DWARF));

	if (complete || e->debug_fd >= 0 || m->is_vdso || !n->broker ||
		(e->debug_searched_ns && now - e->debug_searched_ns < DEBUG_SEARCH_NS))
		return 0;
	if (__atomic_load_n(&n->debug_fds, __ATOMIC_RELAXED) >= DEBUG_FDS_MAX)
		close_a_debug_file(n);
	e->debug_searched_ns = now;
	debugfile_search(n->broker, m, &e->link, try_debug_file, &t);
	return t.error;
}

static void tell_broken(struct module *m, struct entry *e, uint32_t flags)
{
	const char *what = flags & READER_FLAG_DAMAGED
		? "its table of sections is damaged; only exported functions have names"
		: flags & READER_FLAG_DWARF_BROKEN
		? "its debug sections cannot be read; names come from its symbols alone"
		: flags & READER_FLAG_DWARF_CUT ? "it has more debug information than can be read "
						  "in time; some inline frames are missing"
						: NULL;

	if (what && !e->told_broken)
		log_info("%s: %s", m->path, what);
	e->told_broken |= what != NULL;
}

/* Once for each file; the counters say how often. */
static void tell_unreadable(struct module *m, struct entry *e, const char *why)
{
	if (!e->told_unreadable)
		log_warning("%s: its names may be missing: %s", m->path, why);
	e->told_unreadable = true;
}

/* The path of the file with the DWARF. */
static const char *dwarf_path(const struct module *m, const struct entry *e)
{
	return e->debug_fd >= 0 && e->debug_path ? e->debug_path : m->path;
}

static struct reader_fds files_of(const struct module *m, const struct entry *e)
{
	return (struct reader_fds){.file = m->fd,
		.debug = e->debug_fd,
		.alt = e->alt_fd,
		.split = e->package_fd,
		.split_is_package = true};
}

static void keep_part(struct modnames *n, int *to, int fd)
{
	if (__atomic_load_n(&n->debug_fds, __ATOMIC_RELAXED) >= DEBUG_FDS_MAX)
		close_a_debug_file(n);
	*to = fd;
	__atomic_add_fetch(&n->debug_fds, 1, __ATOMIC_RELAXED);
}

/* The common file, if there is one of the right build. -EIO: the reader died. */
static int find_common(struct modnames *n, struct module *m, struct entry *e)
{
	for (unsigned i = 0;; i++) {
		struct reader_debuglink link;
		struct reader_result answer;
		int r, fd = splitfiles_common(n->broker, m, dwarf_path(m, e), &e->link, i);

		if (fd == -ENODATA)
			return 0;
		if (fd < 0)
			continue;
		r = readerclient_debuglink(n->reader, fd, -1, &link, &answer);
		if (r == 0 && answer.status == 0 && link.build_id_bytes == e->link.alt_id_bytes &&
			memcmp(link.build_id, e->link.alt_id, link.build_id_bytes) == 0) {
			keep_part(n, &e->alt_fd, fd);
			return 0;
		}
		close(fd);
		if (r < 0)
			return r;
	}
}

/* The package, or else the files that these addresses want, the caller's to close. */
static int find_split(struct modnames *n, struct module *m, struct entry *e, const uint64_t *addrs,
	uint32_t count, int *ret_files)
{
	struct reader_fds files = files_of(m, e);
	struct reader_split_list list;
	struct reader_result answer;
	int r, fd = splitfiles_package(n->broker, m, dwarf_path(m, e));

	if (fd >= 0) {
		keep_part(n, &e->package_fd, fd);
		return 0;
	}
	r = readerclient_split(n->reader, &files, addrs, count, &list, &answer);
	if (r == 0 && answer.status == 0)
		*ret_files = splitfiles_gather(n->broker, m, dwarf_path(m, e), &list);
	reader_result_done(&answer);
	return r;
}

/* What the answer says is missing. *ret_files: see find_split(). 1: some of it was found. */
static int find_parts(struct modnames *n, struct module *m, struct entry *e, uint32_t flags,
	const uint64_t *addrs, uint32_t count, int *ret_files)
{
	uint64_t now = time_mono_ns();
	bool had_alt = e->alt_fd >= 0, had_package = e->package_fd >= 0;
	int r = 0;

	if (!n->broker || (e->parts_searched_ns && now - e->parts_searched_ns < DEBUG_SEARCH_NS))
		return 0;
	if ((flags & READER_FLAG_ALT) && !had_alt)
		r = find_common(n, m, e);
	if (r == 0 && (flags & READER_FLAG_SPLIT) && !had_package)
		r = find_split(n, m, e, addrs, count, ret_files);
	if (r < 0)
		return r;
	if (*ret_files >= 0 || (e->alt_fd >= 0) != had_alt || (e->package_fd >= 0) != had_package)
		return 1;
	e->parts_searched_ns = now;
	if (!e->told_parts)
		log_info("%s: a part of its debug information is in files that were not found; "
			 "some inline frames are missing",
			m->path);
	e->told_parts = true;
	return 0;
}

/* With inline frames; when parts of the DWARF turn out to be elsewhere, once more with them. */
static int ask_inlines(struct modnames *n, struct module *m, struct entry *e, const uint64_t *addrs,
	uint32_t count, struct reader_result *ret)
{
	AUTO(close_auto) int split = -1;
	struct reader_fds files = files_of(m, e);
	int r = readerclient_names(n->reader, READER_INLINES, 0, &files, addrs, count, ret);

	if (r < 0 || ret->status < 0 || !(ret->flags & (READER_FLAG_SPLIT | READER_FLAG_ALT)))
		return r;
	r = find_parts(n, m, e, ret->flags, addrs, count, &split);
	if (r == 0)
		return 0;
	reader_result_done(ret);
	if (r < 0)
		return r;
	files = files_of(m, e);
	if (split >= 0) {
		files.split = split;
		files.split_is_package = false;
	}
	return readerclient_names(n->reader, READER_INLINES, 0, &files, addrs, count, ret);
}

/* One question at one effort. 0, -EIO: the reader died; others: no reader, or it refused the file.
 */
static int ask_once(struct modnames *n, struct module *m, struct entry *e, enum effort effort,
	enum names_want want, const uint64_t *addrs, uint32_t count, struct reader_result *ret)
{
	bool full = effort == EFFORT_FULL;
	int r = full ? look_at(n, m, e) : 0;

	if (r == 0 && full)
		r = find_debug_file(n, m, e, want);
	if (r < 0)
		return r;
	if (full && want == NAMES_INLINES) {
		r = ask_inlines(n, m, e, addrs, count, ret);
	} else {
		struct reader_fds files = {
			.file = m->fd, .debug = full ? e->debug_fd : -1, .alt = -1, .split = -1};

		r = readerclient_names(n->reader, READER_SYMBOLS,
			(effort == EFFORT_RAW ? READER_WITH_RAW_NAMES : 0) |
				(full ? 0 : READER_WITHOUT_PACKED),
			&files, addrs, count, ret);
	}
	if (r == 0)
		tell_broken(m, e, ret->flags);
	return r;
}

/* Asks with less and less until the reader survives it. */
static int ask_reader(struct modnames *n, struct module *m, struct entry *e, enum names_want want,
	const uint64_t *addrs, uint32_t count, struct reader_result *ret)
{
	enum effort effort = effort_of(n, e);
	int r = -EIO;

	for (; effort < EFFORT_NONE; effort = lower_effort(n, e, effort + 1)) {
		r = ask_once(n, m, e, effort, want, addrs, count, ret);
		if (r != -EIO)
			break;
		tell_unreadable(m, e, "the reader of symbols died over it");
	}
	if (effort >= EFFORT_NONE)
		return -EIO;
	if (r == 0 && ret->status < 0) {
		tell_unreadable(m, e, strerror(-ret->status));
		lower_effort(n, e, EFFORT_NONE);
		return -EIO;
	}
	return r;
}

/* Reader lock held. 1: not all of it came in time, and fewer may. */
static int fetch_batch(struct modnames *n, struct module *m, struct entry *e, struct namestore *s,
	enum names_want want, const uint64_t *addrs, uint32_t count)
{
	struct reader_result answer = {0};
	int r = ask_reader(n, m, e, want, addrs, count, &answer);

	if (r == 0 && (answer.flags & READER_FLAG_DWARF_CUT) && count > INLINES_CUT) {
		r = 1;
	} else if (r == 0) {
		pthread_mutex_lock(&n->cache_lock);
		r = namestore_add(s, want, addrs, count, &answer,
			e->debug_by_id ? NAME_FROM_BUILD_ID : NAME_FROM_DEBUGLINK);
		if (r == 0 && e->effort == EFFORT_FULL)
			e->backoff_ns = 0;
		if (answer.flags & READER_FLAG_DWARF_CUT)
			e->stale_ns = time_mono_ns() + CUT_NS;
		pthread_mutex_unlock(&n->cache_lock);
	}
	reader_result_done(&answer);
	return r;
}

static int fetch(struct modnames *n, struct module *m, struct entry *e, struct namestore *s,
	enum names_want want, const uint64_t *vaddrs, uint32_t count)
{
	AUTO(free_auto) uint64_t *missing = malloc(((size_t)count + 1) * sizeof(*missing));
	uint32_t batch = want == NAMES_INLINES ? INLINES_BATCH : PLAIN_BATCH, left;
	int r = 0;

	if (!missing)
		return -ENOMEM;
	left = find_missing(n, s, want, vaddrs, count, missing);
	count_lookups(n, count - left, left);
	if (left == 0)
		return 0;
	pthread_mutex_lock(&n->reader_lock);
	/* Somebody may have asked the same while we waited. */
	left = find_missing(n, s, want, vaddrs, count, missing);
	for (uint32_t at = 0; r == 0 && at < left;) {
		uint32_t count_now = left - at < batch ? left - at : batch;

		r = fetch_batch(n, m, e, s, want, missing + at, count_now);
		if (r == 0)
			at += count_now;
		else if (r == 1)
			r = 0, batch = INLINES_CUT;
	}
	pthread_mutex_unlock(&n->reader_lock);
	return r;
}

int modnames_of(struct modnames *n, struct module *m, const uint64_t *vaddrs, uint32_t count,
	enum names_want want, struct name_answer *ret_answer)
{
	AUTO(namestore_unref_auto) struct namestore *s = NULL;
	struct entry *e;
	int r = 0;

	memset(ret_answer, 0, sizeof(*ret_answer));
	e = entry_get(n, m->id, &s);
	if (!e)
		return -ENOMEM;
	if (m->fd >= 0 && m->error == 0)
		r = fetch(n, m, e, s, want, vaddrs, count);
	if (r == 0) {
		pthread_mutex_lock(&n->cache_lock);
		r = namestore_answer(s, want, vaddrs, count, ret_answer);
		pthread_mutex_unlock(&n->cache_lock);
	}
	entry_put(n, e);
	return r;
}

/* Reader lock held. */
static int ask_for_rules(struct modnames *n, struct module *m, int debug_fd,
	struct cfi_table **ret_table, bool *ret_gaps)
{
	struct reader_result answer = {0};
	int r = readerclient_unwind(n->reader, m->fd, debug_fd, ret_table, &answer);

	if (r == 0)
		r = answer.status;
	*ret_gaps = answer.flags & READER_FLAG_GAPS;
	reader_result_done(&answer);
	return r;
}

static void drop_table(struct cfi_table *t)
{
	munmap((void *)(uintptr_t)t->map, t->bytes);
	free(t);
}

/* Reader lock held. The rules together with those of the debug file, if there is one. */
static int ask_again_for_rules(
	struct modnames *n, struct module *m, struct entry *e, struct cfi_table **ret_table)
{
	bool gaps;
	int r = look_at(n, m, e);

	if (r == 0)
		r = find_debug_file(n, m, e, NAMES_INLINES);
	if (r == 0)
		r = e->debug_fd < 0 ? -ENODATA : ask_for_rules(n, m, e->debug_fd, ret_table, &gaps);
	return r;
}

int modnames_unwind_table(
	struct modnames *n, struct module *m, struct cfi_table **ret_table, bool *ret_keep)
{
	AUTO(namestore_unref_auto) struct namestore *s = NULL;
	struct cfi_table *more = NULL;
	struct entry *e;
	bool gaps;
	int r;

	pthread_mutex_lock(&n->reader_lock);
	r = ask_for_rules(n, m, -1, ret_table, &gaps);
	*ret_keep = !gaps;
	e = gaps ? entry_get(n, m->id, &s) : NULL;
	if (e) {
		if (ask_again_for_rules(n, m, e, &more) == 0) {
			if (r == 0)
				drop_table(*ret_table);
			*ret_table = more;
			r = 0;
		}
		entry_put(n, e);
	}
	pthread_mutex_unlock(&n->reader_lock);
	return r;
}

void modnames_get_stats(struct modnames *n, struct names_stats *stats)
{
	struct readerclient_stats reader;
	uint64_t id, value, now = time_mono_ns();
	size_t at = 0;

	readerclient_get_stats(n->reader, &reader);
	stats->reader_requests = reader.requests;
	stats->reader_deaths = reader.deaths;
	stats->reader_refusals = reader.refusals;
	stats->reader_pid = reader.pid;
	pthread_mutex_lock(&n->cache_lock);
	stats->hits += n->stats.hits;
	stats->misses += n->stats.misses;
	stats->evictions += n->stats.evictions;
	stats->debug_mismatches += n->stats.debug_mismatches;
	stats->cache_bytes += n->bytes;
	while (map_next(n->entries, &at, &id, &value)) {
		const struct entry *e = (const struct entry *)(uintptr_t)value;
		stats->unreadable_modules += e->effort == EFFORT_NONE && now < e->effort_until_ns;
	}
	pthread_mutex_unlock(&n->cache_lock);
}
