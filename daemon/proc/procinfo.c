/* /proc/PID/stat and status, read through the broker. */
#include "daemon/proc/procinfo.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"

#define FILE_MAX ((size_t)1 << 20)

/* Fields of stat by proc(5), counted from 1. */
enum {
	STAT_STATE = 3,
	STAT_PPID,
	STAT_UTIME = 14,
	STAT_STIME,
	STAT_THREADS = 20,
	STAT_START = 22,
	STAT_RSS = 24
};

struct cursor {
	const char *at, *end;
};

static bool at_digit(const struct cursor *c)
{
	return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

static bool take_u64(struct cursor *c, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (!at_digit(c))
		return false;
	for (; at_digit(c); c->at++)
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
			__builtin_add_overflow(value, (uint64_t)(*c->at - '0'), &value))
			return false;
	*ret = value;
	return value <= max;
}

/* Any field but the state: a number, perhaps with a sign, of which the absolute value is taken; the
 * kernel prints negative ones in fields that nobody here reads. */
static bool take_field(struct cursor *c, uint64_t *ret)
{
	if (c->at == c->end || *c->at != ' ')
		return false;
	c->at++;
	if (c->at < c->end && *c->at == '-')
		c->at++;
	return take_u64(c, UINT64_MAX, ret);
}

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool take_comm(struct cursor *c, struct procinfo *info)
{
	const char *close;
	size_t len;

	if (c->end - c->at < 2 || c->at[0] != ' ' || c->at[1] != '(')
		return false;
	c->at += 2;
	/* The last one: the name may hold any number of them, the fields after it none. */
	close = memrchr(c->at, ')', (size_t)(c->end - c->at));
	if (!close)
		return false;
	len = (size_t)(close - c->at);
	if (len >= sizeof(info->comm))
		len = sizeof(info->comm) - 1;
	memcpy(info->comm, c->at, len);
	info->comm[len] = '\0';
	c->at = close + 1;
	return true;
}

int procinfo_parse_stat(const char *text, size_t len, struct procinfo *info)
{
	struct cursor c = {text, text + len};
	uint64_t fields[STAT_RSS + 1] = {0};
	uint64_t pid;

	if (!take_u64(&c, INT32_MAX, &pid) || !take_comm(&c, info))
		return -EINVAL;
	if (c.end - c.at < 2 || c.at[0] != ' ')
		return -EINVAL;
	info->state = c.at[1];
	c.at += 2;
	for (unsigned i = STAT_PPID; i <= STAT_RSS; i++)
		if (!take_field(&c, &fields[i]))
			return -EINVAL;
	if (fields[STAT_PPID] > INT32_MAX || fields[STAT_THREADS] > INT32_MAX)
		return -EINVAL;
	info->pid = (pid_t)pid;
	info->ppid = (pid_t)fields[STAT_PPID];
	info->cpu_ticks = fields[STAT_UTIME] + fields[STAT_STIME];
	info->threads = (unsigned)fields[STAT_THREADS];
	info->start_ticks = fields[STAT_START];
	info->rss_bytes = fields[STAT_RSS] * page_bytes();
	return 0;
}

/* The numbers after "Uid:" and the like, blank-separated; how many there were. */
static unsigned take_numbers(struct cursor *c, uint64_t *numbers, unsigned max)
{
	unsigned count = 0;

	while (count < max) {
		while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
			c->at++;
		if (!take_u64(c, UINT32_MAX, &numbers[count]))
			break;
		count++;
	}
	return count;
}

static bool take_word(struct cursor *c, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(c->end - c->at) < len || memcmp(c->at, word, len) != 0)
		return false;
	c->at += len;
	return true;
}

int procinfo_parse_status(const char *text, size_t len, struct procinfo *info)
{
	const char *end = text + len;
	uint64_t numbers[64]; /* pid namespaces nest 32 deep at most */
	bool have_uid = false;

	/* The name in the first line has its newlines escaped, so a line's start can be trusted. */
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct cursor c = {text, newline ? newline : end};
		unsigned count;

		if (take_word(&c, "Uid:")) {
			have_uid = take_numbers(&c, numbers, 2) == 2;
			if (have_uid)
				info->uid = (uid_t)numbers[1];
		} else if (take_word(&c, "Tgid:")) {
			if (take_numbers(&c, numbers, 1) == 1 && numbers[0] <= INT32_MAX)
				info->tgid = (pid_t)numbers[0];
		} else if (take_word(&c, "NSpid:")) {
			count = take_numbers(&c, numbers, 64);
			if (count > 0 && numbers[count - 1] <= INT32_MAX)
				info->ns_pid = (pid_t)numbers[count - 1];
		}
		if (!newline)
			break;
		text = newline + 1;
	}
	return have_uid ? 0 : -EINVAL;
}

static int read_proc(
	struct broker *b, pid_t pid, pid_t tid, enum broker_proc what, struct buf *into)
{
	AUTO(close_auto) int fd = -1;
	int r = broker_open_proc(b, pid, tid, what, &fd);

	if (r == 0)
		r = io_read_fd(fd, FILE_MAX, into);
	/* -ENOENT at the open and -ESRCH at the read tell the same. */
	return r == -ENOENT ? -ESRCH : r;
}

int procinfo_read_thread(struct broker *b, pid_t pid, pid_t tid, struct procinfo *ret_info)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	struct procinfo info = {0};
	int r = read_proc(b, pid, tid, BROKER_PROC_STAT, &text);

	if (r == 0)
		r = procinfo_parse_stat(text.data ? text.data : "", text.len, &info);
	if (r == 0)
		*ret_info = info;
	return r;
}

int procinfo_read_stat(struct broker *b, pid_t pid, struct procinfo *ret_info)
{
	return procinfo_read_thread(b, pid, 0, ret_info);
}

int procinfo_read(struct broker *b, pid_t pid, struct procinfo *ret_info)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	struct procinfo info;
	int r = procinfo_read_stat(b, pid, &info);

	if (r == 0)
		r = read_proc(b, pid, 0, BROKER_PROC_STATUS, &text);
	if (r == 0)
		r = procinfo_parse_status(text.data ? text.data : "", text.len, &info);
	if (r == 0)
		*ret_info = info;
	return r;
}

bool procinfo_is_gone(struct broker *b, pid_t pid, uint64_t start_ticks)
{
	struct procinfo info = {.start_ticks = 0};
	int r = procinfo_read_stat(b, pid, &info);

	if (r == -ESRCH)
		return true;
	if (r < 0)
		return false;
	if (info.start_ticks != start_ticks)
		return true;
	/* Of a leader alone: threads that live keep the count above 1. */
	return (info.state == 'Z' || info.state == 'X') && info.threads <= 1;
}
