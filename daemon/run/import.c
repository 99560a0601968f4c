#include "daemon/run/import.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/map.h"
#include "daemon/run/feed.h"
#include "daemon/run/import_folded.h"
#include "daemon/sample/perfdata.h"
#include "daemon/symbol/sigbus.h"

#define MODULES_MAX   4096
#define FILES_MAX     65536u
#define FILES_TOLD    5 /* by name, of those that could not be used */
#define CHAIN_MAX     (65536u / 8)
#define DUMPS_MAX     1024u
#define IMPORT_NS_MAX UINT64_C(600000000000)
#define PROGRESS_EACH 256u /* samples between two looks at stop */

struct import {
	const struct import_setup *setup;
	struct perfdata *file;
	uint8_t *bytes; /* of the file, mapped */
	size_t let_go;  /* so many of them, from the first on */
	const struct perfdata_info *info;
	struct session_env *env;
	struct run_stats stats; /* of this import alone */
	struct session *session;

	/* What the mappings are of. A range has the index + 1 as its inode. */
	struct file_claim *claims;
	char **paths;
	unsigned claim_count, claim_room;
	struct map *claim_of; /* hash of path and identity -> index */

	/* Where programs said that they keep the names of the code they make. */
	struct dump {
		pid_t pid;
		dev_t dev;
		uint64_t inode;
		char *path;
	} * dumps;
	unsigned dump_count;
	unsigned jit_nameless; /* programs without such names */

	bool other_host;
	uint64_t first_ns, last_ns, taken;
	uint64_t until_ns, left_out;
	bool late;
	uint64_t chain[CHAIN_MAX];
};

/* ---- files ---- */

