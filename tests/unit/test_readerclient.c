/* The engine's end of the reader: what it takes for an answer, and readers that misbehave. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/io.h"
#include "daemon/symbol/debugfile.h"
#include "daemon/symbol/readerclient.h"

/* An answer for two addresses: the first with two frames, the second with none. */
struct sample {
	struct reader_names head;
	uint32_t starts[4]; /* the last one pads */
	struct reader_frame frames[2];
	char strings[16];
};

static struct sample sound(void)
{
	return (struct sample){
		.head = {.addr_count = 2, .frame_count = 2, .string_bytes = 16},
		.starts = {0, 2, 2},
		.frames = {{.name = 1, .file = 7, .line = 3, .inlined = 1}, {.name = 4}},
		.strings = "\0in\0ou\0file.c",
	};
}

static int check(const struct sample *s, size_t bytes, uint32_t count)
{
	/* In a buffer of its own, so that a sanitizer sees each byte too many. */
	void *copy = malloc(bytes ? bytes : 1);
	struct reader_result r;
	int status;

	memcpy(copy, s, bytes);
	status = reader_answer_check(copy, bytes, count, &r);
	free(copy);
	return status;
}

static void sound_answer_is_taken(void **state)
{
	struct sample s = sound();
	struct reader_result r;

	assert_int_equal(reader_answer_check(&s, sizeof(s), 2, &r), 0);
	assert_int_equal(r.starts[1], 2);
	assert_string_equal(r.strings + r.frames[0].name, "in");
	assert_string_equal(r.strings + r.frames[0].file, "file.c");
}

static void unsound_answers_are_refused(void **state)
{
	struct sample s = sound();

	for (size_t n = 0; n < sizeof(s); n++)
		assert_int_equal(check(&s, n, 2), -EBADMSG);
	assert_int_equal(check(&s, sizeof(s), 1), -EBADMSG);
	assert_int_equal(check(&s, sizeof(s), 3), -EBADMSG);
	assert_int_equal(check(&s, sizeof(s), UINT32_MAX), -EBADMSG);

#define REFUSED(change)                                              \
	do {                                                         \
		s = sound();                                         \
		change;                                              \
		assert_int_equal(check(&s, sizeof(s), 2), -EBADMSG); \
	} while (0)
	REFUSED(s.head.frame_count = UINT32_MAX);
	REFUSED(s.head.frame_count = 1);
	REFUSED(s.head.string_bytes = 0);
	REFUSED(s.head.string_bytes = UINT32_MAX);
	REFUSED(s.starts[0] = 1);
	REFUSED(s.starts[1] = 3);
	REFUSED(s.starts[2] = 1);
	REFUSED(s.starts[1] = UINT32_MAX);
	REFUSED(s.frames[0].name = 16);
	REFUSED(s.frames[0].name = 0); /* a frame has a name */
	REFUSED(s.frames[1].file = 1000);
	REFUSED(s.frames[1].inlined = 2);
	REFUSED(s.strings[0] = 'x');
	REFUSED(s.strings[15] = 'x');
#undef REFUSED
}

/* A reader of this test's own making: a thread at the other end. */
enum manner {
	MANNER_GOOD,
	MANNER_UNSEALED,
	MANNER_SHORT,    /* states more bytes than there are */
	MANNER_BAD_BODY, /* an offset out of bounds */
	MANNER_NO_FD,
	MANNER_REFUSE,
	MANNER_HANG_UP,
	MANNER_WRONG_VERSION,
};
static _Atomic enum manner manner;
static int theirs = -1, spawned, too_soon;
static pthread_t thread;
static bool running;

static int answer_fd(struct sample *s)
{
	int fd = memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (manner == MANNER_BAD_BODY)
		s->frames[0].name = 99;
	assert_int_equal(io_write_all(fd, s, sizeof(*s)), 0);
	if (manner != MANNER_UNSEALED)
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
	return fd;
}

static void *serve(void *arg)
{
	struct reader_request req;
	int fds[3];
	size_t n = 3;

	while (io_recv_fds(theirs, &req, sizeof(req), fds, &n) == sizeof(req)) {
		struct reader_answer a = {
			.version = READER_VERSION, .bytes = sizeof(struct sample)};
		struct sample s = sound();
		int fd;

		for (size_t i = 0; i < n; i++)
			close(fds[i]);
		n = 3;
		if (manner == MANNER_HANG_UP)
			break;
		if (manner == MANNER_REFUSE)
			a.status = -EBADMSG;
		if (manner == MANNER_WRONG_VERSION)
			a.version++;
		if (manner == MANNER_SHORT)
			a.bytes += 8;
		fd = answer_fd(&s);
		io_send_fds(theirs, &a, sizeof(a), &fd,
			manner != MANNER_NO_FD && manner != MANNER_REFUSE);
		close(fd);
	}
	close(theirs);
	return NULL;
}

static void join(void)
{
	if (running)
		pthread_join(thread, NULL);
	running = false;
}

