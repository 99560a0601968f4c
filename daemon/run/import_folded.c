#include "daemon/run/import_folded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "daemon/tree/foldedin.h"

#define LOOK_BYTES 4096

struct folded_import {
	const struct import_setup *setup;
	char *bytes;
	struct config config;
	struct session_env *env;
	struct run_stats stats;
	struct session *session;
};

bool import_folded_is(const char *bytes, size_t len)
{
	/* However short it is. */
	if (len >= 4 && (memcmp(bytes, "PERF", 4) == 0 || memcmp(bytes, "2ELI", 4) == 0))
		return false;
	for (size_t i = 0; i < len && i < LOOK_BYTES; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
			return false;
	}
	return true;
}

static bool on_progress(void *arg, size_t at)
{
	struct folded_import *im = arg;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), end = at / page * page;

	if (end)
		(void)madvise(im->bytes, end, MADV_DONTNEED);
	return !im->setup->stop || !atomic_load(im->setup->stop);
}

static void fill_plan(const struct folded_import *im, struct session_plan *p)
{
	struct session_request *q = &p->request;
	struct capture_options *c = &p->capture;

	session_request_defaults(q);
	q->target = RUN_RECORDING;
	snprintf(q->text, sizeof(q->text), "%s", im->setup->name);
	snprintf(p->target_text, sizeof(p->target_text), "stacks %.250s", im->setup->name);
	p->target.only_uid = (uid_t)-1;
	p->owner = im->setup->owner;
	c->stack = STACK_FP;
	c->event_count = q->event_count = 1;
	snprintf(c->events[0].name, sizeof(c->events[0].name), "samples");
	snprintf(q->events[0], sizeof(q->events[0]), "samples");
}

static int make_session(struct folded_import *im)
{
	AUTO(free_auto) struct session_plan *plan = calloc(1, sizeof(*plan));

	im->env = calloc(1, sizeof(*im->env));
	if (!plan || !im->env)
		return -ENOMEM;
	/* There are no single samples in it, and all of it is to be seen. */
	im->config = *im->setup->config;
	im->config.log_entries = 0;
	im->config.max_nodes = 0;
	im->env->config = &im->config;
	im->env->stats = &im->stats;
	fill_plan(im, plan);
	return session_new_recorded(im->env, plan, &im->session);
}

static void warn(const struct foldedin_stats *st, struct buf *w)
{
	if (st->fractions)
		buf_printf(w, "%llu counts have fractions and were rounded\n",
			(unsigned long long)st->fractions);
	if (st->two_numbers)
		buf_printf(w,
			"%llu lines end in two numbers, as those of differences do: the last one "
			"was "
			"taken for the count, the other for a part of the name\n",
			(unsigned long long)st->two_numbers);
}

static void set_ledger(struct session *s)
{
	struct calltree_stats tree;

	calltree_get_stats(s->tree, &tree);
	s->ledger.samples = tree.samples;
	s->ledger.dropped = tree.dropped;
}

static int read_stacks(struct folded_import *im, size_t len, struct buf *why)
{
	struct session *s = im->session;
	int64_t process = calltree_process(s->tree, 0, 0);
	uint64_t before = time_thread_cpu_ns();
	struct foldedin_stats stats;
	int r;

	if (process < 0)
		return (int)process;
	calltree_process_comm(s->tree, (uint32_t)process, im->setup->name);
	r = foldedin_read(im->bytes, len, s->tree, (uint32_t)process, on_progress, im, &stats, why);
	if (r == 0 && stats.stacks == 0) {
		buf_append_str(why, "there is no stack in it");
		r = -EBADMSG;
	}
	if (r < 0)
		return r;
	warn(&stats, &s->warnings);
	buf_append_str(&s->warnings,
		"folded stacks do not tell when they were taken: the times are those of the "
		"import\n");
	set_ledger(s);
	s->cpu_ns = time_thread_cpu_ns() - before;
	s->started_ns = s->ended_ns = time_mono_ns();
	s->started_wall_ns = s->ended_wall_ns = time_wall_ns();
	session_end(im->env, s, SESSION_ENDED, "end_of_file");
	return s->final && s->head ? 0 : -ENOMEM;
}

static int answer(int r, const struct buf *why, struct buf *message)
{
	switch (r) {
	case 0: return RUN_OK;
	case -EBADMSG:
		buf_printf(message,
			"The file cannot be imported: as folded stacks (\"frame;frame count\") %s.",
			why->data ? why->data : "?");
		return RUN_BAD_REQUEST;
	case -ECANCELED: buf_append_str(message, "the daemon is shutting down"); break;
	case -ENOMEM: buf_append_str(message, "there is no memory for this import"); break;
	default: buf_printf(message, "the import failed: %s", strerror(-r)); return RUN_FAILED;
	}
	return RUN_UNAVAILABLE;
}

int import_folded(const struct import_setup *setup, char *bytes, size_t len,
	struct session **ret_session, struct buf *message)
{
	AUTO(buf_done) struct buf why = BUF_INIT;
	AUTO(free_auto) struct folded_import *im = calloc(1, sizeof(*im));
	int r;

	if (!im)
		return answer(-ENOMEM, &why, message);
	im->setup = setup;
	im->bytes = bytes;
	r = make_session(im);
	if (r == 0)
		r = read_stacks(im, len, &why);
	if (r == 0)
		*ret_session = MOVE(im->session);
	session_free(im->session);
	for (unsigned i = 0; im->env && i < UNWINDER_KINDS; i++)
		unwinder_free(im->env->unwinders[i]);
	free(im->env);
	return answer(r, &why, message);
}