static bool is_memory_file(const char *path)
{
	static const char *const prefixes[] = {"/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static int add_claim(struct import *im, const char *path, const struct file_claim *claim)
{
	if (im->claim_count == im->claim_room) {
		unsigned room = im->claim_room ? 2 * im->claim_room : 64;
		struct file_claim *claims = realloc(im->claims, room * sizeof(*claims));
		char **paths;

		if (!claims)
			return -ENOMEM;
		im->claims = claims;
		paths = realloc(im->paths, room * sizeof(*paths));
		if (!paths)
			return -ENOMEM;
		im->paths = paths;
		im->claim_room = room;
	}
	im->paths[im->claim_count] = strdup(path);
	if (!im->paths[im->claim_count])
		return -ENOMEM;
	im->claims[im->claim_count++] = *claim;
	return 0;
}

static void tell_build_id(struct file_claim *claim, const uint8_t *id, unsigned bytes)
{
	memcpy(claim->build_id, id, bytes);
	claim->build_id_bytes = (uint8_t)bytes;
}

static bool has_build_id(const struct import *im, const struct sideband *sb)
{
	unsigned bytes;

	return sb->build_id_bytes || perfdata_build_id(im->file, sb->text, &bytes);
}

/* What the file says of that mapping: its own build id, that of its path, or the inode. The vdso is
 * the kernel's. */
static void fill_claim(struct import *im, const struct sideband *sb, struct file_claim *claim)
{
	unsigned bytes = 0;
	const uint8_t *id = perfdata_build_id(im->file, sb->text, &bytes);

	memset(claim, 0, sizeof(*claim));
	/* Inodes are numbers of one host. */
	claim->inode = im->other_host ? 0 : sb->inode;
	if (sb->build_id_bytes)
		tell_build_id(claim, sb->build_id, sb->build_id_bytes);
	else if (id)
		tell_build_id(claim, id, bytes);
	if (strcmp(sb->text, "[vdso]") == 0)
		claim->trusted = !im->session->other_kernel;
}

/* The number that stands for the file of a mapping; 0: there are too many. */
static uint64_t claim_number(struct import *im, const struct sideband *sb)
{
	struct file_claim claim;
	uint64_t key, index;

	fill_claim(im, sb, &claim);
	key = hash_bytes(sb->text, strlen(sb->text),
		hash_bytes(&claim, sizeof(claim), claim.build_id_bytes ? 0 : sb->dev));
	if (map_get(im->claim_of, key, &index))
		return index + 1;
	if (im->claim_count == FILES_MAX || add_claim(im, sb->text, &claim) < 0)
		return 0;
	(void)map_set(im->claim_of, key, im->claim_count - 1);
	return im->claim_count;
}

static struct file_claim *claim_of_range(void *arg, const struct range *r)
{
	struct import *im = arg;

	return r->inode > 0 && r->inode <= im->claim_count ? &im->claims[r->inode - 1] : NULL;
}

/* ---- names of JIT code ---- */

/* ".../jit-PID.dump", mapped with the right to run it: that is how a program says where it is. */
static bool is_jitdump(const struct sideband *sb)
{
	const char *base = strrchr(sb->text, '/');
	size_t len = base ? strlen(base) : 0;

	return sb->inode && len > 10 && strncmp(base, "/jit-", 5) == 0 &&
		strcmp(base + len - 5, ".dump") == 0;
}

/* Without memory for it there are no names of it. */
static void note_dump(struct import *im, const struct sideband *sb)
{
	struct dump *grown;
	char *path;

	if (im->dump_count == DUMPS_MAX || !is_jitdump(sb))
		return;
	grown = realloc(im->dumps, (im->dump_count + 1) * sizeof(*grown));
	if (!grown)
		return;
	im->dumps = grown;
	path = strdup(sb->text);
	if (!path)
		return;
	grown[im->dump_count++] = (struct dump){sb->pid, sb->dev, sb->inode, path};
}

/* The first sample in code that the process has made: what names there are of it is read now. Paths
 * and pids are of one host. */
static void find_jit_names(struct import *im, const struct sample *s)
{
	struct session_process *p = processes_find(im->session->processes, s->pid);
	struct names_recorded where = {.monotonic = im->info->monotonic};
	struct jitrules *rules;
	int r = -ENOENT;

	for (unsigned i = 0; i < im->dump_count; i++)
		if (im->dumps[i].pid == s->pid) {
			where.dump_path = im->dumps[i].path;
			where.dump_dev = im->dumps[i].dev;
			where.dump_inode = im->dumps[i].inode;
		}
	if (p && s->pid > 0 && !im->other_host)
		r = names_jit_recorded(im->setup->names, p->pid, p->start_ticks, &where);
	im->jit_nameless += r < 0;
	if (r == 0 && names_jit_rules(im->setup->names, p->pid, p->start_ticks, &rules) == 0)
		space_set_jit_take(p->space, rules);
}

/* ---- records ---- */

static void see_time(struct import *im, uint64_t t_ns)
{
	if (!t_ns)
		return;
	if (!im->first_ns || t_ns < im->first_ns)
		im->first_ns = t_ns;
	if (t_ns > im->last_ns)
		im->last_ns = t_ns;
}

static bool may_go_on(const struct import *im)
{
	return !im->setup->stop || !atomic_load(im->setup->stop);
}

/* Return addresses, as everywhere, out of addresses of calls, as only our own files have. */
static void use_own_chain(struct import *im, struct sample *s)
{
	if (s->user_count > CHAIN_MAX)
		s->user_count = CHAIN_MAX;
	for (uint32_t i = 0; i < s->user_count; i++)
		im->chain[i] = s->user_chain[i] + (i > 0);
	s->user_chain = im->chain;
}

static bool on_sample(void *arg, const struct sample *sample, unsigned event)
{
	struct import *im = arg;
	struct sample own = *sample;

	if (im->info->ours && own.user_count)
		use_own_chain(im, &own);
	see_time(im, own.t_ns);
	feed_sample(im->env, im->session, &own, event);
	if (im->env->new_jit)
		find_jit_names(im, &own);
	im->env->new_jit = false;
	if (++im->taken % PROGRESS_EACH != 0)
		return true;
	im->late = time_mono_ns() > im->until_ns;
	return !im->late && may_go_on(im);
}

/* The pages behind are clean: they may go, and come back from the disk if need be. The budget for
 * memory is not there for them. */
static void on_progress(void *arg, size_t at)
{
	struct import *im = arg;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), end = at / page * page;

	if (end <= im->let_go)
		return;
	(void)madvise(im->bytes + im->let_go, end - im->let_go, MADV_DONTNEED);
	im->let_go = end;
}

static bool on_sideband(void *arg, const struct sideband *sb)
{
	struct import *im = arg;
	struct sideband own = *sb;

	/* pid -1: the kernel's own */
	if (own.pid < 0)
		return true;
	if (own.kind == SIDEBAND_MMAP) {
		if (!(own.prot & PROT_EXEC))
			return true;
		note_dump(im, &own);
		if (is_memory_file(own.text) && !has_build_id(im, &own)) {
			own.text = "//anon"; /* code that a program made */
			own.inode = 0;
		} else if ((own.text[0] == '/' && own.text[1] != '/') ||
			strcmp(own.text, "[vdso]") == 0) {
			own.inode = claim_number(im, &own);
		} else {
			own.inode = 0;
		}
		own.dev = 0;
	}
	feed_sideband(im->session, &own);
	return true;
}

/* ---- what is not as it was there ---- */

/* Names of the kernel's functions are right only for the same build at the same place. */
static bool is_other_kernel(const struct import *im)
{
	const struct perfdata_info *info = im->info;
	struct kernel_identity here;
	struct utsname name;

	names_kernel_identity(im->setup->names, &here);
	if (!info->kernel_text || info->kernel_text != here.text)
		return true;
	if (info->kernel_build_id_bytes)
		return info->kernel_build_id_bytes != here.build_id_bytes ||
			memcmp(info->kernel_build_id, here.build_id, here.build_id_bytes) != 0;
	return uname(&name) != 0 || strcmp(info->osrelease, name.release) != 0;
}

static bool is_other_host(const struct perfdata_info *info)
{
	struct utsname name;

	return info->hostname[0] &&
		(uname(&name) != 0 || strcmp(info->hostname, name.nodename) != 0);
}

static const char *why_not(int error)
{
	switch (error) {
	case -ESTALE: return "is another file now";
	case -ENOENT: return "is not here";
	case -ENODATA: return "has no build id to be known by";
	default: return strerror(-error);
	}
}

static void warn_of_files(struct import *im, struct buf *w)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < im->claim_count; i++)
		missing += im->claims[i].asked && im->claims[i].error != 0;
	if (!missing)
		return;
	buf_printf(w,
		"%u file%s of the recording cannot be used, so that their frames have no "
		"names and no unwind tables:",
		missing, missing == 1 ? "" : "s");
	for (unsigned i = 0, told = 0; i < im->claim_count && told <= FILES_TOLD; i++) {
		if (!im->claims[i].asked || im->claims[i].error == 0)
			continue;
		if (told++ == FILES_TOLD)
			buf_append_str(w, ", …");
		else
			buf_printf(w, "%s %s %s", told > 1 ? "," : "", im->paths[i],
				why_not(im->claims[i].error));
	}
	buf_append_char(w, '\n');
}