static int spawn(void *arg, int *ret_sock, pid_t *ret_pid)
{
	int pair[2];

	if (too_soon-- > 0)
		return -EAGAIN;
	join();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	theirs = pair[1];
	spawned++;
	running = pthread_create(&thread, NULL, serve, NULL) == 0;
	*ret_sock = pair[0];
	*ret_pid = 1000 + spawned;
	return 0;
}

static int ask(struct readerclient *c)
{
	uint64_t addrs[2] = {1, 2};
	struct reader_result r = {0};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int status = readerclient_names(c, READER_SYMBOLS, 0,
		&(struct reader_fds){.file = null, .debug = -1, .alt = -1, .split = -1}, addrs, 2,
		&r);

	close(null);
	if (status == 0 && r.status < 0)
		status = r.status;
	else if (status == 0)
		assert_string_equal(r.strings + r.frames[1].name, "ou");
	reader_result_done(&r);
	return status;
}

static void misbehaving_readers(void **state)
{
	static const struct {
		enum manner manner;
		int status;
		bool dies;
	} table[] = {
		{MANNER_GOOD, 0, false},
		{MANNER_UNSEALED, -EIO, true},
		{MANNER_SHORT, -EIO, true},
		{MANNER_BAD_BODY, -EIO, true},
		{MANNER_NO_FD, -EIO, true},
		{MANNER_REFUSE, -EBADMSG, false},
		{MANNER_HANG_UP, -EIO, true},
		{MANNER_WRONG_VERSION, -EIO, true},
		{MANNER_GOOD, 0, false},
	};
	struct readerclient_stats before, after;
	struct readerclient *c;

	assert_int_equal(readerclient_new(spawn, NULL, &c), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		manner = table[i].manner;
		readerclient_get_stats(c, &before);
		assert_int_equal(ask(c), table[i].status);
		readerclient_get_stats(c, &after);
		assert_int_equal(after.deaths - before.deaths, table[i].dies);
		assert_int_equal(after.requests - before.requests, 1);
		assert_int_equal(after.refusals - before.refusals, manner == MANNER_REFUSE);
		assert_int_equal(after.pid, table[i].dies ? 0 : 1000 + spawned);
	}
	/* Too soon after the last one: it waits a little. */
	manner = MANNER_HANG_UP;
	assert_int_equal(ask(c), -EIO);
	manner = MANNER_GOOD;
	too_soon = 2;
	assert_int_equal(ask(c), 0);
	readerclient_free(c);
	join();
}

static int spawn_never(void *arg, int *ret_sock, pid_t *ret_pid)
{
	return -EPERM;
}

static void no_reader_is_nobodys_fault(void **state)
{
	struct readerclient *c;

	assert_int_equal(readerclient_new(spawn_never, NULL, &c), 0);
	assert_int_equal(ask(c), -EPERM);
	readerclient_free(c);
}

/* What debugfile.c would ask the broker is tested with names; here only its paths. */
int broker_open_elf(struct broker *b, pid_t pid, const char *path, int *ret_fd)
{
	return -ENOENT;
}

static void places_of_debug_files(void **state)
{
	struct module m = {.path = (char *)"/opt/d;r & <q>/prog", .pid = 42};
	struct reader_debuglink link = {
		.build_id = {0xab, 0xcd, 0xef}, .build_id_bytes = 3, .name = "prog.debug"};
	static const char *const expected[] = {"/usr/lib/debug/.build-id/ab/cdef.debug",
		"/usr/lib/debug/.build-id/ab/cdef.debug", "/opt/d;r & <q>/prog.debug",
		"/opt/d;r & <q>/.debug/prog.debug", "/usr/lib/debug/opt/d;r & <q>/prog.debug"};
	char path[DEBUGFILE_PATH_MAX];
	pid_t pid;

	for (unsigned i = 0; i < 5; i++) {
		assert_true(debugfile_candidate(&m, &link, i, path, &pid));
		assert_string_equal(path, expected[i]);
		assert_int_equal(pid, i == 0 ? 0 : 42);
	}
	assert_false(debugfile_candidate(&m, &link, 5, path, &pid));
	/* Links that would lead elsewhere. */
	static const char *const bad[] = {"", ".", "..", "../x", "/etc/passwd", "a/b"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		strcpy(link.name, bad[i]);
		assert_false(debugfile_candidate(&m, &link, 2, path, &pid));
	}
	link.build_id_bytes = 1;
	assert_false(debugfile_candidate(&m, &link, 0, path, &pid));
	m.path = (char *)"[vdso]";
	strcpy(link.name, "x");
	assert_false(debugfile_candidate(&m, &link, 0, path, &pid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_answer_is_taken),
		cmocka_unit_test(unsound_answers_are_refused),
		cmocka_unit_test(misbehaving_readers),
		cmocka_unit_test(no_reader_is_nobodys_fault),
		cmocka_unit_test(places_of_debug_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
