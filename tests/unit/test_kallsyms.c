/* The kernel's symbols, from text and from the file that keeps them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "daemon/symbol/kallsyms.h"
#include "daemon/symbol/kernelfile.h"

static struct kallsyms *parse(const char *text)
{
	struct kallsyms *k;

	assert_int_equal(kallsyms_parse(text, strlen(text), &k), 0);
	return k;
}

static const char *at(const struct kallsyms *k, uint64_t addr)
{
	uint64_t start;
	const char *name = kallsyms_find(k, addr, &start);

	assert_true(!name || start <= addr);
	return name ? name : "";
}

static void functions_end_at_the_next_symbol(void **state)
{
	struct kallsyms *k = parse("ffffffff81000200 t second\n"
				   "ffffffff81000000 T first\n"
				   "ffffffff81000300 D some_data\n"
				   "ffffffff81000400 W third\n"
				   "ffffffff81000500 T _etext\n"
				   "ffffffff83000000 T far_away\n");

	assert_false(kallsyms_hidden(k));
	assert_string_equal(at(k, 0xffffffff80ffffff), "");
	assert_string_equal(at(k, 0xffffffff81000000), "first");
	assert_string_equal(at(k, 0xffffffff810001ff), "first");
	assert_string_equal(at(k, 0xffffffff81000200), "second");
	assert_string_equal(at(k, 0xffffffff81000300), "");
	assert_string_equal(at(k, 0xffffffff810003ff), "");
	assert_string_equal(at(k, 0xffffffff81000450), "third");
	assert_string_equal(at(k, 0xffffffff81000500), "");
	assert_string_equal(at(k, 0xffffffff82000000), "");
	assert_string_equal(at(k, 0xffffffff83000010), "far_away");
	assert_string_equal(at(k, 0xffffffff83010000), ""); /* the last does not own all there is */
	kallsyms_unref(k);
}

static void modules_do_not_reach_into_each_other(void **state)
{
	struct kallsyms *k = parse("ffffffff81000000 T core\n"
				   "ffffffffc0001000 t one_fn\t[one]\n"
				   "ffffffffc0001100 t one_last\t[one]\n"
				   "ffffffffc0801000 t two_fn\t[two]\n"
				   "ffffffffc0900000 t bpf_prog_0123456789abcdef_x\t[bpf]\n"
				   "ffffffffc0910000 t bpf_prog_far\t[bpf]\n");

	assert_string_equal(at(k, 0xffffffffc0001050), "one_fn");
	assert_string_equal(at(k, 0xffffffffc0001200), "one_last");
	assert_string_equal(at(k, 0xffffffffc0400000), "");
	assert_string_equal(at(k, 0xffffffffc0801000), "two_fn");
	assert_string_equal(at(k, 0xffffffffc0900800), "bpf_prog_0123456789abcdef_x");
	assert_string_equal(at(k, 0xffffffffb0000000), "");
	kallsyms_unref(k);
}

static void one_name_of_many(void **state)
{
	struct kallsyms *k = parse("ffffffff81000000 T _stext\n"
				   "ffffffff81000000 t local_name\n"
				   "ffffffff81000000 T __do_it\n"
				   "ffffffff81000000 T do_it\n"
				   "ffffffff81000000 T __entry_text_start\n");

	assert_string_equal(at(k, 0xffffffff81000000), "do_it");
	kallsyms_unref(k);
}

static void names_that_end_alike_are_told_apart(void **state)
{
	struct kallsyms *k = parse("ffffffff81000000 T __pfx_it\n"
				   "ffffffff81000010 T it\n"
				   "ffffffff81000020 T __pfx_other\n"
				   "ffffffff81000030 T her\n"
				   "ffffffff81000040 T __pfx_\n"
				   "ffffffff81000050 T __pfx_it\n"
				   "ffffffff81000050 T it\n");

	assert_string_equal(at(k, 0xffffffff81000001), "__pfx_it");
	assert_string_equal(at(k, 0xffffffff81000011), "it");
	assert_string_equal(at(k, 0xffffffff81000021), "__pfx_other");
	assert_string_equal(at(k, 0xffffffff81000031), "her");
	assert_string_equal(at(k, 0xffffffff81000041), "__pfx_");
	assert_string_equal(at(k, 0xffffffff81000051), "it");
	kallsyms_unref(k);
}