static bool has_kernel_samples(const struct import *im)
{
	for (unsigned i = 0; i < im->info->event_count; i++)
		if (im->info->events[i].kernel)
			return true;
	return false;
}

static void warn_of_records(
	const struct perfdata_info *info, const struct perfdata_stats *st, struct buf *w)
{
	if (st->cut)
		buf_printf(w, "the file was not read to its end: %s\n", st->cut);
	if (info->unfinished)
		buf_append_str(w, "the recording was not finished: its header tells no end\n");
	if (st->malformed)
		buf_printf(w, "%llu malformed record%s (%llu bytes) left out\n",
			(unsigned long long)st->malformed, st->malformed == 1 ? "" : "s",
			(unsigned long long)st->malformed_bytes);
	if (st->left_out)
		buf_printf(w, "%llu samples of %u further events left out: a session has %d\n",
			(unsigned long long)st->left_out, info->events_left_out, EVENTS_MAX);
	if (st->other_lost)
		buf_printf(w,
			"%llu records that are no samples were lost: mappings may be missing\n",
			(unsigned long long)st->other_lost);
	if (st->out_of_order)
		buf_printf(w, "%llu records came later than their time\n",
			(unsigned long long)st->out_of_order);
}

static void warn_all(struct import *im, const struct perfdata_stats *st)
{
	struct buf *w = &im->session->warnings;
	const struct perfdata_info *info = im->info;

	warn_of_records(info, st, w);
	for (unsigned i = 0; i < info->event_count; i++)
		if (info->events[i].user_only_leaf)
			buf_printf(w,
				"%s was recorded without call chains (perf record -g): each "
				"stack is one frame\n",
				info->events[i].spec.name);
	if (im->left_out)
		buf_printf(w,
			"the recording tells of more processes than are kept: %llu times one or "
			"its "
			"mappings were left out\n",
			(unsigned long long)im->left_out);
	if (im->late)
		buf_printf(w, "the import took longer than %d minutes and was ended\n",
			(int)(IMPORT_NS_MAX / 60000000000u));
	if (im->jit_nameless)
		buf_printf(w,
			"%u program%s made code while it ran that has no names: neither its "
			"jitdump nor /tmp/perf-PID.map is here\n",
			im->jit_nameless, im->jit_nameless == 1 ? "" : "s");
	if (im->session->other_kernel && has_kernel_samples(im))
		buf_append_str(w,
			"kernel functions have no names: the recording is not of the "
			"kernel that runs here, or does not tell, or the kernel hides its "
			"addresses\n");
	warn_of_files(im, w);
	if (!info->has_wall)
		buf_append_str(w,
			"the file does not tell when it was recorded: the times are those "
			"of its import (perf record -k CLOCK_MONOTONIC tells)\n");
}

