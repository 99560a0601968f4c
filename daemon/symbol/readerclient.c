#include "daemon/symbol/readerclient.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include "base/io.h"
#include "base/log.h"
#include "daemon/cfi/table.h"

#define ANSWER_NS \
	((READER_WALL_SECONDS + 2) * 1000000000ull) /* the reader ends itself before that */
#define SPAWN_WAIT_NS 1500000000ull /* a little longer than the broker makes us wait */
#define SPAWN_NAP_NS  50000000ull

struct readerclient {
	reader_spawn_fn spawn;
	void *arg;
	int sock;             /* -1: none */
	pthread_mutex_t lock; /* of the stats alone */
	struct readerclient_stats stats;
};

int readerclient_new(reader_spawn_fn spawn, void *arg, struct readerclient **ret_client)
{
	struct readerclient *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->spawn = spawn;
	c->arg = arg;
	c->sock = -1;
	pthread_mutex_init(&c->lock, NULL);
	*ret_client = c;
	return 0;
}

void readerclient_free(struct readerclient *c)
{
	if (!c)
		return;
	if (c->sock >= 0)
		close(c->sock);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void readerclient_get_stats(struct readerclient *c, struct readerclient_stats *ret_stats)
{
	pthread_mutex_lock(&c->lock);
	*ret_stats = c->stats;
	pthread_mutex_unlock(&c->lock);
}

static void count(struct readerclient *c, uint64_t *what)
{
	pthread_mutex_lock(&c->lock);
	++*what;
	pthread_mutex_unlock(&c->lock);
}

static void set_pid(struct readerclient *c, pid_t pid)
{
	pthread_mutex_lock(&c->lock);
	c->stats.pid = pid;
	pthread_mutex_unlock(&c->lock);
}

/* Whatever the old reader still does ends when the broker starts the next one. */
static void drop_reader(struct readerclient *c)
{
	if (c->sock >= 0)
		close(c->sock);
	c->sock = -1;
	set_pid(c, 0);
}

/* A reader that waits for a request says nothing: anything to be read is its end. */
static bool is_alive(struct readerclient *c)
{
	struct pollfd p = {.fd = c->sock, .events = POLLIN};

	return c->sock >= 0 && poll(&p, 1, 0) == 0;
}

static int ensure_reader(struct readerclient *c)
{
	uint64_t until = time_mono_ns() + SPAWN_WAIT_NS;
	pid_t pid = 0;
	int r;

	if (is_alive(c))
		return 0;
	if (c->sock >= 0)
		count(c, &c->stats.deaths);
	drop_reader(c);
	while ((r = c->spawn(c->arg, &c->sock, &pid)) == -EAGAIN && time_mono_ns() < until) {
		struct timespec nap = {.tv_nsec = SPAWN_NAP_NS};
		nanosleep(&nap, NULL);
	}
	if (r < 0) {
		c->sock = -1;
		return r;
	}
	set_pid(c, pid);
	return 0;
}

void reader_result_done(struct reader_result *r)
{
	if (r->map)
		munmap((void *)(uintptr_t)r->map, r->bytes);
	memset(r, 0, sizeof(*r));
}

static bool frames_are_sound(const struct reader_result *r)
{
	for (uint32_t i = 0; i < r->head->frame_count; i++) {
		const struct reader_frame *f = &r->frames[i];
		if ((f->name == 0) != (f->source == READER_FROM_FDE) ||
			f->name >= r->head->string_bytes || f->file >= r->head->string_bytes ||
			f->inlined > 1 || f->source >= READER_FROM_COUNT)
			return false;
	}
	return true;
}

int reader_answer_check(
	const void *data, size_t bytes, uint32_t count_asked, struct reader_result *ret_result)
{
	struct reader_result r = {.map = data, .bytes = bytes, .head = data};
	uint64_t starts_bytes = (((uint64_t)count_asked + 1) * sizeof(uint32_t) + 7) & ~7ull;
	uint64_t frames_bytes;

	if (bytes < sizeof(*r.head) || bytes > READER_ANSWER_MAX ||
		r.head->addr_count != count_asked || r.head->string_bytes == 0)
		return -EBADMSG;
	frames_bytes = (uint64_t)r.head->frame_count * sizeof(struct reader_frame);
	if (sizeof(*r.head) + starts_bytes + frames_bytes + r.head->string_bytes != bytes)
		return -EBADMSG;
	r.starts = (const uint32_t *)(r.head + 1);
	r.frames = (const struct reader_frame *)((const char *)r.starts + starts_bytes);
	r.strings = (const char *)r.frames + frames_bytes;
	if (r.strings[0] != 0 || r.strings[r.head->string_bytes - 1] != 0 || r.starts[0] != 0 ||
		r.starts[count_asked] != r.head->frame_count)
		return -EBADMSG;
	for (uint32_t i = 0; i < count_asked; i++)
		if (r.starts[i] > r.starts[i + 1])
			return -EBADMSG;
	if (!frames_are_sound(&r))
		return -EBADMSG;
	*ret_result = r;
	return 0;
}

/* Maps what the reader sent. Without the seals it could change, or take away, what was checked. */
static int map_answer(int fd, uint64_t bytes, const void **ret_map)
{
	int want = F_SEAL_WRITE | F_SEAL_SHRINK;
	struct stat st;
	void *map;

	if (bytes == 0 || bytes > READER_ANSWER_MAX || (fcntl(fd, F_GET_SEALS) & want) != want ||
		fstat(fd, &st) != 0 || (uint64_t)st.st_size != bytes)
		return -EBADMSG;
	map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ret_map = map;
	return 0;
}

static int wait_for_answer(struct readerclient *c)
{
	struct pollfd p = {.fd = c->sock, .events = POLLIN};
	uint64_t until = time_mono_ns() + ANSWER_NS, now;

	while ((now = time_mono_ns()) < until) {
		int r = poll(&p, 1, (int)((until - now) / 1000000 + 1));
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
	}
	return -ETIMEDOUT;
}

/* The answer's header, and its mapping when it has one. */
static int receive(struct readerclient *c, struct reader_result *ret)
{
	AUTO(close_auto) int fd = -1;
	struct reader_answer head;
	size_t fds = 1;
	ssize_t n;
	int r = wait_for_answer(c);

	if (r < 0)
		return r;
	n = io_recv_fds(c->sock, &head, sizeof(head), &fd, &fds);
	if (fds == 0)
		fd = -1;
	if (n != sizeof(head) || head.version != READER_VERSION || head.status > 0)
		return -EBADMSG;
	ret->status = head.status;
	ret->flags = head.flags;
	if (head.status < 0)
		return fd < 0 ? 0 : -EBADMSG;
	r = fd < 0 ? -EBADMSG : map_answer(fd, head.bytes, &ret->map);
	ret->bytes = r == 0 ? head.bytes : 0;
	return r;
}

static int ask(struct readerclient *c, const struct reader_request *req, const int *fds,
	size_t fd_count, struct reader_result *ret)
{
	ssize_t n;
	int r;

	memset(ret, 0, sizeof(*ret));
	for (int attempt = 0; attempt < 2; attempt++) {
		r = ensure_reader(c);
		if (r < 0)
			return r;
		n = io_send_fds(c->sock, req, sizeof(*req), fds, fd_count);
		if (n == sizeof(*req))
			break;
		/* It died before it heard the question, which has nothing to do with that then. */
		count(c, &c->stats.deaths);
		drop_reader(c);
		if (attempt == 1)
			return n < 0 ? (int)n : -EPIPE;
	}
	count(c, &c->stats.requests);
	r = receive(c, ret);
	if (r < 0) {
		log_debug("reader %d: no answer: %s", (int)c->stats.pid, strerror(-r));
		count(c, &c->stats.deaths);
		drop_reader(c);
		return -EIO;
	}
	if (ret->status < 0)
		count(c, &c->stats.refusals);
	return 0;
}

/* An answer that does not hold together comes from a reader that was taken over, or is broken. */
static int distrust(struct readerclient *c, struct reader_result *result)
{
	reader_result_done(result);
	count(c, &c->stats.deaths);
	drop_reader(c);
	return -EIO;
}

static int addrs_memfd(const uint64_t *addrs, uint32_t addr_count)
{
	int fd = memfd_create("addresses", MFD_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = io_write_all(fd, addrs, (size_t)addr_count * sizeof(*addrs));
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* The descriptors in the order of their flags; room for five. */
static uint32_t list_fds(const struct reader_fds *files, int addrs, int fds[5], size_t *ret_count)
{
	uint32_t flags = 0;
	size_t n = 0;

	fds[n++] = files->file;
	if (files->debug >= 0) {
		flags |= READER_WITH_DEBUG;
		fds[n++] = files->debug;
	}
	if (files->alt >= 0) {
		flags |= READER_WITH_ALT;
		fds[n++] = files->alt;
	}
	if (files->split >= 0) {
		flags |= files->split_is_package ? READER_WITH_DWP : READER_WITH_DWO;
		fds[n++] = files->split;
	}
	fds[n++] = addrs;
	*ret_count = n;
	return flags;
}

static int ask_with(struct readerclient *c, enum reader_op op, uint32_t request_flags,
	const struct reader_fds *files, const uint64_t *addrs, uint32_t addr_count,
	struct reader_result *ret_result)
{
	struct reader_request req = {.version = READER_VERSION, .op = op, .addr_count = addr_count};
	AUTO(close_auto) int list = addrs_memfd(addrs, addr_count);
	int fds[5];
	size_t n;

	memset(ret_result, 0, sizeof(*ret_result));
	if (list < 0)
		return list;
	req.flags = request_flags | list_fds(files, list, fds, &n);
	return ask(c, &req, fds, n, ret_result);
}

int readerclient_names(struct readerclient *c, enum reader_op op, uint32_t request_flags,
	const struct reader_fds *files, const uint64_t *addrs, uint32_t addr_count,
	struct reader_result *ret_result)
{
	struct reader_result got;
	int r = ask_with(c, op, request_flags, files, addrs, addr_count, ret_result);

	if (r < 0 || ret_result->status < 0)
		return r;
	r = reader_answer_check(ret_result->map, ret_result->bytes, addr_count, &got);
	if (r < 0)
		return distrust(c, ret_result);
	got.flags = ret_result->flags;
	*ret_result = got;
	return 0;
}

int reader_splits_check(const void *data, size_t bytes, struct reader_split_list *ret_list)
{
	const struct reader_splits *head = data;
	struct reader_split_list l;
	uint64_t entries;

	if (bytes < sizeof(*head) || bytes > READER_ANSWER_MAX || head->string_bytes == 0)
		return -EBADMSG;
	entries = (uint64_t)head->count * sizeof(*l.splits);
	if (sizeof(*head) + entries + head->string_bytes != bytes)
		return -EBADMSG;
	l.count = head->count;
	l.splits = (const struct reader_split *)(head + 1);
	l.strings = (const char *)l.splits + entries;
	if (l.strings[0] != 0 || l.strings[head->string_bytes - 1] != 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < l.count; i++)
		if (l.splits[i].dir >= head->string_bytes || l.splits[i].name >= head->string_bytes)
			return -EBADMSG;
	*ret_list = l;
	return 0;
}

int readerclient_split(struct readerclient *c, const struct reader_fds *files,
	const uint64_t *addrs, uint32_t count, struct reader_split_list *ret_list,
	struct reader_result *ret_result)
{
	int r = ask_with(c, READER_SPLIT, 0, files, addrs, count, ret_result);

	if (r < 0 || ret_result->status < 0)
		return r;
	r = reader_splits_check(ret_result->map, ret_result->bytes, ret_list);
	return r < 0 ? distrust(c, ret_result) : 0;
}

int readerclient_debuglink(struct readerclient *c, int fd, int debug_fd,
	struct reader_debuglink *ret_link, struct reader_result *ret_result)
{
	struct reader_request req = {.version = READER_VERSION,
		.op = READER_DEBUGLINK,
		.flags = debug_fd >= 0 ? READER_WITH_DEBUG : 0};
	int fds[2] = {fd, debug_fd};
	struct reader_debuglink link;
	int r = ask(c, &req, fds, debug_fd >= 0 ? 2 : 1, ret_result);

	if (r < 0 || ret_result->status < 0)
		return r;
	if (ret_result->bytes != sizeof(link))
		return distrust(c, ret_result);
	memcpy(&link, ret_result->map, sizeof(link));
	if (link.build_id_bytes > sizeof(link.build_id) ||
		link.alt_id_bytes > sizeof(link.alt_id) ||
		!memchr(link.name, 0, sizeof(link.name)) ||
		!memchr(link.alt_name, 0, sizeof(link.alt_name)))
		return distrust(c, ret_result);
	*ret_link = link;
	munmap((void *)(uintptr_t)ret_result->map, ret_result->bytes);
	ret_result->map = NULL;
	ret_result->bytes = 0;
	return 0;
}

int readerclient_unwind(struct readerclient *c, int fd, int debug_fd, struct cfi_table **ret_table,
	struct reader_result *ret_result)
{
	struct reader_request req = {.version = READER_VERSION,
		.op = READER_UNWIND,
		.flags = debug_fd >= 0 ? READER_WITH_DEBUG : 0};
	int fds[2] = {fd, debug_fd};
	AUTO(free_auto) struct cfi_table *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = ask(c, &req, fds, debug_fd >= 0 ? 2 : 1, ret_result);
	if (r < 0 || ret_result->status < 0)
		return r;
	if (cfi_table_check(ret_result->map, ret_result->bytes, t) < 0)
		return distrust(c, ret_result);
	ret_result->map = NULL; /* the table's now */
	ret_result->bytes = 0;
	*ret_table = MOVE(t);
	return 0;
}
