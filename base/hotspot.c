#include "base/hotspot.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"

#define STATUS_MAX  ((size_t)64 << 10)
#define MAPS_MAX    ((size_t)64 << 20)
#define ANSWER_MAX  ((size_t)64 << 10)
#define CHUNK_BYTES ((size_t)256 << 10)
#define STEP_MS     20
#define NS_PER_MS   UINT64_C(1000000)
#define QUIT_BIT    (UINT64_C(1) << (SIGQUIT - 1))
/* A table that HotSpot exports for its debugger; other virtual machines have no such name in the
 * library of the same name, and write a dump at SIGQUIT. */
#define HOTSPOT_MARK "gHotSpotVMStructs"
/* Version 1 of the protocol, the command and its three arguments, each closed by a zero. */
static const char request[] = "1\0jcmd\0Compiler.perfmap\0\0";

/* One process on the way from its number to its answer. */
struct vm {
	pid_t pid;
	struct hotspot_status status;
	int handle; /* pidfd: a later process with that number is another one */
	int root, tmp;
	uint64_t deadline_ns;
	struct buf *why;
};

static int refuse(struct vm *vm, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int refuse(struct vm *vm, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(vm->why, fmt, ap);
	va_end(ap);
	return error;
}

/* Kinds of errno that mean a lack of rights are one. */
static int refuse_errno(struct vm *vm, int error, const char *what)
{
	if (error == -EACCES)
		error = -EPERM;
	return refuse(vm, error, "%s of process %d: %s", what, vm->pid, strerror(-error));
}

/* ---- what the process is ---- */

static bool number_of(const char *text, const char *line, int base, uint64_t *ret_number)
{
	const char *at = strstr(text, line);
	char *end;

	if (!at)
		return false;
	at += strlen(line);
	errno = 0;
	*ret_number = strtoull(at, &end, base);
	return end != at && errno == 0;
}

/* The second of "real effective saved file". */
static bool effective_of(const char *text, const char *line, uint64_t *ret_id)
{
	const char *at = strstr(text, line);
	unsigned long id;

	if (!at || sscanf(at + strlen(line), "%*u %lu", &id) != 1)
		return false;
	*ret_id = id;
	return true;
}

/* The last of its numbers, one for each namespace from ours on. */
static bool innermost_pid(const char *text, uint64_t *ret_pid)
{
	const char *at = strstr(text, "\nNSpid:");
	bool found = false;

	for (at = at ? at + strlen("\nNSpid:") : ""; *at == ' ' || *at == '\t';) {
		char *end;

		*ret_pid = strtoull(at, &end, 10);
		found |= end != at;
		if (end == at)
			break;
		at = end;
	}
	return found;
}

int hotspot_parse_status(const char *text, struct hotspot_status *ret_status)
{
	const char *state = strstr(text, "\nState:\t");
	uint64_t uid, gid, ns_pid, caught;

	if (!state || !effective_of(text, "\nUid:", &uid) || !effective_of(text, "\nGid:", &gid))
		return -EINVAL;
	if (!number_of(text, "\nSigCgt:", 16, &caught) || !innermost_pid(text, &ns_pid))
		return -EINVAL;
	state += strlen("\nState:\t");
	*ret_status = (struct hotspot_status){
		.uid = (uid_t)uid,
		.gid = (gid_t)gid,
		.ns_pid = (pid_t)ns_pid,
		.takes_quit = caught & QUIT_BIT,
		.ended = *state == 'Z' || *state == 'X',
	};
	return 0;
}

static int read_status(struct vm *vm, struct hotspot_status *ret_status)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/status", vm->pid);
	r = io_read_file(path, STATUS_MAX, &text);
	if (r == 0)
		r = hotspot_parse_status(text.data ? text.data : "", ret_status);
	if (r == -ENOENT || r == -ESRCH || (r == 0 && ret_status->ended))
		return refuse(vm, -ESRCH, "there is no process %d", vm->pid);
	return r < 0 ? refuse_errno(vm, r, "the status") : 0;
}

