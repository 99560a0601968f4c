#include <linux/auxvec.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/proc/command.h"

#define START UINT64_C(0x7ffc00001000)
#define BYTES 1024

/* The end of a new program's stack, as the kernel makes it. */
struct stack {
	uint64_t words[BYTES / 8];
	unsigned argc_at; /* index of the number of arguments */
};

static void make_stack(struct stack *s, unsigned argc, unsigned envc)
{
	static const char *const strings[] = {"./prog", "-x", "a b", "HOME=/", "TERM=vt100"};
	char *bytes = (char *)s->words;
	uint64_t at = BYTES - 8 - sizeof("/srv/prog"), argv[8], envp[8], name = START + at;
	unsigned w;

	memset(s, 0, sizeof(*s));
	strcpy(bytes + at, "/srv/prog");
	for (unsigned i = envc; i-- > 0;) {
		at -= strlen(strings[3 + i]) + 1;
		strcpy(bytes + at, strings[3 + i]);
		envp[i] = START + at;
	}
	for (unsigned i = argc; i-- > 0;) {
		at -= strlen(strings[i]) + 1;
		strcpy(bytes + at, strings[i]);
		argv[i] = START + at;
	}
	w = s->argc_at = 40;
	s->words[w++] = argc;
	for (unsigned i = 0; i < argc; i++)
		s->words[w++] = argv[i];
	w++;
	for (unsigned i = 0; i < envc; i++)
		s->words[w++] = envp[i];
	w++;
	s->words[w++] = AT_SYSINFO_EHDR;
	s->words[w++] = 0x7ffc12345000;
	s->words[w++] = AT_PAGESZ;
	s->words[w++] = 4096;
	s->words[w++] = AT_EXECFN;
	s->words[w++] = name;
}

static const char *find(const struct stack *s, size_t *len)
{
	return command_of_stack((const uint8_t *)s->words, START, BYTES, len);
}

static void arguments_are_found(void **state)
{
	char line[COMMAND_BYTES];
	struct stack s = {0};
	size_t len = 0;
	const char *args;

	(void)state;
	for (unsigned envc = 0; envc <= 2; envc++) {
		make_stack(&s, 3, envc);
		args = find(&s, &len);
		assert_non_null(args);
		assert_int_equal(command_join(args, len, true, line), 13);
		assert_string_equal(line, "./prog -x a b");
		assert_int_equal(command_join(args, len, false, line), 6);
		assert_string_equal(line, "./prog");
	}
}

static void what_the_kernel_did_not_make_is_left_alone(void **state)
{
	struct stack s = {0};
	size_t len = 0;

	(void)state;
	make_stack(&s, 3, 2);
	s.words[s.argc_at]++;
	assert_null(find(&s, &len));
	make_stack(&s, 3, 2);
	s.words[BYTES / 8 - 1] = 1;
	assert_null(find(&s, &len));
	make_stack(&s, 3, 2);
	s.words[s.argc_at + 1] = START + 8; /* into words, not strings */
	(void)find(&s, &len);
	make_stack(&s, 0, 2);
	assert_null(find(&s, &len));
	memset(&s, 0, sizeof(s));
	assert_null(find(&s, &len));
	memset(&s, 0xff, sizeof(s));
	assert_null(find(&s, &len));
	make_stack(&s, 3, 2);
	for (size_t cut = 0; cut < BYTES; cut += 8)
		(void)command_of_stack((const uint8_t *)s.words, START, cut, &len);
	for (size_t skip = 0; skip < BYTES; skip += 8)
		(void)command_of_stack(
			(const uint8_t *)s.words + skip, START + skip, BYTES - skip, &len);
	assert_null(command_of_stack((const uint8_t *)s.words, START + 1, BYTES, &len));
}

static void long_ones_are_cut(void **state)
{
	static char args[3000];
	char line[COMMAND_BYTES];

	(void)state;
	memset(args, 'x', sizeof(args));
	assert_int_equal(command_join(args, sizeof(args), true, line), COMMAND_BYTES - 1);
	assert_int_equal(command_join("", 0, true, line), 0);
	assert_string_equal(line, "");
	assert_int_equal(command_join("\0\0", 2, true, line), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_found),
		cmocka_unit_test(what_the_kernel_did_not_make_is_left_alone),
		cmocka_unit_test(long_ones_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