static void zeros_name_nothing(void **state)
{
	struct kallsyms *k = parse("0000000000000000 T one\n0000000000000000 t two\n");

	assert_true(kallsyms_hidden(k));
	assert_string_equal(at(k, 0), "");
	assert_string_equal(at(k, 0xffffffff81000000), "");
	kallsyms_unref(k);
	k = parse("");
	assert_true(kallsyms_hidden(k));
	assert_string_equal(at(k, 1), "");
	kallsyms_unref(k);
	/* Some symbols are zero on any machine. */
	k = parse("0000000000000000 A fixed_percpu_data\nffffffff81000000 T one\n");
	assert_false(kallsyms_hidden(k));
	assert_string_equal(at(k, 0xffffffff81000000), "one");
	assert_string_equal(at(k, 0x10), "");
	kallsyms_unref(k);
}

static void lines_of_another_form(void **state)
{
	struct kallsyms *k = parse("\n \nxyz T bad\nffffffff81000000\nffffffff81000000 T\n"
				   "ffffffff81000000 T \nffffffff81000000Tname\n"
				   "ffffffff81000000 TT name\n"
				   "fffffffff81000000f T too_long\n"
				   "ffffffff81000000 T good\nffffffff81000100 T half_a_li");

	assert_string_equal(at(k, 0xffffffff81000000), "good");
	assert_string_equal(at(k, 0xffffffff81000100), "good"); /* no line ends it */
	kallsyms_unref(k);
}

static void ignore_done(void *packed, size_t bytes)
{
}

static struct kallsyms *open_copy(void *copy, size_t bytes)
{
	struct kallsyms *k = NULL;

	return kallsyms_open_take(copy, bytes, ignore_done, &k) == 0 ? k : NULL;
}

static void packed_symbols_of_wrong_sizes_are_refused(void **state)
{
	struct kallsyms *k = parse("ffffffff81000000 T first\nffffffff81000200 t second\n"), *again;
	uint64_t copy[256];
	size_t bytes;
	const void *packed = kallsyms_packed(k, &bytes);

	assert_true(bytes < sizeof(copy));
	for (size_t less = 0; less < bytes; less++) {
		memcpy(copy, packed, bytes);
		assert_null(open_copy(copy, less));
	}
	for (size_t word = 0; word < 2; word++) { /* the numbers of symbols and of bytes of names */
		memcpy(copy, packed, bytes);
		copy[word]++;
		assert_null(open_copy(copy, bytes));
		copy[word] = UINT64_MAX / 8;
		assert_null(open_copy(copy, bytes));
	}
	memcpy(copy, packed, bytes);
	again = open_copy(copy, bytes);
	assert_string_equal(at(again, 0xffffffff81000010), "first");
	memset((char *)copy + bytes - 30, 0xff,
		29); /* offsets and names: no further than its end */
	for (uint64_t addr = 0xffffffff81000000; addr < 0xffffffff81000400; addr++)
		assert_true(strlen(at(again, addr)) < bytes);
	kallsyms_unref(again);
	kallsyms_unref(k);
}

static const struct kernelfile_key here = {.build_id = 1, .text = 0xffffffff81000000, .modules = 3};
static const char kernel_text[] = "ffffffff81000000 T _text\n"
				  "ffffffff81000000 T first\n"
				  "ffffffff81000200 t second\n"
				  "ffffffffc0001000 t bpf_prog_f00d\t[bpf]\n"
				  "ffffffffc0003000 t hooked\t[__builtin__ftrace]\n"
				  "ffffffffc0005000 t of_module\t[some]\n";

static int keep_in_file(void)
{
	char path[] = "/tmp/pfl-kernel-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(kernelfile_save(fd, &here, kernel_text, strlen(kernel_text)), 0);
	return fd;
}

