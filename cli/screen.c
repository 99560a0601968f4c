#include "cli/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"

#define ESCAPE_MS 50 /* what follows an escape sooner than that belongs to it */
/* The other screen, no cursor, no wrap; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[H\033[2J"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static volatile sig_atomic_t open_now, ended_by, resized;
static int wake[2] = {-1, -1}; /* a handler's word to poll() */
static int keys_fd = -1;
static struct termios before, raw;
static FILE *real_stderr;
static char *said;
static size_t said_bytes;

static unsigned from_environment(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);
	uint64_t n;

	return text && parse_u64(text, 10000, &n) == 0 && n > 0 ? (unsigned)n : otherwise;
}

void screen_size(unsigned *ret_width, unsigned *ret_height)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){0};
	*ret_width = size.ws_col ? size.ws_col : from_environment("COLUMNS", 80);
	*ret_height = size.ws_row ? size.ws_row : from_environment("LINES", 24);
}

/* These two are for handlers as well: system calls alone. */
static void put_back(void)
{
	ssize_t n = write(STDOUT_FILENO, LEAVE, sizeof(LEAVE) - 1);

	(void)n;
	(void)tcsetattr(keys_fd, TCSANOW, &before);
}

static void take_over(void)
{
	ssize_t n = write(STDOUT_FILENO, ENTER, sizeof(ENTER) - 1);

	(void)n;
	(void)tcsetattr(keys_fd, TCSANOW, &raw);
}

static void wake_up(void)
{
	int error = errno;
	ssize_t n = write(wake[1], "", 1);

	(void)n;
	errno = error;
}

static void on_end(int sig)
{
	ended_by = sig;
	wake_up();
}

static void on_resize(int sig)
{
	resized = 1;
	wake_up();
}

static void on_fatal(int sig)
{
	if (open_now)
		put_back();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Ctrl-Z: the terminal is the shell's while we are stopped. */
static void on_stop(int sig)
{
	int error = errno;

	if (open_now)
		put_back();
	raise(SIGSTOP);
	if (open_now)
		take_over();
	resized = 1;
	wake_up();
	errno = error;
}

static void take_signals(void)
{
	struct sigaction act = {.sa_flags = SA_RESTART};

	act.sa_handler = on_end;
	for (unsigned i = 0; i < COUNT(ending); i++)
		sigaction(ending[i], &act, NULL);
	act.sa_handler = on_resize;
	sigaction(SIGWINCH, &act, NULL);
	act.sa_handler = on_stop;
	sigaction(SIGTSTP, &act, NULL);
	act.sa_handler = on_fatal;
	for (unsigned i = 0; i < COUNT(fatal); i++)
		sigaction(fatal[i], &act, NULL);
}

static void keep_what_is_said(void)
{
	FILE *kept = open_memstream(&said, &said_bytes);

	if (!kept)
		return;
	real_stderr = stderr;
	stderr = kept;
}

static void tell_what_was_said(void)
{
	if (!real_stderr)
		return;
	fclose(stderr);
	stderr = real_stderr;
	real_stderr = NULL;
	fwrite(said, 1, said_bytes, stderr);
	free(said);
	said = NULL;
}

int screen_open(void)
{
	keys_fd = isatty(STDIN_FILENO) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				       : open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (keys_fd < 0)
		return -errno;
	if (tcgetattr(keys_fd, &before) < 0 || pipe2(wake, O_CLOEXEC | O_NONBLOCK) < 0) {
		int r = -errno;

		close(keys_fd);
		return r;
	}
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	take_signals();
	fflush(stdout);
	keep_what_is_said();
	open_now = 1;
	take_over();
	return 0;
}

void screen_close(void)
{
	if (!open_now)
		return;
	open_now = 0;
	put_back();
	close(keys_fd);
	keys_fd = -1;
	close(wake[0]);
	close(wake[1]);
	tell_what_was_said();
}

/* Each line is put at its place, so that nothing depends on what the terminal showed before. */
void screen_show(const struct buf *lines)
{
	AUTO(buf_done) struct buf out = BUF_INIT;
	const char *at = lines->data ? lines->data : "", *end;
	unsigned width, height;

	screen_size(&width, &height);
	for (unsigned y = 1; y <= height; y++) {
		end = strchr(at, '\n');
		buf_printf(&out, "\033[%u;1H\033[0m\033[K", y);
		if (end) {
			buf_append(&out, at, (size_t)(end - at));
			at = end + 1;
		}
	}
	buf_append_str(&out, "\033[0m");
	if (!out.error && open_now)
		(void)io_write_all(STDOUT_FILENO, out.data, out.len);
}

static int next_byte(int timeout_ms)
{
	struct pollfd f = {keys_fd, POLLIN, 0};
	unsigned char byte;

	if (poll(&f, 1, timeout_ms) <= 0 || read(keys_fd, &byte, 1) != 1)
		return -1;
	return byte;
}

/* What arrow and page keys send behind the escape: "[A", "OA", "[5~". */
static int escaped_key(void)
{
	int byte = next_byte(ESCAPE_MS), key = KEY_ESCAPE;

	if (byte != '[' && byte != 'O')
		return KEY_ESCAPE;
	byte = next_byte(ESCAPE_MS);
	switch (byte) {
	case 'A': return KEY_UP;
	case 'B': return KEY_DOWN;
	case 'H': return KEY_HOME;
	case '5': key = KEY_PAGE_UP; break;
	case '6': key = KEY_PAGE_DOWN; break;
	default: break;
	}
	while (byte >= '0' && byte <= '?') /* parameters, up to the letter that ends it */
		byte = next_byte(ESCAPE_MS);
	return key;
}

static int read_key(void)
{
	int byte = next_byte(0);

	switch (byte) {
	case -1: return KEY_END; /* the terminal is gone */
	case '\033': return escaped_key();
	case '\r':
	case '\n': return KEY_ENTER;
	case 127:
	case '\b': return KEY_BACKSPACE;
	default: return byte;
	}
}

int screen_key(int timeout_ms)
{
	struct pollfd f[2] = {{wake[0], POLLIN, 0}, {keys_fd, POLLIN, 0}};
	char drained[64];

	if (!ended_by && !resized && poll(f, 2, timeout_ms) < 0 && errno != EINTR)
		return KEY_END;
	while (read(wake[0], drained, sizeof(drained)) > 0)
		;
	if (ended_by)
		return KEY_END;
	if (resized) {
		resized = 0;
		return KEY_RESIZE;
	}
	return f[1].revents ? read_key() : KEY_NONE;
}

int screen_ended_by(void)
{
	return ended_by;
}
