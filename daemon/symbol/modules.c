#include "daemon/symbol/modules.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include "base/io.h"
#include "base/map.h"
#include "daemon/proc/maps.h"

#define CHECK_NS UINT64_C(5000000000)

struct slot {
	struct module *module; /* our reference; NULL: free */
	uint64_t key;          /* of by_file */
	uint64_t mapped_key;   /* of by_mapped; 0: none */
	uint64_t used;         /* of the table's clock, for eviction */
	uint64_t checked_ns;   /* when the file was last found to be this one */
};

/* Sampler thread. by_file holds each slot by the hash of its identity; by_mapped by the hash of
 * device and inode as the kernel's mmap records have them, for processes that are gone when we
 * look. */
struct modules {
	struct broker *broker;
	struct slot *slots;
	unsigned count, max;
	struct map *by_file, *by_mapped;
	struct module *vdso;
	uint64_t clock;
	claim_fn claim; /* NULL: of living processes */
	void *claim_arg;
	struct modules_stats stats;
};

/* Names and unwind rows are cached by id, over all tables. */
static uint32_t new_id(void)
{
	static atomic_uint last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

int modules_new(struct broker *b, unsigned max_modules, struct modules **ret_modules)
{
	struct modules *ms = calloc(1, sizeof(*ms));
	int error = -ENOMEM;

	if (!ms)
		return -ENOMEM;
	ms->broker = b;
	ms->max = max_modules ? max_modules : 1;
	ms->slots = calloc(ms->max, sizeof(*ms->slots));
	if (!ms->slots)
		goto fail;
	error = map_new(64, &ms->by_file);
	if (error < 0)
		goto fail;
	error = map_new(64, &ms->by_mapped);
	if (error < 0)
		goto fail;
	(void)module_new_vdso(new_id(), &ms->vdso);
	*ret_modules = ms;
	return 0;
fail:
	modules_free(ms);
	return error;
}

int modules_new_recorded(struct broker *b, unsigned max_modules, claim_fn claim, void *arg,
	struct modules **ret_modules)
{
	int error = modules_new(b, max_modules, ret_modules);

	if (error == 0) {
		(*ret_modules)->claim = claim;
		(*ret_modules)->claim_arg = arg;
	}
	return error;
}

void modules_free(struct modules *ms)
{
	if (!ms)
		return;
	for (unsigned i = 0; ms->slots && i < ms->max; i++)
		module_unref(ms->slots[i].module);
	module_unref(ms->vdso);
	map_free(ms->by_file);
	map_free(ms->by_mapped);
	free(ms->slots);
	free(ms);
}

struct broker *modules_broker(struct modules *ms)
{
	return ms->broker;
}

void modules_let_go_of_pages(const struct modules *ms)
{
	for (unsigned i = 0; i < ms->max; i++)
		if (ms->slots[i].module)
			module_let_go_of_pages(ms->slots[i].module);
}

void modules_get_stats(const struct modules *ms, struct modules_stats *ret)
{
	*ret = ms->stats;
	ret->count = ms->count;
}

static uint64_t file_key(dev_t dev, uint64_t inode, uint64_t size, int64_t mtime_ns)
{
	uint64_t id[4] = {dev, inode, size, (uint64_t)mtime_ns};

	return hash_bytes(id, sizeof(id), 0);
}

static uint64_t mapped_key(const struct range *r)
{
	uint64_t id[2] = {r->dev, r->inode};
	uint64_t key = hash_bytes(id, sizeof(id), 1);

	return key ? key : 1;
}

static void slot_clear(struct modules *ms, struct slot *s)
{
	unsigned index = (unsigned)(s - ms->slots);
	uint64_t at;

	if (map_get(ms->by_file, s->key, &at) && at == index)
		map_remove(ms->by_file, s->key, NULL);
	if (s->mapped_key && map_get(ms->by_mapped, s->mapped_key, &at) && at == index)
		map_remove(ms->by_mapped, s->mapped_key, NULL);
	ms->stats.bytes -= s->module->image_bytes;
	module_unref(s->module);
	memset(s, 0, sizeof(*s));
	ms->count--;
}

/* A free slot, if need be that of the longest unused module which nobody else holds. NULL: all in
 * use. */
static struct slot *slot_take(struct modules *ms)
{
	struct slot *oldest = NULL;

	for (unsigned i = 0; i < ms->max; i++) {
		struct slot *s = &ms->slots[i];

		if (!s->module)
			return s;
		if (!module_is_shared(s->module) && (!oldest || s->used < oldest->used))
			oldest = s;
	}
	if (oldest) {
		slot_clear(ms, oldest);
		ms->stats.evicted++;
	}
	return oldest;
}

/* Puts a module into the table; takes no reference away from the caller. A full table is no error:
 * the module is then shared by nobody else and ends with its ranges. */
static int remember(struct modules *ms, struct module *m, uint64_t key, uint64_t mapped)
{
	struct slot *s = slot_take(ms);
	int error;

	if (!s)
		return 0;
	error = map_set(ms->by_file, key, (uint64_t)(s - ms->slots));
	if (error < 0)
		return error;
	if (mapped && map_set(ms->by_mapped, mapped, (uint64_t)(s - ms->slots)) < 0)
		mapped = 0;
	s->module = module_ref(m);
	s->key = key;
	s->mapped_key = mapped;
	s->used = ++ms->clock;
	s->checked_ns = time_mono_ns();
	ms->count++;
	ms->stats.bytes += m->image_bytes;
	return 0;
}

static struct slot *slot_of(struct modules *ms, const struct map *by, uint64_t key)
{
	uint64_t at;

	if (!map_get(by, key, &at))
		return NULL;
	ms->slots[at].used = ++ms->clock;
	return &ms->slots[at];
}

/* The kernel marks the path of an unlinked file; a living one may be named so by its owner. */
static char *path_of(const struct range *r, const struct stat *st)
{
	if (st && st->st_nlink != 0)
		return strdup(r->path);
	return strndup(r->path, maps_undeleted_len(r->path));
}

static int open_file(
	struct modules *ms, pid_t pid, const struct range *r, int fd, struct module **ret_module)
{
	AUTO(close_auto) int own = fd;
	AUTO(free_auto) char *path = NULL;
	struct module *m;
	struct stat st;
	struct slot *s;
	uint64_t key;
	int error;

	if (fstat(fd, &st) < 0)
		return -errno;
	key = file_key(st.st_dev, st.st_ino, (uint64_t)st.st_size,
		(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	s = slot_of(ms, ms->by_file, key);
	if (s && s->module->inode == st.st_ino && s->module->dev == st.st_dev) {
		s->checked_ns = time_mono_ns();
		*ret_module = module_ref(s->module);
		return 0;
	}
	path = path_of(r, &st);
	if (!path)
		return -ENOMEM;
	error = module_new(new_id(), path, MOVE_FD(own), &m);
	if (error < 0)
		return error;
	m->pid = pid;
	ms->stats.opened++;
	error = remember(ms, m, key, mapped_key(r));
	if (error < 0) {
		module_unref(m);
		return error;
	}
	*ret_module = m;
	return 0;
}

/* One module stands for all unreadable mappings of one path, so that a thousand short-lived
 * processes do not make a thousand modules. */
static int stand_in(struct modules *ms, const struct range *r, int why, struct module **ret_module)
{
	AUTO(free_auto) char *path = path_of(r, NULL);
	struct slot *s;
	uint64_t key;
	int error;

	if (!path)
		return -ENOMEM;
	key = hash_bytes(path, strlen(path), file_key(r->dev, r->inode, 0, why));
	s = slot_of(ms, ms->by_file, key);
	if (s && strcmp(s->module->path, path) == 0) {
		*ret_module = module_ref(s->module);
		return 0;
	}
	error = module_new_unreadable(new_id(), path, why, ret_module);
	if (error < 0)
		return error;
	ms->stats.unreadable++;
	error = remember(ms, *ret_module, key, 0);
	if (error < 0)
		module_unref(*ret_module);
	return error;
}

/* The process is gone, or its files are out of reach. The same file may have been seen mapped by
 * another process, or it is still where its path says: device and inode decide, never the path
 * alone. */
static int open_without_process(
	struct modules *ms, const struct range *r, int why, struct module **ret_module)
{
	struct slot *s = slot_of(ms, ms->by_mapped, mapped_key(r));
	struct stat st;
	int fd;

	if (s && s->module->error == 0) {
		*ret_module = module_ref(s->module);
		return 0;
	}
	if (broker_open_elf(ms->broker, 0, r->path, &fd) == 0) {
		if (fstat(fd, &st) == 0 && st.st_dev == r->dev && st.st_ino == r->inode)
			return open_file(ms, 0, r, fd, ret_module);
		close(fd);
	}
	return stand_in(ms, r, why, ret_module);
}

static bool is_claimed(const struct module *m, const struct file_claim *c)
{
	if (c->build_id_bytes)
		return m->build_id_bytes == c->build_id_bytes &&
			memcmp(m->build_id, c->build_id, c->build_id_bytes) == 0;
	return c->inode ? m->inode == c->inode : c->trusted;
}

static int open_claimed(struct modules *ms, const struct range *r, const struct file_claim *c,
	struct module **ret_module)
{
	struct module *m;
	int fd = -1, error;

	if (r->kind == RANGE_VDSO) {
		if (!ms->vdso || !is_claimed(ms->vdso, c))
			return -ESTALE;
		*ret_module = module_ref(ms->vdso);
		return 0;
	}
	error = broker_open_elf(ms->broker, 0, r->path, &fd);
	if (error == 0)
		error = open_file(ms, 0, r, fd, &m);
	if (error != 0)
		return error;
	if (is_claimed(m, c)) {
		*ret_module = m;
		return 0;
	}
	module_unref(m);
	return c->build_id_bytes || c->inode ? -ESTALE : -ENODATA;
}

/* What stands in for a file still has the build id that the recording tells of it. */
static int open_recorded(struct modules *ms, const struct range *r, struct module **ret_module)
{
	struct file_claim *c = ms->claim(ms->claim_arg, r);
	int error;

	if (!c)
		return stand_in(ms, r, -ENOENT, ret_module);
	c->asked = true;
	c->error = open_claimed(ms, r, c, ret_module);
	if (c->error == 0)
		return 0;
	error = stand_in(ms, r, c->error, ret_module);
	if (error == 0 && (*ret_module)->build_id_bytes == 0) {
		memcpy((*ret_module)->build_id, c->build_id, c->build_id_bytes);
		(*ret_module)->build_id_bytes = c->build_id_bytes;
	}
	return error;
}

/* Of many short processes each maps the same libraries. What we hold open keeps its inode, and
 * under the same path it is that file still, unless somebody has just written into it. */
static bool is_known(struct modules *ms, const struct range *r, struct module **ret_module)
{
	struct slot *s = slot_of(ms, ms->by_mapped, mapped_key(r));

	if (!s || s->module->error != 0 || strcmp(s->module->path, r->path) != 0 ||
		time_mono_ns() - s->checked_ns > CHECK_NS)
		return false;
	*ret_module = module_ref(s->module);
	return true;
}

int modules_open(struct modules *ms, pid_t pid, const struct range *r, struct module **ret_module)
{
	int fd, error;

	if (ms->claim)
		return open_recorded(ms, r, ret_module);
	if (r->kind == RANGE_VDSO) {
		if (!ms->vdso)
			return stand_in(ms, r, -ENOENT, ret_module);
		*ret_module = module_ref(ms->vdso);
		return 0;
	}
	if (is_known(ms, r, ret_module))
		return 0;
	error = broker_open_mapped(
		ms->broker, pid, r->start, r->end, r->path, r->dev, r->inode, &fd);
	if (error == 0)
		return open_file(ms, pid, r, fd, ret_module);
	return open_without_process(ms, r, error, ret_module);
}
