#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <cmocka.h>

#include "daemon/sample/record.h"
#include "tests/unit/ring_bytes.h"

#define T UINT64_C(123456789012)

static const struct record_layout dwarf = {.sampling = true, .stack = STACK_DWARF, .period = true};
static const struct record_layout fp = {.sampling = true, .stack = STACK_FP, .period = true};
static const struct record_layout fp_fixed = {.sampling = true, .stack = STACK_FP};
static const struct record_layout side = {.sampling = false};

static struct bytes rec;
static struct record got;

/* Decodes it, and each shorter piece of it as well: those are refused. */
static int decode(const struct record_layout *layout)
{
	size_t len = put_end(&rec);

	for (size_t cut = 0; cut < len; cut++) {
		uint8_t *exact = malloc(cut + 1);

		assert_non_null(exact);
		memcpy(exact, rec.words, cut);
		assert_int_equal(record_decode(exact, cut, layout, &got), -EBADMSG);
		record_time(exact, cut, layout->sampling);
		free(exact);
	}
	memset(&got, 0xee, sizeof(got));
	return record_decode(rec.words, len, layout, &got);
}

static void put_chain(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	uint64_t words[] = {a, b, c, d, e};
	uint64_t count = 0;

	while (count < 5 && words[count])
		count++;
	put(&rec, count);
	for (uint64_t i = 0; i < count; i++)
		put(&rec, words[i]);
}

static void put_regs(void)
{
	put(&rec, PERF_SAMPLE_REGS_ABI_64);
	for (unsigned i = 0; i < SAMPLE_REGS; i++)
		put(&rec, 100 + i);
}

static void put_stack(unsigned words, uint64_t copied)
{
	put(&rec, words * 8);
	for (unsigned i = 0; i < words; i++)
		put(&rec, 1000 + i);
	if (words)
		put(&rec, copied);
}

static void a_sample_with_both_chains(void **state)
{
	put_sample(&rec, PERF_RECORD_MISC_KERNEL, T, 42, 43, 7);
	put(&rec, 10101010);
	put_chain(PERF_CONTEXT_KERNEL, 0xffffffff81000001, 0xffffffff81000002, PERF_CONTEXT_USER,
		0x401000);
	assert_int_equal(decode(&fp), 0);
	assert_int_equal(got.kind, RECORD_SAMPLE);
	assert_int_equal(got.t_ns, T);
	assert_int_equal(got.sample.t_ns, T);
	assert_int_equal(got.sample.pid, 42);
	assert_int_equal(got.sample.tid, 43);
	assert_int_equal(got.sample.cpu, 1);
	assert_int_equal(got.sample.id, 7);
	assert_int_equal(got.sample.ip, 0x401000);
	assert_int_equal(got.sample.period, 10101010);
	assert_true(got.sample.kernel_ip);
	assert_int_equal(got.sample.kernel_count, 2);
	assert_int_equal(got.sample.kernel_chain[0], UINT64_C(0xffffffff81000001));
	assert_int_equal(got.sample.kernel_chain[1], UINT64_C(0xffffffff81000002));
	assert_int_equal(got.sample.user_count, 1);
	assert_int_equal(got.sample.user_chain[0], 0x401000);
	assert_null(got.sample.regs);
	assert_null(got.sample.stack);
	assert_int_equal(record_time(rec.words, put_end(&rec), true), T);
}

static void a_sample_with_registers_and_stack(void **state)
{
	put_sample(&rec, PERF_RECORD_MISC_USER, T, 42, 43, 7);
	put(&rec, 1);
	put_chain(0, 0, 0, 0, 0);
	put_regs();
	put_stack(16, 88);
	assert_int_equal(decode(&dwarf), 0);
	assert_false(got.sample.kernel_ip);
	assert_int_equal(got.sample.kernel_count, 0);
	assert_null(got.sample.kernel_chain);
	assert_int_equal(got.sample.abi, PERF_SAMPLE_REGS_ABI_64);
	assert_int_equal(got.sample.regs[SAMPLE_REG_RBP], 106);
	assert_int_equal(got.sample.regs[SAMPLE_REG_RSP], 107);
	assert_int_equal(got.sample.regs[SAMPLE_REG_RIP], 108);
	assert_int_equal(got.sample.regs[16], 116);
	assert_int_equal(((const uint64_t *)got.sample.stack)[2], 1002);
	assert_int_equal(got.sample.stack_bytes, 88);
	assert_int_equal(got.sample.stack_asked, 128);
}