bool hotspot_find_library(const char *maps, const char **ret_line, const char **ret_path)
{
	static const char name[] = "/libjvm.so";

	for (const char *line = maps; line && *line; line = strchr(line, '\n')) {
		const char *path, *end;
		size_t len;

		line += *line == '\n';
		end = strchrnul(line, '\n');
		path = memchr(line, '/', (size_t)(end - line));
		if (!path || !memmem(line, (size_t)(path - line), "xp ", 3))
			continue;
		len = path_undeleted_len(path, (size_t)(end - path));
		if (len < strlen(name) ||
			memcmp(path + len - strlen(name), name, strlen(name)) != 0)
			continue;
		*ret_line = line;
		*ret_path = path;
		return true;
	}
	return false;
}

static bool has_mark(int fd)
{
	AUTO(free_auto) char *chunk = malloc(CHUNK_BYTES);
	const size_t kept = strlen(HOTSPOT_MARK);
	ssize_t n;

	for (off_t at = 0; chunk && (n = pread(fd, chunk, CHUNK_BYTES, at)) > 0;) {
		if (memmem(chunk, (size_t)n, HOTSPOT_MARK, kept))
			return true;
		if ((size_t)n <= kept)
			break;
		at += n - (ssize_t)kept;
	}
	return false;
}

static int open_library(struct vm *vm, const char *line, const char *path, int *ret_fd)
{
	AUTO(free_auto) char *copy = strndup(path, strcspn(path, "\n"));
	char name[96];
	int fd;

	if (!copy)
		return -ENOMEM;
	snprintf(name, sizeof(name), "/proc/%d/map_files/%.*s", vm->pid, (int)strcspn(line, " "),
		line);
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	/* That wants a right of its own; the path does for a file that is still there. */
	return io_open_within(vm->root, copy, O_RDONLY | O_NONBLOCK | O_NOCTTY,
		RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS, ret_fd);
}

static int no_hotspot(struct vm *vm, const char *because)
{
	return refuse(vm, -ENOEXEC, "process %d is no Java virtual machine of the HotSpot kind: %s",
		vm->pid, because);
}

static int prove(struct vm *vm)
{
	AUTO(buf_done) struct buf maps = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	const char *line, *library;
	struct stat st;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/maps", vm->pid);
	r = io_read_file(path, MAPS_MAX, &maps);
	if (r < 0)
		return refuse_errno(vm, r, "the mappings");
	if (!hotspot_find_library(maps.data ? maps.data : "", &line, &library))
		return no_hotspot(vm, "it has no libjvm.so");
	r = open_library(vm, line, library, &fd);
	if (r < 0)
		return refuse_errno(vm, r, "the libjvm.so");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !has_mark(fd))
		return no_hotspot(vm, "its libjvm.so is another's");
	return 0;
}

/* True when it was told not to listen; it would print a dump of its threads at the signal. */
static bool is_deaf(const struct vm *vm)
{
	static const char option[] = "-XX:+DisableAttachMechanism";
	AUTO(buf_done) struct buf text = BUF_INIT;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", vm->pid);
	return io_read_file(path, ANSWER_MAX, &text) == 0 && text.data &&
		memmem(text.data, text.len, option, sizeof(option));
}

/* ---- its folder and its user ---- */

static int enter(struct vm *vm)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/root", vm->pid);
	vm->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (vm->root < 0)
		return refuse_errno(vm, -errno, "the root folder");
	r = io_open_within(vm->root, "/tmp", O_PATH | O_DIRECTORY,
		RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS, &vm->tmp);
	return r < 0 ? refuse_errno(vm, r, "the folder /tmp") : 0;
}

/* The virtual machine talks to its own user alone, and to root if that is no other namespace's. */
static int become_owner(struct vm *vm)
{
	if (geteuid() != 0) {
		if (geteuid() == vm->status.uid)
			return 0;
		return refuse(vm, -EPERM,
			"process %d belongs to user %u: run this as that user or as root", vm->pid,
			vm->status.uid);
	}
	if (vm->status.uid == 0)
		return 0;
	if (setgroups(0, NULL) < 0 ||
		setresgid(vm->status.gid, vm->status.gid, vm->status.gid) < 0 ||
		setresuid(vm->status.uid, vm->status.uid, vm->status.uid) < 0)
		return refuse_errno(vm, -errno, "to become the user");
	return 0;
}

