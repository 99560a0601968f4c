#include "daemon/symbol/unwindtables.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include "base/log.h"
#include "base/queue.h"
#include "daemon/cfi/table.h"
#include "daemon/symbol/names.h"

#define QUEUE_LENGTH 4096 /* as many as there are modules at most */

struct unwindtables {
	struct names *names;
	struct tablefiles *files; /* or NULL; the thread's */
	struct queue *queue; /* of modules, a reference each; the last item is the tables itself */
	pthread_t thread;
	bool lives;
	atomic_bool stopping;
	atomic_ullong made, loaded, failed, bytes;
};

static void hand_over(struct unwindtables *t, struct module *m, struct cfi_table *table)
{
	cfi_table_index(table);
	atomic_fetch_add(&t->bytes, table->bytes + table->index_count * sizeof(*table->index));
	log_debug("%s: %u unwind rules", m->path, table->count);
	module_set_table(m, table);
	/* Both were read as a whole, and little of that is needed again. */
	module_let_go_of_pages(m);
}

static bool load_one(struct unwindtables *t, struct module *m)
{
	struct cfi_table *table;

	if (!t->files || m->is_vdso || tablefiles_load(t->files, m, &table) < 0)
		return false;
	atomic_fetch_add(&t->loaded, 1);
	hand_over(t, m, table);
	return true;
}

static void drop(struct cfi_table *table)
{
	munmap((void *)(uintptr_t)table->map, table->bytes);
	free(table);
}

/* A table on disk is memory that the kernel can take back: it stands in for what the reader sent.
 */
static struct cfi_table *keep_on_disk(
	struct unwindtables *t, struct module *m, struct cfi_table *table)
{
	struct cfi_table *mapped;
	int r = t->files && !m->is_vdso ? tablefiles_save(t->files, m, table) : -EFBIG;

	if (r < 0 && r != -EFBIG)
		log_debug("%s: its unwind rules are not kept: %s", m->path, strerror(-r));
	if (r < 0 || tablefiles_load(t->files, m, &mapped) < 0)
		return table;
	drop(table);
	return mapped;
}

static void make_one(struct unwindtables *t, struct module *m)
{
	struct cfi_table *table = NULL;
	bool keep = false;
	int r;

	if (load_one(t, m))
		return;
	r = names_unwind_table(t->names, m, &table, &keep);
	if (r == 0) {
		atomic_fetch_add(&t->made, 1);
		hand_over(t, m, keep ? keep_on_disk(t, m, table) : table);
		return;
	}
	if (r == -ENODATA) /* nothing to compile: stepping goes by frame pointers there */
		return;
	atomic_fetch_add(&t->failed, 1);
	log_info("%s: its unwind rules are looked up one by one, which takes longer: %s", m->path,
		r == -EIO ? "the reader died over them" : strerror(-r));
}

static void *unwindtables_main(void *arg)
{
	struct unwindtables *t = arg;
	struct pollfd p = {.fd = queue_fd(t->queue), .events = POLLIN};
	void *item;

	for (;;) {
		while ((item = queue_pop(t->queue))) {
			if (item == t)
				return NULL;
			if (!atomic_load(&t->stopping))
				make_one(t, item);
			module_unref(item);
		}
		(void)poll(&p, 1, -1);
	}
}

int unwindtables_new(struct names *names, const struct tablefiles_options *files,
	struct unwindtables **ret_tables)
{
	AUTO(unwindtables_free_auto) struct unwindtables *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->names = names;
	r = files ? tablefiles_new(files, &t->files) : 0;
	if (r < 0)
		log_info("%s: unwind rules are not kept: %s", files->dir, strerror(-r));
	r = queue_new(QUEUE_LENGTH, &t->queue);
	if (r < 0)
		return r;
	r = -pthread_create(&t->thread, NULL, unwindtables_main, t);
	if (r < 0)
		return r;
	t->lives = true;
	*ret_tables = MOVE(t);
	return 0;
}

void unwindtables_free(struct unwindtables *t)
{
	void *item;

	if (!t)
		return;
	atomic_store(&t->stopping, true);
	while (t->lives && queue_push(t->queue, t) == -EAGAIN)
		(void)poll(NULL, 0, 1); /* what is in it goes quickly now */
	if (t->lives)
		pthread_join(t->thread, NULL);
	while (t->queue && (item = queue_pop(t->queue)))
		if (item != t)
			module_unref(item);
	queue_free(t->queue);
	tablefiles_free(t->files);
	free(t);
}

void unwindtables_want(struct unwindtables *t, struct module *m)
{
	if (m->fd < 0 || m->error != 0 || !module_claim_table(m))
		return;
	module_ref(m);
	if (queue_push(t->queue, m) == -EAGAIN)
		module_unref(m); /* so it stays as it is: slower, but right */
}

void unwindtables_get_stats(struct unwindtables *t, struct unwindtables_stats *ret_stats)
{
	ret_stats->made = atomic_load(&t->made);
	ret_stats->loaded = atomic_load(&t->loaded);
	ret_stats->failed = atomic_load(&t->failed);
	ret_stats->bytes = atomic_load(&t->bytes);
}
