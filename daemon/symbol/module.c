#include "daemon/symbol/module.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "daemon/cfi/table.h"
#include "daemon/symbol/sigbus.h"

#define VDSO_BYTES_MAX (1u << 20)

/* What module_ref() and module_unref() count beside the open struct. */
struct counted_module {
	struct module m; /* first: a pointer to it is a pointer to the whole */
	atomic_uint refs;
	atomic_bool table_claimed;
	_Atomic(struct cfi_table *) table;
};

struct module *module_ref(struct module *m)
{
	if (m)
		atomic_fetch_add_explicit(
			&((struct counted_module *)m)->refs, 1, memory_order_relaxed);
	return m;
}

bool module_is_shared(const struct module *m)
{
	return atomic_load_explicit(
		       &((struct counted_module *)(uintptr_t)m)->refs, memory_order_acquire) > 1;
}

const struct cfi_table *module_table(const struct module *m)
{
	/* Pairs with the release in module_set_table(). */
	return atomic_load_explicit(
		&((struct counted_module *)(uintptr_t)m)->table, memory_order_acquire);
}

bool module_claim_table(struct module *m)
{
	atomic_bool *claimed = &((struct counted_module *)m)->table_claimed;

	return !atomic_load_explicit(claimed, memory_order_relaxed) &&
		!atomic_exchange_explicit(claimed, true, memory_order_relaxed);
}

void module_set_table(struct module *m, struct cfi_table *table)
{
	atomic_store_explicit(&((struct counted_module *)m)->table, table, memory_order_release);
}

void module_let_go_of_pages(const struct module *m)
{
	const struct cfi_table *t = module_table(m);

	/* The vdso's is a copy without a file. */
	if (m->image && !m->is_vdso)
		(void)madvise((void *)(uintptr_t)m->image, m->image_bytes, MADV_DONTNEED);
	if (t && t->on_disk)
		(void)madvise((void *)(uintptr_t)t->map, t->bytes, MADV_DONTNEED);
}

static void table_free(struct cfi_table *t)
{
	if (!t)
		return;
	sigbus_unguard(t->map); /* of one on disk */
	munmap((void *)(uintptr_t)t->map, t->bytes);
	free(t->index);
	free(t);
}