/* ---- its socket ---- */

static int open_socket_file(const struct vm *vm, int *ret_fd)
{
	AUTO(close_auto) int fd = -1;
	struct stat st;
	char name[32];

	snprintf(name, sizeof(name), ".java_pid%d", vm->status.ns_pid);
	fd = openat(vm->tmp, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode) || (st.st_uid != vm->status.uid && st.st_uid != 0))
		return -EPROTO;
	*ret_fd = MOVE_FD(fd);
	return 0;
}

static bool is_late(const struct vm *vm)
{
	return time_mono_ns() >= vm->deadline_ns;
}

static int wait_for_socket(struct vm *vm, int *ret_fd)
{
	static const struct timespec step = {0, STEP_MS * (long)NS_PER_MS};
	int r;

	while ((r = open_socket_file(vm, ret_fd)) == -ENOENT && !is_late(vm))
		nanosleep(&step, NULL);
	if (r == -ENOENT)
		return refuse(vm, -ETIMEDOUT,
			"process %d does not open the socket /tmp/.java_pid%d: it is stopped or "
			"does not listen",
			vm->pid, vm->status.ns_pid);
	return r < 0 ? refuse_errno(vm, r, "the socket") : 0;
}

/* What it was proven to be holds only for the program that runs now. */
static int signal_it(struct vm *vm)
{
	struct hotspot_status now = {0};
	int r = prove(vm);

	if (r == 0)
		r = read_status(vm, &now);
	if (r < 0)
		return r;
	if (!now.takes_quit)
		return refuse(vm, -ENOTSUP,
			"process %d does not take SIGQUIT, by which it would be asked: it is just "
			"starting",
			vm->pid);
	if (is_deaf(vm))
		return refuse(vm, -ENOTSUP,
			"process %d does not listen: it was started with "
			"-XX:+DisableAttachMechanism",
			vm->pid);
	if (syscall(SYS_pidfd_send_signal, vm->handle, SIGQUIT, NULL, 0) < 0)
		return refuse_errno(vm, -errno, "a signal to open the socket");
	return 0;
}

/* It opens its socket when it is sent SIGQUIT and finds this file, else that prints a dump. */
static int make_it_listen(struct vm *vm, int *ret_fd)
{
	char name[32];
	struct stat st;
	bool made;
	int fd, r = 0;

	snprintf(name, sizeof(name), ".attach_pid%d", vm->status.ns_pid);
	fd = openat(vm->tmp, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	made = fd >= 0;
	if (made)
		close(fd);
	else if (errno != EEXIST)
		return refuse_errno(vm, -errno, "a file in /tmp");
	if (fstatat(vm->tmp, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
		st.st_uid != vm->status.uid)
		r = refuse(vm, -EPROTO, "somebody else's /tmp/%s is in the way", name);
	if (r == 0)
		r = signal_it(vm);
	if (r == 0)
		r = wait_for_socket(vm, ret_fd);
	if (made)
		(void)unlinkat(vm->tmp, name, 0);
	return r;
}

static int set_timeouts(int sock, uint64_t ns)
{
	struct timeval t = {.tv_sec = (time_t)(ns / 1000000000),
		.tv_usec = (suseconds_t)(ns % 1000000000 / 1000)};

	if (t.tv_sec == 0 && t.tv_usec == 0)
		t.tv_usec = 1; /* 0 is for ever */
	return setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) < 0 ||
			setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) < 0
		? -errno
		: 0;
}

static int connect_to(struct vm *vm, int file, int *ret_sock)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO(close_auto) int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t now_ns = time_mono_ns();
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);
	int r;

	if (sock < 0)
		return refuse_errno(vm, -errno, "a socket");
	r = set_timeouts(sock, vm->deadline_ns > now_ns ? vm->deadline_ns - now_ns : 0);
	if (r < 0)
		return refuse_errno(vm, r, "the socket");
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file);
	if (connect(sock, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return refuse_errno(vm, -errno, "the socket");
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid != vm->pid)
		return refuse(vm, -EPROTO, "the socket /tmp/.java_pid%d is not that of process %d",
			vm->status.ns_pid, vm->pid);
	*ret_sock = MOVE_FD(sock);
	return 0;
}