static void kept_symbols_are_those_that_last(void **state)
{
	int fd = keep_in_file();
	struct kallsyms *k;

	assert_int_equal(kernelfile_load(fd, &here, &k), 0);
	assert_false(kallsyms_hidden(k));
	assert_int_equal(kallsyms_text(k), 0xffffffff81000000);
	assert_string_equal(at(k, 0xffffffff810001ff), "first");
	assert_string_equal(at(k, 0xffffffff81000200), "second");
	assert_string_equal(at(k, 0xffffffffc0001000), "");
	assert_string_equal(at(k, 0xffffffffc0003000), "");
	assert_string_equal(at(k, 0xffffffffc0005010), "of_module");
	kallsyms_unref(k);
	close(fd);
}

static void symbols_of_another_kernel_are_not_used(void **state)
{
	struct kernelfile_key other[] = {here, here, here};
	int fd = keep_in_file();
	struct kallsyms *k;

	other[0].build_id++;
	other[1].text++;
	other[2].modules++;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(kernelfile_load(fd, &other[i], &k), -ESTALE);
	assert_int_equal(kernelfile_save(fd, &other[1], kernel_text, strlen(kernel_text)), 0);
	assert_int_equal(kernelfile_load(fd, &here, &k), -ESTALE);
	assert_int_equal(kernelfile_load(fd, &other[1], &k), 0);
	kallsyms_unref(k);
	close(fd);
}

static void a_damaged_file_of_symbols_is_not_used(void **state)
{
	int fd = keep_in_file();
	off_t bytes = lseek(fd, 0, SEEK_END);
	struct kallsyms *k;

	assert_true(bytes > 100);
	for (off_t at = 0; at < bytes; at++) {
		char was, is;

		assert_int_equal(pread(fd, &was, 1, at), 1);
		is = (char)(was ^ 0x10);
		assert_int_equal(pwrite(fd, &is, 1, at), 1);
		assert_int_equal(kernelfile_load(fd, &here, &k), -ESTALE);
		assert_int_equal(pwrite(fd, &was, 1, at), 1);
	}
	assert_int_equal(kernelfile_load(fd, &here, &k), 0);
	kallsyms_unref(k);
	while (bytes-- > 0) {
		assert_int_equal(ftruncate(fd, bytes), 0);
		assert_int_equal(kernelfile_load(fd, &here, &k), -ESTALE);
	}
	close(fd);
}

/* Who has it mapped must not see it change, and who writes it is not read. */
static void readers_and_a_writer_keep_apart(void **state)
{
	int fd = keep_in_file(), other;
	struct kallsyms *k;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_RDWR | O_CLOEXEC);
	assert_true(other >= 0);
	assert_int_equal(kernelfile_load(fd, &here, &k), 0);
	assert_int_equal(
		kernelfile_save(other, &here, kernel_text, strlen(kernel_text)), -EWOULDBLOCK);
	kallsyms_unref(k);
	close(fd);
	assert_int_equal(kernelfile_save(other, &here, kernel_text, strlen(kernel_text)), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", other);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX), 0);
	assert_int_equal(kernelfile_load(fd, &here, &k), -EWOULDBLOCK);
	close(other);
	assert_int_equal(kernelfile_load(fd, &here, &k), 0);
	kallsyms_unref(k);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_end_at_the_next_symbol),
		cmocka_unit_test(modules_do_not_reach_into_each_other),
		cmocka_unit_test(one_name_of_many),
		cmocka_unit_test(names_that_end_alike_are_told_apart),
		cmocka_unit_test(zeros_name_nothing),
		cmocka_unit_test(lines_of_another_form),
		cmocka_unit_test(packed_symbols_of_wrong_sizes_are_refused),
		cmocka_unit_test(kept_symbols_are_those_that_last),
		cmocka_unit_test(symbols_of_another_kernel_are_not_used),
		cmocka_unit_test(a_damaged_file_of_symbols_is_not_used),
		cmocka_unit_test(readers_and_a_writer_keep_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
