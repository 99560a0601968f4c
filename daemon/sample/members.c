#include "daemon/sample/members.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/map.h"
#include "daemon/proc/procinfo.h"

/* A process is a word in a map by pid: flags, and the number of its threads above them. */
#define MEMBER        UINT64_C(1)
#define UID_KNOWN     UINT64_C(2)
#define UID_WANTED    UINT64_C(4)
#define COUNTED       UINT64_C(8)  /* the number of threads is right: we saw its birth or an exec */
#define MAY_BE_GONE   UINT64_C(16) /* a thread of it ended */
#define THREADS_SHIFT 32
#define ONE_THREAD    (UINT64_C(1) << THREADS_SHIFT)

/* starts: start_ticks of those that are not COUNTED, to know them from another of the same pid. */
struct members {
	struct broker *b;
	enum members_rule rule;
	char name[COMM_BYTES];
	uid_t only_uid;
	bool every_thread;
	uint64_t since_ticks; /* of those that were not added, what started earlier does not belong
			       */
	struct map *processes, *starts;
};

static uint64_t now_ticks(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000) *
		(uint64_t)sysconf(_SC_CLK_TCK) / 1000;
}

int members_new(struct broker *b, enum members_rule rule, const char *name, uid_t only_uid,
	bool every_thread, struct members **ret_members)
{
	AUTO(members_free_auto) struct members *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->b = b;
	m->rule = rule;
	m->only_uid = only_uid;
	m->every_thread = every_thread;
	m->since_ticks = now_ticks();
	if (name)
		strncpy(m->name, name, sizeof(m->name) - 1);
	r = map_new(64, &m->processes);
	if (r == 0)
		r = map_new(64, &m->starts);
	if (r == 0)
		*ret_members = MOVE(m);
	return r;
}

void members_free(struct members *m)
{
	if (!m)
		return;
	map_free(m->processes);
	map_free(m->starts);
	free(m);
}

void members_go_on(struct members *m, uid_t only_uid, bool every_thread)
{
	m->only_uid = only_uid;
	m->every_thread = every_thread;
}

static uint64_t get(const struct members *m, pid_t pid)
{
	uint64_t word = 0;

	map_get(m->processes, (uint64_t)pid, &word);
	return word;
}

/* Without memory the process stays what it was: its samples are counted as filtered. */
static void set(struct members *m, pid_t pid, uint64_t word)
{
	if (word & (MEMBER | UID_KNOWN))
		map_set(m->processes, (uint64_t)pid, word);
	else
		map_remove(m->processes, (uint64_t)pid, NULL);
	if (!(word & MEMBER) || (word & COUNTED))
		map_remove(m->starts, (uint64_t)pid, NULL);
}

static void forget(struct members *m, pid_t pid)
{
	set(m, pid, 0);
}

int members_add(struct members *m, pid_t pid, uint64_t start_ticks)
{
	int r = map_set(m->processes, (uint64_t)pid, get(m, pid) | MEMBER);

	return r < 0 ? r : map_set(m->starts, (uint64_t)pid, start_ticks);
}

static uint64_t look_up_uid(struct members *m, pid_t pid, uint64_t word)
{
	struct procinfo info;

	word |= UID_KNOWN;
	word &= ~UID_WANTED;
	/* Whose it was cannot be known any more: then it is not shown. */
	if (pid > 0 && procinfo_read(m->b, pid, &info) == 0 && info.uid == m->only_uid)
		word |= UID_WANTED;
	set(m, pid, word);
	return word;
}

bool members_has(struct members *m, pid_t pid)
{
	uint64_t word = get(m, pid);

	if (m->rule != MEMBERS_ALL && !(word & MEMBER))
		return false;
	if (m->only_uid == (uid_t)-1)
		return true;
	if (!(word & UID_KNOWN))
		word = look_up_uid(m, pid, word);
	return (word & UID_WANTED) != 0;
}

static bool has_name(const struct members *m, const char *comm)
{
	return strncmp(comm, m->name, COMM_BYTES - 1) == 0;
}

/* A name was taken by the leader: who has the right one joins, others leave. */
static void renamed(struct members *m, const struct sideband *s)
{
	uint64_t word = get(m, s->pid);
	struct procinfo info;

	if (s->kind == SIDEBAND_EXEC) {
		/* All other threads have ended by now; and the program may be a set-uid one. */
		word &= (ONE_THREAD - 1) & ~(UID_KNOWN | UID_WANTED | COUNTED);
		word |= ONE_THREAD;
		if (m->every_thread)
			word |= COUNTED;
	}
	if (m->rule == MEMBERS_NAME && !has_name(m, s->text)) {
		word &= ~MEMBER;
	} else if (m->rule == MEMBERS_NAME) {
		if (!(word & (MEMBER | COUNTED)) && procinfo_read_stat(m->b, s->pid, &info) == 0)
			map_set(m->starts, (uint64_t)s->pid, info.start_ticks);
		word |= MEMBER;
	}
	set(m, s->pid, word);
}

/* The child has the name of the thread that forked, which only the leader's is known of. */
static bool child_has_name(struct members *m, const struct sideband *s, uint64_t parent)
{
	struct procinfo info;

	if (s->ptid == s->ppid)
		return (parent & MEMBER) != 0;
	return procinfo_read_stat(m->b, s->pid, &info) == 0 && has_name(m, info.comm);
}