static int receive_answer(struct vm *vm, int sock, struct buf *text)
{
	char part[4096];
	ssize_t n;

	while ((n = recv(sock, part, sizeof(part), 0)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return refuse_errno(vm, -errno, "the answer");
		if (n < 0 || is_late(vm))
			return refuse(vm, -ETIMEDOUT, "process %d does not answer", vm->pid);
		if (buf_append(text, part, (size_t)n) < 0)
			return refuse(vm, -EPROTO, "process %d answers too much", vm->pid);
	}
	return 0;
}

int hotspot_parse_answer(const char *text, struct buf *why)
{
	const char *rest = strchr(text, '\n');
	char *end;
	long status;

	errno = 0;
	status = strtol(text, &end, 10);
	if (end == text || errno || (*end != '\n' && *end)) {
		buf_append_str(why, "the virtual machine's answer makes no sense");
		return -EPROTO;
	}
	rest = rest ? rest + 1 : "";
	if (strstr(rest, "Unknown diagnostic command")) {
		buf_append_str(why, "this Java is too old: Compiler.perfmap came with OpenJDK 17");
		return -ENOTSUP;
	}
	if (status == 0)
		return 0;
	buf_printf(why, "the virtual machine refuses: %.*s", (int)strcspn(rest, "\r\n"), rest);
	return -EPROTO;
}

static int ask(struct vm *vm, int file)
{
	AUTO(buf_done) struct buf answer = {.max_bytes = ANSWER_MAX};
	AUTO(close_auto) int sock = -1;
	int r = connect_to(vm, file, &sock);

	if (r < 0)
		return r;
	if (send(sock, request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request))
		return refuse(vm, -EPROTO, "process %d closed its socket", vm->pid);
	r = receive_answer(vm, sock, &answer);
	return r < 0 ? r : hotspot_parse_answer(answer.data ? answer.data : "", vm->why);
}

static int find_map(struct vm *vm, struct hotspot_map *ret_map)
{
	struct stat st;
	char name[32];

	snprintf(name, sizeof(name), "perf-%d.map", vm->status.ns_pid);
	if (fstatat(vm->tmp, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return refuse(
			vm, -EPROTO, "process %d answered, but wrote no /tmp/%s", vm->pid, name);
	*ret_map = (struct hotspot_map){
		.ns_pid = vm->status.ns_pid,
		.map_bytes = (uint64_t)st.st_size,
	};
	return 0;
}

static int run(struct vm *vm, struct hotspot_map *ret_map)
{
	AUTO(close_auto) int file = -1;
	int r = read_status(vm, &vm->status);

	if (r == 0 && geteuid() != 0)
		r = become_owner(vm); /* before anything else can fail for lack of it */
	if (r == 0)
		r = enter(vm);
	if (r == 0)
		r = prove(vm);
	if (r == 0)
		r = become_owner(vm);
	if (r < 0)
		return r;
	r = open_socket_file(vm, &file);
	if (r == -ENOENT)
		r = make_it_listen(vm, &file);
	else if (r < 0)
		r = refuse_errno(vm, r, "the socket");
	if (r == 0)
		r = ask(vm, file);
	return r == 0 ? find_map(vm, ret_map) : r;
}

int hotspot_write_perfmap(
	pid_t pid, unsigned timeout_ms, struct hotspot_map *ret_map, struct buf *why)
{
	struct vm vm = {
		.pid = pid,
		.root = -1,
		.tmp = -1,
		.deadline_ns = time_mono_ns() + timeout_ms * NS_PER_MS,
		.why = why,
	};
	int r;

	vm.handle = (int)syscall(SYS_pidfd_open, pid, 0);
	if (vm.handle < 0)
		return refuse(&vm, -ESRCH, "there is no process %d", pid);
	r = run(&vm, ret_map);
	close_auto(&vm.handle);
	close_auto(&vm.tmp);
	close_auto(&vm.root);
	return r;
}
