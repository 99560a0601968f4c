#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/symbol/sigbus.h"

#define PAGE 4096

static const uint8_t *map_of_pages(int *fd, size_t pages)
{
	const uint8_t *at;

	*fd = memfd_create("shrinks", MFD_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(ftruncate(*fd, (off_t)(pages * PAGE)), 0);
	for (size_t i = 0; i < pages * PAGE; i += PAGE)
		assert_int_equal(pwrite(*fd, "x", 1, (off_t)i), 1);
	at = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED, *fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void a_shrunk_file_reads_as_zeros(void **state)
{
	int fd;
	const volatile uint8_t *at = map_of_pages(&fd, 4);
	uint64_t before = sigbus_count();

	(void)state;
	assert_int_equal(sigbus_install(), 0); /* the test library has put its own handler there */
	assert_int_equal(sigbus_guard((const void *)at, 4 * PAGE), 0);
	assert_int_equal(at[3 * PAGE], 'x');
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_int_equal(at[0], 'x');
	assert_int_equal(at[2 * PAGE], 0);
	assert_int_equal(at[3 * PAGE + 17], 0);
	assert_int_equal(at[2 * PAGE + 5], 0);
	assert_int_equal(sigbus_count() - before, 2);
	sigbus_unguard((const void *)at);
	munmap((void *)at, 4 * PAGE);
	close(fd);
}

/* How a child ends that reads beyond the end of a mapped file, or raises the signal itself. */
static int child_status(int guard, int send)
{
	pid_t pid = fork();
	int status, fd;

	if (pid == 0) {
		struct rlimit none = {0, 0};
		const volatile uint8_t *at = map_of_pages(&fd, 2);

		signal(SIGBUS, SIG_DFL);
		setrlimit(RLIMIT_CORE, &none);
		if (sigbus_install() < 0)
			_exit(1);
		if (guard && sigbus_guard((const void *)at, 2 * PAGE) < 0)
			_exit(1);
		if (send)
			raise(SIGBUS);
		else if (ftruncate(fd, 0) < 0 || at[PAGE] != 0)
			_exit(2);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void a_fault_elsewhere_ends_the_process(void **state)
{
	int status = child_status(0, 0);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	status = child_status(1, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_signal_that_was_sent_ends_it_too(void **state)
{
	int status = child_status(1, 1);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
}

static void slots_are_used_again(void **state)
{
	static char block[70000];
	int error = 0;
	int guarded = 0;

	(void)state;
	for (; guarded < 70000 && error == 0; guarded++)
		error = sigbus_guard(block + guarded, 1);
	assert_int_equal(error, -ENOSPC);
	guarded--;
	assert_int_equal(guarded, 65536);
	sigbus_unguard(block + 100);
	assert_int_equal(sigbus_guard(block + 69000, 1), 0);
	assert_int_equal(sigbus_guard(block + 69001, 1), -ENOSPC);
	/* From the first slot on, so that each is found at once. */
	sigbus_unguard(block + 69000);
	for (int i = 0; i < guarded; i++)
		if (i != 100 && (i < 300 || i > 65000))
			sigbus_unguard(block + i);
	assert_int_equal(sigbus_guard(block, 1), 0);
	sigbus_unguard(block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shrunk_file_reads_as_zeros),
		cmocka_unit_test(a_fault_elsewhere_ends_the_process),
		cmocka_unit_test(a_signal_that_was_sent_ends_it_too),
		cmocka_unit_test(slots_are_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