/* A new process; whatever had its pid before is gone. */
static void born(struct members *m, const struct sideband *s)
{
	uint64_t parent = get(m, s->ppid), word = parent & (MEMBER | UID_KNOWN | UID_WANTED);

	forget(m, s->pid);
	if (m->rule == MEMBERS_NAME) {
		word &= ~MEMBER;
		if (child_has_name(m, s, parent))
			word |= MEMBER;
	}
	word |= ONE_THREAD;
	if (m->every_thread)
		word |= COUNTED;
	set(m, s->pid, word);
}

static void thread_born(struct members *m, pid_t pid)
{
	uint64_t word = get(m, pid);

	if (word & COUNTED)
		map_set(m->processes, (uint64_t)pid, word + ONE_THREAD);
}

static void thread_ended(struct members *m, pid_t pid, bool leader)
{
	uint64_t word = get(m, pid);

	if (word == 0)
		return;
	if (word & COUNTED) {
		word -= ONE_THREAD;
		if (word >> THREADS_SHIFT == 0)
			word = 0;
	} else if (word & MEMBER) {
		word |= MAY_BE_GONE;
	} else if (leader) {
		/* Only whose it is was known; should threads go on, that is looked up again. */
		word = 0;
	}
	set(m, pid, word);
}

static bool is_about_member(struct members *m, const struct sideband *s)
{
	return members_has(m, s->pid) || (s->kind == SIDEBAND_FORK && members_has(m, s->ppid));
}

bool members_follow(struct members *m, const struct sideband *s)
{
	bool before;

	/* A birth first: its pid may have been another's. */
	if (s->kind == SIDEBAND_FORK && s->pid == s->tid) {
		born(m, s);
		return is_about_member(m, s);
	}
	before = is_about_member(m, s);
	switch (s->kind) {
	case SIDEBAND_FORK: thread_born(m, s->pid); break;
	case SIDEBAND_EXIT: thread_ended(m, s->pid, s->pid == s->tid); return before;
	case SIDEBAND_EXEC:
	case SIDEBAND_COMM:
		if (s->pid == s->tid)
			renamed(m, s);
		break;
	case SIDEBAND_MMAP: break;
	}
	return before || is_about_member(m, s);
}

/* A walk must not change the map, so the pids are gathered first. */
static int gather(const struct members *m, uint64_t flag, struct buf *pids)
{
	uint64_t key, word;
	size_t cursor = 0;

	while (map_next(m->processes, &cursor, &key, &word)) {
		pid_t pid = (pid_t)key;

		if (word & flag)
			buf_append(pids, &pid, sizeof(pid));
	}
	return pids->error;
}

static pid_t pid_at(const struct buf *pids, size_t at)
{
	pid_t pid;

	memcpy(&pid, pids->data + at, sizeof(pid));
	return pid;
}

static void check_for_end(struct members *m, pid_t pid)
{
	uint64_t start_ticks, word = get(m, pid);
	struct procinfo info;

	if (map_get(m->starts, (uint64_t)pid, &start_ticks)) {
		if (procinfo_is_gone(m->b, pid, start_ticks))
			forget(m, pid);
		else
			set(m, pid, word & ~MAY_BE_GONE);
	} else if (procinfo_read_stat(m->b, pid, &info) == -ESRCH) {
		forget(m, pid);
	}
}

void members_prune(struct members *m)
{
	AUTO(buf_done) struct buf pids = BUF_INIT;

	if (gather(m, MAY_BE_GONE, &pids) < 0)
		return;
	for (size_t at = 0; at < pids.len; at += sizeof(pid_t))
		check_for_end(m, pid_at(&pids, at));
}

static void rescan_one(struct members *m, pid_t pid)
{
	uint64_t word = get(m, pid);
	struct procinfo info;

	if (procinfo_read_stat(m->b, pid, &info) < 0)
		return;
	/* The numbers of threads cannot be trusted any more. */
	word &= (ONE_THREAD - 1) & ~COUNTED;
	if (m->rule == MEMBERS_NAME && has_name(m, info.comm))
		word |= MEMBER;
	else if (m->rule == MEMBERS_NAME)
		word &= ~MEMBER;
	if (m->rule == MEMBERS_TREE && (get(m, info.ppid) & MEMBER) &&
		info.start_ticks >= m->since_ticks)
		word |= MEMBER;
	set(m, pid, word & ~(UID_KNOWN | UID_WANTED));
	if (word & MEMBER)
		map_set(m->starts, (uint64_t)pid, info.start_ticks);
}

int members_rescan(struct members *m)
{
	AUTO(buf_done) struct buf pids = BUF_INIT, members = BUF_INIT;
	int r = broker_list(m->b, 0, &pids);

	if (r == 0)
		r = gather(m, MEMBER, &members);
	if (r < 0)
		return r;
	for (size_t at = 0; at < members.len; at += sizeof(pid_t)) {
		pid_t pid = pid_at(&members, at);
		struct procinfo info;

		if (procinfo_read_stat(m->b, pid, &info) == -ESRCH)
			forget(m, pid);
	}
	/* By rising pid in the list of /proc: parents mostly before their children. */
	for (size_t at = 0; at + sizeof(pid_t) <= pids.len; at += sizeof(pid_t))
		rescan_one(m, pid_at(&pids, at));
	return 0;
}

int members_list(const struct members *m, struct buf *into)
{
	return gather(m, MEMBER, into);
}

size_t members_count(const struct members *m)
{
	return map_count(m->processes);
}