static void a_kernel_thread_has_no_user_side(void **state)
{
	put_sample(&rec, PERF_RECORD_MISC_KERNEL, T, 2, 2, 7);
	put(&rec, 1);
	put_chain(PERF_CONTEXT_KERNEL, 0xffffffff81000001, 0, 0, 0);
	put(&rec, PERF_SAMPLE_REGS_ABI_NONE);
	put_stack(0, 0);
	assert_int_equal(decode(&dwarf), 0);
	assert_int_equal(got.sample.abi, PERF_SAMPLE_REGS_ABI_NONE);
	assert_null(got.sample.regs);
	assert_null(got.sample.stack);
	assert_int_equal(got.sample.stack_asked, 0);
	assert_int_equal(got.sample.kernel_count, 1);
}

static void a_sample_without_its_period(void **state)
{
	put_sample(&rec, PERF_RECORD_MISC_USER, T, 42, 43, 7);
	put_chain(PERF_CONTEXT_USER, 0x401000, 0x402000, 0, 0);
	assert_int_equal(decode(&fp_fixed), 0);
	assert_int_equal(got.sample.period, 0);
	assert_int_equal(got.sample.user_count, 2);
	assert_null(got.sample.kernel_chain);
}

static void marks_of_other_contexts_hide_what_follows(void **state)
{
	put_sample(&rec, PERF_RECORD_MISC_USER, T, 42, 43, 7);
	put(&rec, 1);
	put(&rec, 8);
	put(&rec, 0x111); /* before any mark: nobody's */
	put(&rec, PERF_CONTEXT_HV);
	put(&rec, 0x222);
	put(&rec, PERF_CONTEXT_USER);
	put(&rec, 0x333);
	put(&rec, (uint64_t)-640); /* one that is not known here */
	put(&rec, 0x444);
	put(&rec, PERF_CONTEXT_KERNEL); /* and nothing behind it */
	assert_int_equal(decode(&fp), 0);
	assert_int_equal(got.sample.user_count, 1);
	assert_int_equal(got.sample.user_chain[0], 0x333);
	assert_int_equal(got.sample.kernel_count, 0);
	assert_null(got.sample.kernel_chain);
}

static void lengths_beyond_the_record_are_refused(void **state)
{
	static const uint64_t bad[] = {2, 1000, UINT64_MAX, UINT64_MAX / 8, UINT64_C(1) << 61};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put_sample(&rec, 0, T, 42, 43, 7);
		put(&rec, 1);
		put(&rec, bad[i]);
		put(&rec, 0x401000);
		assert_int_equal(decode(&fp), -EBADMSG);

		put_sample(&rec, 0, T, 42, 43, 7);
		put(&rec, 1);
		put(&rec, 0);
		put_regs();
		put(&rec, bad[i] > 1000 ? bad[i] : 24);
		put(&rec, 0);
		put(&rec, 8);
		assert_int_equal(decode(&dwarf), -EBADMSG);
	}
}

static void nonsense_in_the_user_part_is_refused(void **state)
{
	put_sample(&rec, 0, T, 42, 43, 7);
	put(&rec, 1);
	put(&rec, 0);
	put_regs();
	put_stack(4, 33); /* copied more than there is */
	assert_int_equal(decode(&dwarf), -EBADMSG);

	put_sample(&rec, 0, T, 42, 43, 7);
	put(&rec, 1);
	put(&rec, 0);
	put(&rec, 3); /* no such abi */
	put(&rec, 0);
	assert_int_equal(decode(&dwarf), -EBADMSG);
}

static void a_sample_prepared_for_another_event(void **state)
{
	size_t len;

	/* Longer than what this event asked for. */
	put_sample(&rec, 0, T, 42, 43, 7);
	put(&rec, 1);
	put_chain(PERF_CONTEXT_USER, 0x401000, 0, 0, 0);
	put(&rec, 0xdead);
	put(&rec, 0xbeef);
	len = put_end(&rec);
	assert_int_equal(record_decode(rec.words, len, &fp, &got), 0);
	assert_int_equal(got.sample.user_count, 1);
	assert_false(got.sample.borrowed);

	/* With a chain of the user's side that was not asked for: it is right all the same. */
	put_sample(&rec, 0, T, 42, 43, 7);
	put(&rec, 1);
	put_chain(PERF_CONTEXT_KERNEL, 0xffffffff81000001, PERF_CONTEXT_USER, 0x401000, 0);
	put_regs();
	put_stack(4, 32);
	assert_int_equal(decode(&dwarf), 0);
	assert_int_equal(got.sample.user_count, 1);
	assert_int_equal(got.sample.user_chain[0], 0x401000);
	assert_int_equal(got.sample.kernel_count, 1);
}

