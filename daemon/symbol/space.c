#include "daemon/symbol/space.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "base/io.h"
#include "daemon/proc/maps.h"
#include "daemon/symbol/modules.h"

#define RANGES_MAX     32768
#define MAPS_BYTES_MAX (64u << 20)
#define AGAIN_NS       UINT64_C(1000000000)

/* ranges are sorted by start and do not overlap. Sampler thread. */
struct space {
	struct modules *modules; /* outlives us */
	pid_t pid;
	uint64_t generation, code_generation;
	struct range *ranges;
	unsigned count, room;
	struct jitrules *jit; /* NULL: none */
	unsigned last;        /* index of the last hit: most look-ups repeat it */
};

int space_new(struct modules *ms, pid_t pid, struct space **ret_space)
{
	struct space *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->modules = ms;
	s->pid = pid;
	s->generation = s->code_generation = 1;
	*ret_space = s;
	return 0;
}

static void range_done(struct range *r)
{
	module_unref(r->module);
	free(r->path);
}

static void drop_ranges(struct space *s)
{
	for (unsigned i = 0; i < s->count; i++)
		range_done(&s->ranges[i]);
	s->count = 0;
}

void space_free(struct space *s)
{
	if (!s)
		return;
	drop_ranges(s);
	jitrules_unref(s->jit);
	free(s->ranges);
	free(s);
}

pid_t space_pid(const struct space *s)
{
	return s->pid;
}

size_t space_bytes(const struct space *s)
{
	size_t bytes = sizeof(*s) + s->room * sizeof(s->ranges[0]);

	for (unsigned i = 0; i < s->count; i++)
		bytes += strlen(s->ranges[i].path) + 1;
	return bytes;
}

uint64_t space_generation(const struct space *s)
{
	return s->generation;
}

uint64_t space_code_generation(const struct space *s)
{
	return s->code_generation;
}

void space_set_jit_take(struct space *s, struct jitrules *rules)
{
	jitrules_unref(s->jit);
	s->jit = rules;
}

const struct jitrules *space_jit(const struct space *s)
{
	return s->jit;
}

void space_clear(struct space *s)
{
	drop_ranges(s);
	space_set_jit_take(s, NULL);
	s->generation++;
	s->code_generation++;
}

