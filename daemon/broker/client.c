#include "daemon/broker/client.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <string.h>

#include "base/io.h"
#include "daemon/broker/wire.h"

#define LIST_BYTES_MAX ((size_t)64 << 20) /* four times as many processes as Linux can have */

struct broker {
	int sock;
	pthread_mutex_t lock; /* held from a request until its answer */
};

int broker_new(int sock, struct broker **ret_broker)
{
	struct broker *b = calloc(1, sizeof(*b));

	if (!b) {
		close(sock);
		return -ENOMEM;
	}
	b->sock = sock;
	pthread_mutex_init(&b->lock, NULL);
	*ret_broker = b;
	return 0;
}

void broker_free(struct broker *b)
{
	if (!b)
		return;
	close(b->sock);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* What follows the head of a request. */
struct parts {
	const void *attr;
	const char *text, *name;
};

static size_t pack(const struct broker_request *head, const struct parts *parts, char *out)
{
	size_t len = sizeof(*head);

	memcpy(out, head, sizeof(*head));
	if (head->attr_bytes)
		memcpy(out + len, parts->attr, head->attr_bytes);
	len += head->attr_bytes;
	if (head->text_bytes)
		memcpy(out + len, parts->text, head->text_bytes);
	len += head->text_bytes;
	if (head->name_bytes)
		memcpy(out + len, parts->name, head->name_bytes);
	return len + head->name_bytes;
}

static int gone_or(ssize_t n)
{
	return n == 0 || n == -EPIPE || n == -ECONNRESET ? -EPIPE : (int)n;
}

static int exchange(struct broker *b, const void *message, size_t len, struct broker_answer *answer,
	int *ret_fd)
{
	size_t fds = 1;
	ssize_t n = io_send_fds(b->sock, message, len, NULL, 0);

	if (n <= 0)
		return gone_or(n);
	n = io_recv_fds(b->sock, answer, sizeof(*answer), ret_fd, &fds);
	/* The answer always fits, so what did not is the descriptor: our table is full. */
	if (n == -EMSGSIZE)
		return -EMFILE;
	if (n <= 0)
		return gone_or(n);
	if (fds == 0)
		*ret_fd = -1;
	if (n != sizeof(*answer) || answer->version != BROKER_VERSION || answer->status > 0)
		return -EPROTO;
	return answer->status;
}

/* ret_fd NULL: the answer has none. */
static int ask(struct broker *b, struct broker_request *head, const struct parts *parts,
	struct broker_answer *answer, int *ret_fd)
{
	_Alignas(8) char message[BROKER_MESSAGE_MAX];
	int fd = -1, r;

	head->version = BROKER_VERSION;
	head->text_bytes = parts->text ? (uint32_t)strnlen(parts->text, BROKER_TEXT_MAX) : 0;
	head->name_bytes = parts->name ? (uint32_t)strnlen(parts->name, BROKER_NAME_MAX) : 0;
	if (head->text_bytes >= BROKER_TEXT_MAX || head->name_bytes >= BROKER_NAME_MAX)
		return -ENAMETOOLONG;

	pthread_mutex_lock(&b->lock);
	r = exchange(b, message, pack(head, parts, message), answer, &fd);
	pthread_mutex_unlock(&b->lock);

	if (r == 0 && ret_fd && fd < 0)
		r = -EPROTO;
	if (r == 0 && ret_fd)
		*ret_fd = MOVE_FD(fd);
	if (fd >= 0)
		close(fd);
	return r;
}

static int ask_fd(
	struct broker *b, struct broker_request *head, const struct parts *parts, int *ret_fd)
{
	struct broker_answer answer;

	return ask(b, head, parts, &answer, ret_fd);
}

int broker_perf_open(struct broker *b, const struct perf_event_attr *attr, pid_t pid, int cpu,
	const char *cgroup, int *ret_fd)
{
	struct broker_request head = {
		.op = BROKER_OP_PERF,
		.pid = pid,
		.tid = cpu,
		.attr_bytes = attr->size,
	};

	if (attr->size > sizeof(*attr))
		return -E2BIG;
	return ask_fd(b, &head, &(struct parts){.attr = attr, .text = cgroup}, ret_fd);
}

int broker_open_proc(struct broker *b, pid_t pid, pid_t tid, enum broker_proc what, int *ret_fd)
{
	struct broker_request head = {
		.op = BROKER_OP_PROC,
		.pid = pid,
		.tid = tid,
		.what = what,
	};

	return ask_fd(b, &head, &(struct parts){0}, ret_fd);
}

int broker_list(struct broker *b, pid_t pid, struct buf *into)
{
	struct broker_request head = {.op = BROKER_OP_LIST, .pid = pid};
	AUTO(close_auto) int fd = -1;
	int r = ask_fd(b, &head, &(struct parts){0}, &fd);

	return r < 0 ? r : io_read_fd(fd, LIST_BYTES_MAX, into);
}

/* The file behind a mapping, of the kind that op is for. */
static int open_behind(struct broker *b, enum broker_op op, pid_t pid, uint64_t start, uint64_t end,
	const char *path, dev_t dev, uint64_t inode, int *ret_fd)
{
	struct broker_request head = {
		.op = op,
		.pid = pid,
		.start = start,
		.end = end,
		.dev = dev,
		.inode = inode,
	};

	return ask_fd(b, &head, &(struct parts){.text = path}, ret_fd);
}

int broker_open_mapped(struct broker *b, pid_t pid, uint64_t start, uint64_t end, const char *path,
	dev_t dev, uint64_t inode, int *ret_fd)
{
	return open_behind(b, BROKER_OP_MAPPED, pid, start, end, path, dev, inode, ret_fd);
}

int broker_open_jitdump(struct broker *b, pid_t pid, uint64_t start, uint64_t end, const char *path,
	dev_t dev, uint64_t inode, int *ret_fd)
{
	return open_behind(b, BROKER_OP_JITDUMP, pid, start, end, path, dev, inode, ret_fd);
}

int broker_open_elf(struct broker *b, pid_t pid, const char *path, int *ret_fd)
{
	struct broker_request head = {.op = BROKER_OP_ELF, .pid = pid};

	return ask_fd(b, &head, &(struct parts){.text = path}, ret_fd);
}

int broker_open_perfmap(struct broker *b, pid_t pid, pid_t ns_pid, int *ret_fd)
{
	struct broker_request head = {.op = BROKER_OP_PERFMAP, .pid = pid, .tid = ns_pid};

	return ask_fd(b, &head, &(struct parts){0}, ret_fd);
}

int broker_open_host(struct broker *b, enum broker_host what, int *ret_fd)
{
	struct broker_request head = {.op = BROKER_OP_HOST, .what = what};

	return ask_fd(b, &head, &(struct parts){0}, ret_fd);
}

int broker_open_tracepoint(struct broker *b, const char *group, const char *name, int *ret_fd)
{
	struct broker_request head = {.op = BROKER_OP_TRACEPOINT};

	return ask_fd(b, &head, &(struct parts){.text = group, .name = name}, ret_fd);
}

int broker_open_cgroup(struct broker *b, const char *path, enum broker_cgroup what, int *ret_fd)
{
	struct broker_request head = {.op = BROKER_OP_CGROUP, .what = what};

	return ask_fd(b, &head, &(struct parts){.text = path}, ret_fd);
}

int broker_new_reader(struct broker *b, int *ret_sock, pid_t *ret_pid)
{
	struct broker_request head = {.op = BROKER_OP_READER};
	struct broker_answer answer;
	int r = ask(b, &head, &(struct parts){0}, &answer, ret_sock);

	if (r == 0)
		*ret_pid = answer.pid;
	return r;
}

int broker_get_info(struct broker *b, struct broker_info *ret_info)
{
	struct broker_request head = {.op = BROKER_OP_INFO};
	struct broker_answer answer;
	int r = ask(b, &head, &(struct parts){0}, &answer, NULL);

	if (r == 0)
		*ret_info = answer.info;
	return r;
}