static void a_mapping(void **state)
{
	put_header(&rec, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	put_pair(&rec, 42, 43);
	put(&rec, 0x7f0000001000);
	put(&rec, 0x5000);
	put(&rec, 0x2000);
	put_pair(&rec, 0xfd, 1);
	put(&rec, 1234);
	put(&rec, 99);
	put_pair(&rec, 5, 2);
	put_text(&rec, "/usr/lib/a;b\nc.so (deleted)");
	put_trailer(&rec, T);
	assert_int_equal(decode(&side), 0);
	assert_int_equal(got.kind, RECORD_SIDEBAND);
	assert_int_equal(got.t_ns, T);
	assert_int_equal(got.sideband.kind, SIDEBAND_MMAP);
	assert_int_equal(got.sideband.t_ns, T);
	assert_int_equal(got.sideband.pid, 42);
	assert_int_equal(got.sideband.tid, 43);
	assert_int_equal(got.sideband.start, UINT64_C(0x7f0000001000));
	assert_int_equal(got.sideband.end, UINT64_C(0x7f0000006000));
	assert_int_equal(got.sideband.pgoff, 0x2000);
	assert_int_equal(got.sideband.dev, makedev(0xfd, 1));
	assert_int_equal(got.sideband.inode, 1234);
	assert_int_equal(got.sideband.prot, 5);
	assert_string_equal(got.sideband.text, "/usr/lib/a;b\nc.so (deleted)");
	assert_int_equal(record_time(rec.words, put_end(&rec), false), T);
}

static void a_mapping_past_the_end_of_memory_is_refused(void **state)
{
	put_header(&rec, PERF_RECORD_MMAP2, 0);
	put_pair(&rec, 42, 43);
	put(&rec, UINT64_MAX - 0xfff);
	put(&rec, 0x5000);
	for (unsigned i = 0; i < 5; i++)
		put(&rec, 0);
	put_text(&rec, "/a");
	put_trailer(&rec, T);
	assert_int_equal(decode(&side), -EBADMSG);
}

static void a_mapping_with_a_build_id_has_no_inode(void **state)
{
	put_header(&rec, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
	put_pair(&rec, 42, 43);
	put(&rec, 0x1000);
	put(&rec, 0x1000);
	put(&rec, 0);
	for (unsigned i = 0; i < 3; i++)
		put(&rec, UINT64_C(0x1414141414141414));
	put_pair(&rec, 5, 2);
	put_text(&rec, "/a");
	put_trailer(&rec, T);
	assert_int_equal(decode(&side), 0);
	assert_int_equal(got.sideband.dev, 0);
	assert_int_equal(got.sideband.inode, 0);
}

static void names_and_execs(void **state)
{
	put_header(&rec, PERF_RECORD_COMM, 0);
	put_pair(&rec, 42, 43);
	put_text(&rec, "a) R 1 (b");
	put_trailer(&rec, T);
	assert_int_equal(decode(&side), 0);
	assert_int_equal(got.sideband.kind, SIDEBAND_COMM);
	assert_int_equal(got.sideband.tid, 43);
	assert_string_equal(got.sideband.text, "a) R 1 (b");

	put_header(&rec, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	put_pair(&rec, 42, 42);
	put_text(&rec, "");
	put_trailer(&rec, T);
	assert_int_equal(decode(&side), 0);
	assert_int_equal(got.sideband.kind, SIDEBAND_EXEC);
	assert_string_equal(got.sideband.text, "");
}

static void a_name_without_an_end_is_refused(void **state)
{
	put_header(&rec, PERF_RECORD_COMM, 0);
	put_pair(&rec, 42, 43);
	put(&rec, UINT64_C(0x6161616161616161));
	put_trailer(&rec, UINT64_C(0x6161616161616100)); /* a NUL in the trailer is none of its */
	assert_int_equal(decode(&side), -EBADMSG);
}

static void births_and_deaths(void **state)
{
	put_task(&rec, PERF_RECORD_FORK, 50, 42, 50, 43, T);
	assert_int_equal(decode(&side), 0);
	assert_int_equal(got.sideband.kind, SIDEBAND_FORK);
	assert_int_equal(got.sideband.pid, 50);
	assert_int_equal(got.sideband.ppid, 42);
	assert_int_equal(got.sideband.tid, 50);
	assert_int_equal(got.sideband.ptid, 43);
	assert_null(got.sideband.text);

	put_task(&rec, PERF_RECORD_EXIT, 50, 42, 51, 42, T);
	assert_int_equal(decode(&side), 0);
	assert_int_equal(got.sideband.kind, SIDEBAND_EXIT);
	assert_int_equal(got.sideband.tid, 51);
}

static void losses_of_both_kinds(void **state)
{
	put_lost(&rec, 31, T);
	assert_int_equal(decode(&fp), 0);
	assert_int_equal(got.kind, RECORD_LOST);
	assert_int_equal(got.lost.id, 7);
	assert_int_equal(got.lost.count, 31);
	assert_false(got.lost.by_hardware);

	put_header(&rec, PERF_RECORD_LOST_SAMPLES, 0);
	put(&rec, 5);
	put_trailer(&rec, T);
	assert_int_equal(decode(&fp), 0);
	assert_int_equal(got.lost.count, 5);
	assert_true(got.lost.by_hardware);
}

static void other_types_are_told_apart(void **state)
{
	static const struct {
		uint32_t type;
		enum record_kind kind;
	} table[] = {{PERF_RECORD_THROTTLE, RECORD_THROTTLE},
		{PERF_RECORD_UNTHROTTLE, RECORD_UNTHROTTLE}, {PERF_RECORD_SWITCH, RECORD_OTHER},
		{PERF_RECORD_AUX, RECORD_OTHER}, {0, RECORD_UNKNOWN}, {1000, RECORD_UNKNOWN},
		{UINT32_MAX, RECORD_UNKNOWN}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		put_header(&rec, table[i].type, 0);
		put(&rec, T);
		put_trailer(&rec, T);
		assert_int_equal(decode(&fp), 0);
		assert_int_equal(got.kind, table[i].kind);
		assert_int_equal(got.t_ns, T);
	}
}

static void a_sample_among_the_sideband_is_refused(void **state)
{
	put_sample(&rec, 0, T, 42, 43, 7);
	put(&rec, 1);
	put(&rec, 0);
	assert_int_equal(decode(&side), -EBADMSG);
	assert_int_equal(record_time(rec.words, put_end(&rec), false), 0);
}

static void the_head_is_readable_whatever_the_layout(void **state)
{
	struct sample_head head;

	put_sample(&rec, 0, T, 42, -1, 7);
	assert_true(record_sample_head(rec.words, put_end(&rec), &head));
	assert_int_equal(head.t_ns, T);
	assert_int_equal(head.id, 7);
	assert_int_equal(head.pid, 42);
	assert_int_equal(head.tid, -1);
	assert_int_equal(head.cpu, 1);
	assert_false(record_sample_head(rec.words, 40, &head));
	put_lost(&rec, 31, T);
	assert_false(record_sample_head(rec.words, put_end(&rec), &head));
}

static void the_largest_sample_fits_16_bits(void **state)
{
	size_t plain = record_sample_max(STACK_FP, 0, 0);

	assert_true(plain > 127 * 8 && plain < 1300);
	assert_int_equal(
		record_sample_max(STACK_DWARF, 16384, 0), plain + 16384 + (SAMPLE_REGS + 3) * 8);
	assert_true(record_sample_max(STACK_DWARF, STACK_BYTES_MAX, 0) <= UINT16_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_with_both_chains),
		cmocka_unit_test(a_sample_with_registers_and_stack),
		cmocka_unit_test(a_kernel_thread_has_no_user_side),
		cmocka_unit_test(a_sample_without_its_period),
		cmocka_unit_test(marks_of_other_contexts_hide_what_follows),
		cmocka_unit_test(lengths_beyond_the_record_are_refused),
		cmocka_unit_test(nonsense_in_the_user_part_is_refused),
		cmocka_unit_test(a_sample_prepared_for_another_event),
		cmocka_unit_test(a_mapping),
		cmocka_unit_test(a_mapping_past_the_end_of_memory_is_refused),
		cmocka_unit_test(a_mapping_with_a_build_id_has_no_inode),
		cmocka_unit_test(names_and_execs),
		cmocka_unit_test(a_name_without_an_end_is_refused),
		cmocka_unit_test(births_and_deaths),
		cmocka_unit_test(losses_of_both_kinds),
		cmocka_unit_test(other_types_are_told_apart),
		cmocka_unit_test(a_sample_among_the_sideband_is_refused),
		cmocka_unit_test(the_head_is_readable_whatever_the_layout),
		cmocka_unit_test(the_largest_sample_fits_16_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