static int make_room(struct space *s, unsigned more)
{
	unsigned room = s->room ? s->room : 16;
	struct range *ranges;

	if (s->count + more > RANGES_MAX)
		return -ENOSPC;
	while (room < s->count + more)
		room *= 2;
	if (room == s->room)
		return 0;
	ranges = realloc(s->ranges, room * sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	s->ranges = ranges;
	s->room = room;
	return 0;
}

int space_clone(const struct space *from, pid_t pid, struct space **ret_space)
{
	struct space *s;
	int error = space_new(from->modules, pid, &s);

	if (error < 0)
		return error;
	s->jit = jitrules_ref(from->jit);
	error = make_room(s, from->count);
	for (unsigned i = 0; error == 0 && i < from->count; i++) {
		s->ranges[i] = from->ranges[i];
		s->ranges[i].path = strdup(from->ranges[i].path);
		if (!s->ranges[i].path) {
			error = -ENOMEM;
			break;
		}
		module_ref(s->ranges[i].module);
		s->count++;
	}
	if (error < 0) {
		space_free(s);
		return error;
	}
	*ret_space = s;
	return 0;
}

/* The first range that ends above addr; count if there is none. */
static unsigned lower_bound(const struct space *s, uint64_t addr)
{
	unsigned low = 0, high = s->count;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;

		if (s->ranges[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct range *space_find(struct space *s, uint64_t addr)
{
	unsigned i = s->last;

	if (i >= s->count || addr < s->ranges[i].start || addr >= s->ranges[i].end) {
		i = lower_bound(s, addr);
		if (i == s->count || addr < s->ranges[i].start)
			return NULL;
		s->last = i;
	}
	return &s->ranges[i];
}

struct range *space_range(struct space *s, unsigned index)
{
	return index < s->count ? &s->ranges[index] : NULL;
}

/* Memory files hold JIT code as often as ELF files; their names are the kernel's. */
static bool is_memory_file(const char *path)
{
	static const char *const prefixes[] = {
		"/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage", "/dev/shm/"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static enum range_kind kind_of(uint64_t inode, const char *path)
{
	if (strcmp(path, "[vdso]") == 0)
		return RANGE_VDSO;
	if (inode != 0)
		return RANGE_FILE;
	if (path[0] == '\0' || strcmp(path, "//anon") == 0 || strncmp(path, "[anon", 5) == 0 ||
		strncmp(path, "[heap]", 6) == 0 || strncmp(path, "[stack", 6) == 0)
		return RANGE_ANON;
	return RANGE_OTHER;
}

/* True when the range says nothing that a known one does not. */
static bool is_known(struct space *s, uint64_t start, uint64_t end, uint64_t pgoff, dev_t dev,
	uint64_t inode, const char *path)
{
	const struct range *r = space_find(s, start);

	if (!r || end > r->end || r->inode != inode || r->dev != dev)
		return false;
	if (inode == 0)
		return kind_of(0, path) == r->kind && (r->kind != RANGE_VDSO || start == r->start);
	return pgoff == r->pgoff + (start - r->start) && strcmp(path, r->path) == 0;
}

static void remove_at(struct space *s, unsigned i)
{
	range_done(&s->ranges[i]);
	memmove(&s->ranges[i], &s->ranges[i + 1], (s->count - i - 1) * sizeof(s->ranges[0]));
	s->count--;
}

/* Splits ranges[i] at addr, which lies inside it. There is room for one more. */
static int split_at(struct space *s, unsigned i, uint64_t addr)
{
	char *path = strdup(s->ranges[i].path);
	struct range *r;

	if (!path)
		return -ENOMEM;
	memmove(&s->ranges[i + 1], &s->ranges[i], (s->count - i) * sizeof(s->ranges[0]));
	s->count++;
	r = &s->ranges[i + 1];
	r->pgoff += addr - r->start;
	r->start = addr;
	r->path = path;
	module_ref(r->module);
	s->ranges[i].end = addr;
	return 0;
}

/* Takes away whatever lies in [start, end). There is room for two more. */
static int cut_out(struct space *s, uint64_t start, uint64_t end)
{
	unsigned i = lower_bound(s, start);
	int error;

	if (i < s->count && s->ranges[i].start < start) {
		error = split_at(s, i, start);
		if (error < 0)
			return error;
		i++;
	}
	while (i < s->count && s->ranges[i].start < end) {
		if (s->ranges[i].end > end) {
			error = split_at(s, i, end);
			if (error < 0)
				return error;
		}
		if (s->ranges[i].module)
			s->code_generation++;
		remove_at(s, i);
	}
	return 0;
}

int space_map(struct space *s, uint64_t start, uint64_t end, uint64_t pgoff, dev_t dev,
	uint64_t inode, const char *path)
{
	AUTO(free_auto) char *own = NULL;
	struct range *r;
	unsigned i;
	int error;

	if (start >= end)
		return -EINVAL;
	if (is_known(s, start, end, pgoff, dev, inode, path))
		return 0;
	own = strdup(path);
	if (!own)
		return -ENOMEM;
	error = make_room(s, 3);
	if (error < 0)
		return error;
	s->generation++;
	error = cut_out(s, start, end);
	if (error < 0)
		return error;
	i = lower_bound(s, start);
	memmove(&s->ranges[i + 1], &s->ranges[i], (s->count - i) * sizeof(s->ranges[0]));
	s->count++;
	r = &s->ranges[i];
	*r = (struct range){.start = start,
		.end = end,
		.pgoff = pgoff,
		.dev = dev,
		.inode = inode,
		.kind = kind_of(inode, path),
		.path = MOVE(own)};
	return 0;
}

/* The state of reading a maps text: the last entry that is of a file, and the nameless executable
 * one right behind it, which waits for what follows. */
struct reading {
	struct space *space;
	uint64_t file_end, file_next_offset, file_inode;
	dev_t file_dev;
	bool waiting;
	uint64_t hole_start, hole_end;
	unsigned added;
};

static int add_range(struct reading *rd, uint64_t start, uint64_t end, uint64_t pgoff, dev_t dev,
	uint64_t inode, const char *path)
{
	int error = space_map(rd->space, start, end, pgoff, dev, inode, path);

	if (error == 0)
		rd->added++;
	return error == -ENOMEM ? error : 0;
}

/* e is what follows the hole, NULL at the end. */
static int settle_hole(struct reading *rd, const struct maps_entry *e)
{
	uint64_t bytes = rd->hole_end - rd->hole_start;

	if (!rd->waiting)
		return 0;
	rd->waiting = false;
	if (e && e->start == rd->hole_end && e->inode == rd->file_inode && e->dev == rd->file_dev &&
		e->offset == rd->file_next_offset + bytes)
		return add_range(rd, rd->hole_start, rd->hole_end, rd->file_next_offset, e->dev,
			e->inode, e->path);
	return add_range(rd, rd->hole_start, rd->hole_end, 0, 0, 0, "");
}

static int on_entry(const struct maps_entry *e, void *arg)
{
	struct reading *rd = arg;
	int error = settle_hole(rd, e);

	if (error < 0)
		return error;
	if ((e->prot & PROT_EXEC) && e->inode == 0 && e->path[0] == '\0' && rd->file_inode != 0 &&
		rd->file_end == e->start) {
		rd->waiting = true;
		rd->hole_start = e->start;
		rd->hole_end = e->end;
		return 0;
	}
	rd->file_inode = e->inode;
	rd->file_dev = e->dev;
	rd->file_end = e->end;
	rd->file_next_offset = e->offset + (e->end - e->start);
	if (!(e->prot & PROT_EXEC))
		return 0;
	return add_range(rd, e->start, e->end, e->offset, e->dev, e->inode, e->path);
}

static int read_maps_of(struct space *s, pid_t tid, unsigned *ret_added)
{
	AUTO(close_auto) int fd = -1;
	struct reading rd = {.space = s};
	struct buf text = BUF_INIT;
	int error;

	error = broker_open_proc(modules_broker(s->modules), s->pid, tid, BROKER_PROC_MAPS, &fd);
	if (error < 0)
		return error;
	error = io_read_fd(fd, MAPS_BYTES_MAX, &text);
	if (error >= 0)
		error = maps_parse(text.data ? text.data : "", text.len, on_entry, &rd, NULL);
	if (error >= 0)
		error = settle_hole(&rd, NULL);
	buf_done(&text);
	*ret_added = rd.added;
	return error < 0 ? error : 0;
}

int space_read(struct space *s, pid_t tid)
{
	unsigned added = 0;
	int error = read_maps_of(s, 0, &added);

	/* The maps of a leader that has exited are empty while its threads go on. */
	if (added == 0 && tid != 0 && tid != s->pid)
		error = read_maps_of(s, tid, &added);
	return error;
}

/* A file is mapped in several pieces, and one inode has one content at a time: what is open serves
 * all. */
static struct module *of_sibling(struct space *s, const struct range *r)
{
	for (unsigned i = 0; i < s->count; i++) {
		const struct range *o = &s->ranges[i];

		if (o->kind == RANGE_FILE && o->inode == r->inode && o->dev == r->dev &&
			o->module && o->module->error == 0)
			return module_ref(o->module);
	}
	return NULL;
}

/* A range that was cut, or stands for a remapped hole, is not what the kernel has under that
 * address; a sibling may be. */
static void open_sibling(struct space *s, struct range *r)
{
	struct module *m;

	for (unsigned i = 0; i < s->count; i++) {
		struct range *o = &s->ranges[i];

		if (o == r || o->kind != RANGE_FILE || o->inode != r->inode || o->dev != r->dev ||
			o->module)
			continue;
		if (modules_open(s->modules, s->pid, o, &m) < 0)
			continue;
		o->module = m;
		if (m->error != 0)
			continue;
		m = r->module;
		r->module = module_ref(o->module);
		module_unref(m);
		return;
	}
}

/* Not for the file's sake, but of the machine's state at that moment. */
static bool may_pass(int error)
{
	switch (error) {
	case -EAGAIN:
	case -EINTR:
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM: return true;
	default: return false;
	}
}

static void open_range(struct space *s, struct range *r)
{
	struct module *m;

	if (r->kind == RANGE_FILE)
		r->module = of_sibling(s, r);
	if (r->module || modules_open(s->modules, s->pid, r, &m) < 0)
		return;
	r->module = m;
	if (r->kind == RANGE_FILE && r->module->fd < 0)
		open_sibling(s, r);
	if (r->module->error == -ENOEXEC && is_memory_file(r->path)) {
		module_unref(r->module);
		r->module = NULL;
		r->kind = RANGE_ANON;
	}
}

struct module *space_module(struct space *s, struct range *r)
{
	bool again = r->again_ns && time_mono_ns() >= r->again_ns;

	if (again) {
		module_unref(r->module);
		r->module = NULL;
		r->again_ns = 0;
	}
	if (r->module || (r->kind != RANGE_FILE && r->kind != RANGE_VDSO))
		return r->module;
	open_range(s, r);
	if (r->module && may_pass(r->module->error)) {
		r->again_ns = time_mono_ns() + AGAIN_NS;
	} else if (again) {
		s->generation++;
		s->code_generation++;
	}
	return r->module;
}

/* The kernel maps the vdso as its file would be laid out from its first segment on. */
static uint64_t file_offset(const struct range *r, uint64_t addr)
{
	return (r->kind == RANGE_VDSO ? 0 : r->pgoff) + (addr - r->start);
}

bool range_vaddr(const struct range *r, uint64_t addr, uint64_t *ret_vaddr)
{
	return r->module && addr >= r->start && addr < r->end &&
		module_vaddr_of_offset(r->module, file_offset(r, addr), ret_vaddr);
}

/* A range may begin with the tail of the segment in front, as files need not align their segments:
 * an executable one is looked for first. */
bool range_bias(const struct range *r, uint64_t *ret_bias)
{
	const struct module *m = r->module;
	uint64_t first, bytes;

	if (!m)
		return false;
	first = file_offset(r, r->start);
	bytes = r->end - r->start;
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < m->segment_count; i++) {
			const struct module_segment *g = &m->segments[i];

			if (g->exec != (pass == 0) || g->file_bytes == 0)
				continue;
			if (g->offset - first < bytes ||
				(first >= g->offset && first - g->offset < g->file_bytes)) {
				*ret_bias = r->start + (g->offset - first) - g->vaddr;
				return true;
			}
		}
	}
	return false;
}