/* ---- the session ---- */

static void fill_plan(const struct import *im, struct session_plan *p)
{
	const struct perfdata_info *info = im->info;
	struct session_request *q = &p->request;
	struct capture_options *c = &p->capture;

	session_request_defaults(q);
	q->event_count = 0;
	q->target = RUN_RECORDING;
	snprintf(q->text, sizeof(q->text), "%s", im->setup->name);
	q->max_frames = im->setup->config->max_frames;
	snprintf(p->target_text, sizeof(p->target_text), "recording %.120s%s%.120s%s",
		im->setup->name, info->cmdline[0] ? " (" : "", info->cmdline,
		info->cmdline[0] ? ")" : "");
	p->target.only_uid = (uid_t)-1;
	p->owner = im->setup->owner;
	(void)unwinder_kind_of(im->setup->config->unwinder, &p->unwinder);
	c->stack = STACK_FP;
	for (unsigned i = 0; i < info->event_count; i++) {
		const struct perfdata_event *e = &info->events[i];

		c->events[c->event_count++] = e->spec;
		snprintf(q->events[q->event_count++], sizeof(q->events[0]), "%s", e->spec.name);
		c->kernel |= e->kernel;
		if (e->stack_bytes) {
			c->stack = STACK_DWARF;
			c->stack_bytes = e->stack_bytes;
			p->adaptive = true; /* in that tails are taken over */
		}
	}
	/* The first event's, as there is one for a session. */
	c->freq_hz = info->events[0].freq_hz;
	c->period = info->events[0].period;
}

static int make_session(struct import *im)
{
	AUTO(free_auto) struct session_plan *plan = calloc(1, sizeof(*plan));
	int r;

	im->env = calloc(1, sizeof(*im->env));
	if (!plan || !im->env)
		return -ENOMEM;
	im->env->config = im->setup->config;
	im->env->broker = im->setup->broker;
	im->env->stats = &im->stats;
	r = map_new(64, &im->claim_of);
	if (r == 0)
		r = modules_new_recorded(
			im->setup->broker, MODULES_MAX, claim_of_range, im, &im->env->modules);
	if (r < 0)
		return r;
	fill_plan(im, plan);
	r = session_new_recorded(im->env, plan, &im->session);
	if (r == 0)
		im->session->other_kernel = is_other_kernel(im);
	im->other_host = is_other_host(im->info);
	return r;
}

/* The file's moments on the wall's clock, when it tells how to get there. */
static void set_times(struct import *im)
{
	struct session *s = im->session;
	const struct perfdata_info *info = im->info;
	uint64_t now = time_wall_ns();

	s->started_ns = im->first_ns;
	s->ended_ns = im->last_ns;
	s->ended_wall_ns = info->has_wall ? info->wall_ns + (im->last_ns - info->clock_ns) : now;
	s->started_wall_ns = s->ended_wall_ns - (im->last_ns - im->first_ns);
}

static void set_ledger(struct import *im, const struct perfdata_stats *st)
{
	struct ledger *l = &im->session->ledger;
	struct calltree_stats tree;

	calltree_get_stats(im->session->tree, &tree);
	l->samples = tree.samples;
	l->log_dropped = tree.log_dropped;
	l->log_from_ns = tree.log_from_ns;
	l->lost = st->lost;
	l->sideband_lost = st->other_lost;
	l->throttled = st->throttled;
	l->unknown_records = st->unknown;
	l->malformed_bytes = st->malformed_bytes;
}

