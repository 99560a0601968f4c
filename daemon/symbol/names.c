#include "daemon/symbol/names.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/map.h"
#include "daemon/symbol/jitnames.h"
#include "daemon/symbol/kallsyms.h"
#include "daemon/symbol/kernelfile.h"
#include "daemon/symbol/modnames.h"
#include "daemon/symbol/namestore.h"

#define KALLSYMS_NS    (60 * 1000000000ull) /* modules come and go */
#define KALLSYMS_PROBE 4096u /* of its text: enough to see whether addresses are shown */
#define KALLSYMS_BEGIN (128u << 10)
#define KALLSYMS_MAX   ((size_t)256 << 20)
#define NOTES_MAX      ((size_t)64 << 10)
#define MODULES_MAX    ((size_t)4 << 20)

struct names {
	struct broker *broker;
	struct modnames *modules;
	struct jitnames *jit;
	pthread_mutex_t kernel_lock;
	struct kallsyms *kernel; /* NULL: not read yet */
	uint64_t kernel_read_ns;
	bool kernel_told;
	int kernel_fd; /* of the file that keeps its symbols; -1: none */
};

static int spawn_by_broker(void *arg, int *ret_sock, pid_t *ret_pid)
{
	return broker_new_reader(arg, ret_sock, ret_pid);
}

int names_new(struct broker *b, size_t cache_max_bytes, struct names **ret_names)
{
	return names_new_with_reader(b, spawn_by_broker, b, cache_max_bytes, ret_names);
}

int names_new_with_reader(struct broker *b, int (*spawn)(void *arg, int *ret_sock, pid_t *ret_pid),
	void *arg, size_t cache_max_bytes, struct names **ret_names)
{
	AUTO(names_free_auto) struct names *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->broker = b;
	n->kernel_fd = -1;
	pthread_mutex_init(&n->kernel_lock, NULL);
	r = modnames_new(b, spawn, arg, cache_max_bytes, &n->modules);
	if (r == 0)
		r = jitnames_new(b, &n->jit);
	if (r < 0)
		return r;
	*ret_names = MOVE(n);
	return 0;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	modnames_free(n->modules);
	jitnames_free(n->jit);
	kallsyms_unref(n->kernel);
	pthread_mutex_destroy(&n->kernel_lock);
	free(n);
}

void names_keep_kernel(struct names *n, int fd)
{
	n->kernel_fd = fd;
}

int names_of_module(struct names *n, struct module *m, const uint64_t *vaddrs, uint32_t count,
	enum names_want want, struct name_answer *ret_answer)
{
	return modnames_of(n->modules, m, vaddrs, count, want, ret_answer);
}

int names_unwind_table(
	struct names *n, struct module *m, struct cfi_table **ret_table, bool *ret_keep)
{
	return modnames_unwind_table(n->modules, m, ret_table, ret_keep);
}

static int read_host(struct broker *b, enum broker_host what, size_t max_bytes, struct buf *into)
{
	AUTO(close_auto) int fd = -1;
	int r = broker_open_host(b, what, &fd);

	return r < 0 ? r : io_read_fd(fd, max_bytes, into);
}

/* False: there is something that cannot be known, so that nothing is as before. */
static bool kernel_key(struct names *n, struct kernelfile_key *key)
{
	AUTO(buf_done) struct buf modules = BUF_INIT;
	struct kernel_identity id;
	int r;

	names_kernel_identity(n, &id);
	r = read_host(n->broker, BROKER_HOST_MODULES, MODULES_MAX, &modules);
	/* A kernel may be without modules for ever. */
	if (!id.build_id_bytes || !id.text || (r < 0 && r != -ENOENT))
		return false;
	*key = (struct kernelfile_key){
		.build_id = hash_bytes(id.build_id, id.build_id_bytes, 0),
		.text = id.text,
		.modules = hash_bytes(modules.data ? modules.data : "", modules.len, 0),
	};
	return true;
}