void module_unref(struct module *m)
{
	struct counted_module *c = (struct counted_module *)m;

	/* The release of each holder pairs with the acquire of the last one, who frees. */
	if (!m || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (m->image) {
		sigbus_unguard(m->image);
		munmap((void *)m->image, m->image_bytes);
	}
	if (m->fd >= 0)
		close(m->fd);
	table_free(atomic_load_explicit(&c->table, memory_order_relaxed));
	free(m->segments);
	free(m->path);
	free(c);
}

static struct module *module_alloc(uint32_t id, const char *path)
{
	struct counted_module *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	atomic_init(&c->refs, 1);
	c->m.id = id;
	c->m.fd = -1;
	c->m.path = strdup(path);
	if (!c->m.path) {
		free(c);
		return NULL;
	}
	return &c->m;
}

/* Maps the whole file. The guard comes first: its owner may shorten it at any moment. */
static int map_file(struct module *m)
{
	void *at;
	int error;

	if (m->size_bytes == 0)
		return -ENOEXEC;
	if (m->size_bytes > SIZE_MAX / 2)
		return -EFBIG;
	at = mmap(NULL, m->size_bytes, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, m->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	error = sigbus_guard(at, m->size_bytes);
	if (error < 0) {
		munmap(at, m->size_bytes);
		return error;
	}
	m->image = at;
	m->image_bytes = m->size_bytes;
	return 0;
}

int module_new(uint32_t id, const char *path, int fd, struct module **ret_module)
{
	struct module *m = module_alloc(id, path);
	struct stat st;

	if (!m) {
		close(fd);
		return -ENOMEM;
	}
	m->fd = fd;
	if (fstat(fd, &st) < 0) {
		m->error = -errno;
	} else {
		m->dev = st.st_dev;
		m->inode = st.st_ino;
		m->size_bytes = (uint64_t)st.st_size;
		m->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		m->error = map_file(m);
	}
	if (m->error == 0)
		m->error = module_parse_headers(m);
	*ret_module = m;
	return 0;
}

int module_new_unreadable(uint32_t id, const char *path, int error, struct module **ret_module)
{
	struct module *m = module_alloc(id, path);

	if (!m)
		return -ENOMEM;
	m->error = error < 0 ? error : -EIO;
	*ret_module = m;
	return 0;
}

static int vdso_memfd(const void *bytes, size_t len)
{
	AUTO(close_auto) int fd = memfd_create("vdso", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		return -1;
	return MOVE_FD(fd);
}

/* The vdso has its section headers at its end, so that they tell how long it is; the kernel maps
 * whole pages of it. */
static size_t vdso_bytes(const uint8_t *start)
{
	uint64_t shoff;
	uint16_t shentsize, shnum;

	memcpy(&shoff, start + 40, sizeof(shoff));
	memcpy(&shentsize, start + 58, sizeof(shentsize));
	memcpy(&shnum, start + 60, sizeof(shnum));
	if (shoff > VDSO_BYTES_MAX)
		return 0;
	return (size_t)shoff + (size_t)shentsize * shnum;
}

int module_new_vdso(uint32_t id, struct module **ret_module)
{
	const uint8_t *start = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	AUTO(module_unref_auto) struct module *m = NULL;
	size_t bytes;
	void *copy;

	if (!start)
		return -ENOENT;
	bytes = vdso_bytes(start);
	if (bytes == 0)
		return -ENOENT;
	m = module_alloc(id, "[vdso]");
	if (!m)
		return -ENOMEM;
	copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return -errno;
	memcpy(copy, start, bytes);
	mprotect(copy, bytes, PROT_READ);
	m->image = copy;
	m->image_bytes = bytes;
	m->size_bytes = bytes;
	m->is_vdso = true;
	m->fd = vdso_memfd(copy, bytes);
	m->error = module_parse_headers(m);
	*ret_module = MOVE(m);
	return 0;
}

static bool vaddr_in_segments(
	const struct module *m, bool exec, uint64_t offset, uint64_t *ret_vaddr)
{
	for (unsigned i = 0; i < m->segment_count; i++) {
		const struct module_segment *s = &m->segments[i];

		if (s->exec == exec && offset >= s->offset && offset - s->offset < s->file_bytes) {
			*ret_vaddr = s->vaddr + (offset - s->offset);
			return true;
		}
	}
	return false;
}

/* Some linkers put the same bytes in two segments: those that can run are the ones that are asked
 * for. */
bool module_vaddr_of_offset(const struct module *m, uint64_t offset, uint64_t *ret_vaddr)
{
	return vaddr_in_segments(m, true, offset, ret_vaddr) ||
		vaddr_in_segments(m, false, offset, ret_vaddr);
}

uint64_t module_code_bias(const struct module *m)
{
	for (unsigned i = 0; i < m->segment_count; i++)
		if (m->segments[i].exec)
			return m->segments[i].vaddr - m->segments[i].offset;
	return 0;
}

bool module_offset_of_vaddr(const struct module *m, uint64_t vaddr, uint64_t *ret_offset)
{
	for (unsigned i = 0; i < m->segment_count; i++) {
		const struct module_segment *s = &m->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->file_bytes) {
			*ret_offset = s->offset + (vaddr - s->vaddr);
			return true;
		}
	}
	return false;
}

const void *module_bytes(const struct module *m, uint64_t vaddr, size_t len)
{
	for (unsigned i = 0; i < m->segment_count; i++) {
		const struct module_segment *s = &m->segments[i];
		uint64_t into = vaddr - s->vaddr;

		/* The segment was clipped to the file when it was parsed. */
		if (vaddr >= s->vaddr && into < s->file_bytes && len <= s->file_bytes - into)
			return m->image + s->offset + into;
	}
	return NULL;
}