static int read_all(struct import *im)
{
	struct perfdata_sink sink = {on_sample, on_sideband, on_progress, im};
	uint64_t before = time_thread_cpu_ns();
	struct perfdata_stats st;
	int r = perfdata_read(im->file, &sink);

	perfdata_get_stats(im->file, &st);
	if (r < 0 && !(r == -ECANCELED && im->late))
		return r;
	im->left_out = processes_left_out(im->session->processes);
	warn_all(im, &st);
	set_times(im);
	set_ledger(im, &st);
	im->session->cpu_ns = time_thread_cpu_ns() - before;
	session_end(im->env, im->session, SESSION_ENDED, "end_of_file");
	return im->session->final && im->session->head ? 0 : -ENOMEM;
}

static int fail(int r, struct buf *message)
{
	switch (r) {
	case -ECANCELED: buf_append_str(message, "the daemon is shutting down"); break;
	case -ENOMEM: buf_append_str(message, "there is no memory for this import"); break;
	default: buf_printf(message, "the import failed: %s", strerror(-r)); return RUN_FAILED;
	}
	return RUN_UNAVAILABLE;
}

static void import_done(struct import *im)
{
	session_free(im->session);
	perfdata_free(im->file);
	if (im->env) {
		for (unsigned i = 0; i < UNWINDER_KINDS; i++)
			unwinder_free(im->env->unwinders[i]);
		modules_free(im->env->modules);
		free(im->env);
	}
	for (unsigned i = 0; i < im->claim_count; i++)
		free(im->paths[i]);
	for (unsigned i = 0; i < im->dump_count; i++)
		free(im->dumps[i].path);
	free(im->dumps);
	free(im->paths);
	free(im->claims);
	map_free(im->claim_of);
}

static int import_bytes(struct import *im, const void *bytes, size_t len, struct buf *message)
{
	AUTO(buf_done) struct buf why = BUF_INIT;
	int r = perfdata_open(bytes, len, &im->file, &why);

	if (r == -EINVAL) {
		buf_printf(message, "The file cannot be imported: %s.", why.data ? why.data : "?");
		return RUN_BAD_REQUEST;
	}
	if (r < 0)
		return fail(r, message);
	im->info = perfdata_info(im->file);
	if (im->info->event_count == 0) {
		buf_append_str(
			message, "The file cannot be imported: it has no event that samples.");
		return RUN_BAD_REQUEST;
	}
	r = make_session(im);
	if (r == 0)
		r = read_all(im);
	return r < 0 ? fail(r, message) : RUN_OK;
}

static int import_perfdata(const struct import_setup *setup, void *bytes, size_t len,
	struct session **ret_session, struct buf *message)
{
	AUTO(free_auto) struct import *im = calloc(1, sizeof(*im));
	int e;

	if (!im)
		return fail(-ENOMEM, message);
	im->setup = setup;
	im->bytes = bytes;
	im->until_ns = time_mono_ns() + IMPORT_NS_MAX;
	e = import_bytes(im, bytes, len, message);
	if (e == RUN_OK)
		*ret_session = MOVE(im->session);
	import_done(im);
	return e;
}

int import_file(
	const struct import_setup *setup, int fd, struct session **ret_session, struct buf *message)
{
	struct stat st;
	void *bytes;
	size_t len;
	int e;

	if (fstat(fd, &st) < 0)
		return fail(-errno, message);
	if (st.st_size == 0) {
		buf_append_str(message, "The file cannot be imported: it is empty.");
		return RUN_BAD_REQUEST;
	}
	len = (size_t)st.st_size;
	bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return fail(-errno, message);
	(void)sigbus_guard(bytes, len); /* it may be somebody's, who cuts it */
	(void)madvise(bytes, len, MADV_SEQUENTIAL);
	e = import_folded_is(bytes, len) ? import_folded(setup, bytes, len, ret_session, message)
					 : import_perfdata(setup, bytes, len, ret_session, message);
	sigbus_unguard(bytes);
	munmap(bytes, len);
	return e;
}