/* The kernel's symbols into *ret, by the file that keeps them if there is one. */
static int read_kallsyms(struct names *n, struct kallsyms **ret)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	struct kernelfile_key key;
	bool keeps = n->kernel_fd >= 0 && kernel_key(n, &key);
	int r;

	if (keeps && kernelfile_load(n->kernel_fd, &key, ret) == 0)
		return 0;
	r = read_host(n->broker, BROKER_HOST_KALLSYMS, KALLSYMS_MAX, &text);
	if (r == 0 && keeps && text.data &&
		kernelfile_save(n->kernel_fd, &key, text.data, text.len) < 0)
		log_debug("the kernel's symbols are not kept");
	return r < 0 ? r : kallsyms_parse(text.data ? text.data : "", text.len, ret);
}

/* Whether the kernel shows its addresses to us can change at any moment; its first lines tell. */
static bool are_hidden_now(struct names *n)
{
	AUTO(kallsyms_unref_auto) struct kallsyms *probe = NULL;
	AUTO(close_auto) int fd = -1;
	char text[KALLSYMS_PROBE];
	ssize_t len;

	if (broker_open_host(n->broker, BROKER_HOST_KALLSYMS, &fd) < 0)
		return true;
	do
		len = read(fd, text, sizeof(text));
	while (len < 0 && errno == EINTR);
	return len <= 0 || kallsyms_parse(text, (size_t)len, &probe) < 0 || kallsyms_hidden(probe);
}

static void take_kallsyms(struct names *n, struct kallsyms *fresh)
{
	if (kallsyms_hidden(fresh) && !n->kernel_told)
		log_warning("the kernel hides its symbols: no kernel function has a name. "
			    "kernel.kptr_restrict and CAP_SYSLOG decide that");
	n->kernel_told = kallsyms_hidden(fresh);
	kallsyms_unref(n->kernel);
	n->kernel = fresh;
	n->kernel_read_ns = time_mono_ns();
}

/* Kernel lock held. What cannot be read is as good as hidden. */
static int refresh_kernel(struct names *n)
{
	bool hidden = are_hidden_now(n);
	struct kallsyms *fresh;
	int r;

	if (n->kernel && kallsyms_hidden(n->kernel) == hidden &&
		(hidden || time_mono_ns() - n->kernel_read_ns < KALLSYMS_NS))
		return 0;
	r = hidden ? -EACCES : read_kallsyms(n, &fresh);
	if (r < 0 && r != -ENOMEM)
		r = kallsyms_parse("", 0, &fresh);
	if (r == 0)
		take_kallsyms(n, fresh);
	return r;
}

static void unref_kallsyms(void *held)
{
	kallsyms_unref(held);
}

static int kernel_answer(
	struct kallsyms *k, const uint64_t *addrs, uint32_t count, struct name_answer *ret_answer)
{
	struct name_answer_parts p = {.count = count, .done = unref_kallsyms};
	uint32_t frames = 0;

	p.held = kallsyms_ref(k);
	p.starts = malloc(((size_t)count + 1) * sizeof(*p.starts));
	p.frames = malloc((size_t)count * sizeof(*p.frames) + 1);
	for (uint32_t i = 0; p.starts && p.frames && i <= count; i++) {
		struct name_frame f = {.file = "", .source = NAME_FROM_KALLSYMS};
		p.starts[i] = frames;
		if (i < count && (f.name = kallsyms_find(k, addrs[i], &f.start)) != NULL)
			p.frames[frames++] = f;
	}
	return name_answer_make(&p, ret_answer);
}

int names_of_kernel(
	struct names *n, const uint64_t *addrs, uint32_t count, struct name_answer *ret_answer)
{
	int r;

	memset(ret_answer, 0, sizeof(*ret_answer));
	pthread_mutex_lock(&n->kernel_lock);
	r = refresh_kernel(n);
	if (r == 0)
		r = kernel_answer(n->kernel, addrs, count, ret_answer);
	pthread_mutex_unlock(&n->kernel_lock);
	return r;
}

/* A note is three numbers, a name and a description, each filled up to a multiple of 4. */
static void read_notes(const struct buf *notes, struct kernel_identity *id)
{
	static const char gnu[] = "GNU";
	size_t at = 0;

	while (notes->len - at >= 12) {
		uint32_t head[3];
		uint64_t name_bytes, bytes;

		memcpy(head, notes->data + at, sizeof(head));
		at += sizeof(head);
		name_bytes = ((uint64_t)head[0] + 3) & ~UINT64_C(3);
		bytes = ((uint64_t)head[1] + 3) & ~UINT64_C(3);
		if (name_bytes + bytes > notes->len - at)
			return;
		if (head[2] == NT_GNU_BUILD_ID && head[0] == sizeof(gnu) &&
			memcmp(notes->data + at, gnu, sizeof(gnu)) == 0 &&
			head[1] <= sizeof(id->build_id)) {
			memcpy(id->build_id, notes->data + at + name_bytes, head[1]);
			id->build_id_bytes = (uint8_t)head[1];
			return;
		}
		at += name_bytes + bytes;
	}
}

/* Where the kernel begins, by the first lines of its symbols: all of them are many. 0: hidden, or
 * it does not say. */
static uint64_t read_kernel_text(struct broker *b)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	uint64_t found = 0;
	char piece[KALLSYMS_PROBE];
	ssize_t len = 1;

	if (broker_open_host(b, BROKER_HOST_KALLSYMS, &fd) < 0)
		return 0;
	while (!found && len > 0 && text.len < KALLSYMS_BEGIN) {
		AUTO(kallsyms_unref_auto) struct kallsyms *k = NULL;

		do
			len = read(fd, piece, sizeof(piece));
		while (len < 0 && errno == EINTR);
		if (len <= 0 || buf_append(&text, piece, (size_t)len) < 0 ||
			kallsyms_parse(text.data, text.len, &k) < 0)
			return 0;
		found = kallsyms_text(k);
	}
	return found;
}

void names_kernel_identity(struct names *n, struct kernel_identity *ret_identity)
{
	AUTO(buf_done) struct buf notes = BUF_INIT;
	AUTO(close_auto) int fd = -1;

	memset(ret_identity, 0, sizeof(*ret_identity));
	if (broker_open_host(n->broker, BROKER_HOST_NOTES, &fd) == 0 &&
		io_read_fd(fd, NOTES_MAX, &notes) >= 0)
		read_notes(&notes, ret_identity);
	ret_identity->text = read_kernel_text(n->broker);
}

bool names_kernel_hidden(struct names *n)
{
	bool hidden;

	pthread_mutex_lock(&n->kernel_lock);
	hidden = n->kernel && kallsyms_hidden(n->kernel);
	pthread_mutex_unlock(&n->kernel_lock);
	return hidden;
}

int names_of_jit(struct names *n, pid_t pid, uint64_t start_ticks, const uint64_t *addrs,
	uint32_t count, struct name_answer *ret_answer)
{
	return jitnames_of(n->jit, pid, start_ticks, addrs, count, ret_answer);
}

void names_jit_refresh(struct names *n, pid_t pid, uint64_t start_ticks)
{
	jitnames_refresh(n->jit, pid, start_ticks);
}

int names_jit_recorded(
	struct names *n, pid_t pid, uint64_t start_ticks, const struct names_recorded *where)
{
	return jitnames_recorded(n->jit, pid, start_ticks, where);
}

int names_jit_rules(struct names *n, pid_t pid, uint64_t start_ticks, struct jitrules **ret_rules)
{
	return jitnames_rules(n->jit, pid, start_ticks, ret_rules);
}

void names_get_stats(struct names *n, struct names_stats *ret_stats)
{
	size_t kernel_bytes = 0;

	memset(ret_stats, 0, sizeof(*ret_stats));
	modnames_get_stats(n->modules, ret_stats);
	jitnames_get_stats(n->jit, ret_stats);
	pthread_mutex_lock(&n->kernel_lock);
	if (n->kernel)
		(void)kallsyms_packed(n->kernel, &kernel_bytes);
	ret_stats->cache_bytes += kernel_bytes;
	pthread_mutex_unlock(&n->kernel_lock);
}
