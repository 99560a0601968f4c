#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <cmocka.h>

#include "base/io.h"
#include "daemon/sample/attr.h"
#include "tests/unit/fake_broker.h"

static struct event_spec event;
static struct perf_event_attr attr;

static int parse(const char *name)
{
	memset(&event, 0, sizeof(event));
	return event_parse(fake_broker(), name, &event);
}

static void plain_names(void **state)
{
	assert_int_equal(parse("cpu-clock"), 0);
	assert_int_equal(event.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(event.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_true(event.is_clock && !event.hardware && !event.in_kernel);
	assert_string_equal(event.name, "cpu-clock");
	assert_int_equal(parse("cycles"), 0);
	assert_int_equal(event.type, PERF_TYPE_HARDWARE);
	assert_int_equal(event.config, PERF_COUNT_HW_CPU_CYCLES);
	assert_true(event.hardware && !event.is_clock);
	assert_int_equal(parse("context-switches"), 0);
	assert_true(event.in_kernel);
	assert_int_equal(parse("page-faults"), 0);
	assert_false(event.is_clock || event.hardware || event.in_kernel);
}

static void all_names_for_messages_parse(void **state)
{
	const char *const *names = event_names();
	unsigned count = 0;

	for (; names[count]; count++)
		assert_int_equal(parse(names[count]), 0);
	assert_int_equal(count, 13);
}

static void raw_events(void **state)
{
	assert_int_equal(parse("r1a8"), 0);
	assert_int_equal(event.type, PERF_TYPE_RAW);
	assert_int_equal(event.config, 0x1a8);
	assert_true(event.hardware);
	assert_int_equal(parse("rffffffffffffffff"), 0);
	assert_int_equal(event.config, UINT64_MAX);
}

static void what_is_no_event_is_refused(void **state)
{
	static const char *const bad[] = {"", "r", "rx", "r0x10", "r1ffffffffffffffff", "cpu",
		"CPU-CLOCK", "cpu-clock ", ":", "a:", ":b", "../x:y", "a:../b", "a:b/c", "a:b:c",
		"a b:c", "sched:sched switch"};
	char longest[EVENT_NAME_BYTES + 1];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i]), -EINVAL);
	memset(longest, 'r', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(parse(longest), -EINVAL);
}

static char root[] = "/tmp/profiled-trace-XXXXXX";

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(name);
}

static void make_id(const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/events", root);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/events/sched", root);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/events/sched/sched_switch", root);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/events/sched/sched_switch/id", root);
	assert_int_equal(io_write_atomic(path, text, strlen(text), 0600), 0);
}

static void tracepoints_have_their_id_in_a_file(void **state)
{
	assert_non_null(mkdtemp(root));
	fake.trace_root = root;
	assert_int_equal(parse("sched:sched_switch"), -ENODEV);
	make_id("311\n");
	assert_int_equal(parse("sched:sched_switch"), 0);
	assert_int_equal(event.type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(event.config, 311);
	assert_true(event.in_kernel && !event.is_clock && !event.hardware);
	assert_string_equal(event.name, "sched:sched_switch");
	assert_int_equal(parse("sched:none"), -ENOENT);
	make_id("junk\n");
	assert_int_equal(parse("sched:sched_switch"), -EIO);
	make_id("");
	assert_int_equal(parse("sched:sched_switch"), -EIO);
	assert_int_equal(nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	fake_broker_reset();
}

static const struct attr_options dwarf = {.freq_hz = 99,
	.kernel = true,
	.stack = STACK_DWARF,
	.stack_bytes = 16384,
	.wakeup_bytes = 4096};

static void a_dwarf_attribute(void **state)
{
	assert_int_equal(parse("cpu-clock"), 0);
	attr_for_sampling(&attr, &event, &dwarf);
	assert_int_equal(attr.size, sizeof(attr));
	assert_int_equal(attr.freq, 1);
	assert_int_equal(attr.sample_freq, 99);
	assert_int_equal(attr.sample_type,
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
			PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	assert_int_equal(attr.sample_regs_user, 0xff01ff);
	assert_int_equal(attr.sample_stack_user, 16384);
	assert_int_equal(attr.read_format, PERF_FORMAT_ID | PERF_FORMAT_LOST);
	assert_true(attr.exclude_callchain_user && !attr.exclude_callchain_kernel);
	assert_true(attr.disabled && attr.use_clockid && attr.sample_id_all && attr.watermark);
	assert_int_equal(attr.clockid, CLOCK_MONOTONIC);
	assert_int_equal(attr.wakeup_watermark, 4096);
	assert_false(attr.exclude_kernel || attr.inherit || attr.exclude_idle || attr.mmap);
	assert_true(attr_has_period(&attr));
}

static void a_dwarf_attribute_with_the_chain(void **state)
{
	struct attr_options o = dwarf;

	o.chain = true;
	o.stack_bytes = 1024;
	assert_int_equal(parse("cpu-clock"), 0);
	attr_for_sampling(&attr, &event, &o);
	assert_int_equal(attr.sample_stack_user, 1024);
	assert_true((attr.sample_type & PERF_SAMPLE_CALLCHAIN) && !attr.exclude_callchain_user);
}

static void a_frame_pointer_attribute_without_the_kernel(void **state)
{
	struct attr_options o = {
		.freq_hz = 99, .stack = STACK_FP, .max_stack = 200, .cpu_wide = true};

	assert_int_equal(parse("cpu-clock"), 0);
	attr_for_sampling(&attr, &event, &o);
	assert_true(attr.exclude_kernel && attr.exclude_callchain_kernel && attr.exclude_hv);
	assert_true(attr.exclude_idle && !attr.exclude_callchain_user);
	assert_int_equal(attr.sample_max_stack, 200);
	assert_int_equal(attr.sample_stack_user, 0);
	assert_int_equal(attr.sample_regs_user, 0);
	/* A context switch is always in the kernel: leaving that out leaves its frames out. */
	assert_int_equal(parse("context-switches"), 0);
	attr_for_sampling(&attr, &event, &o);
	assert_true(attr.exclude_callchain_kernel && !attr.exclude_kernel);
}

static void hardware_attributes(void **state)
{
	struct attr_options o = dwarf;

	o.inherit = true;
	assert_int_equal(parse("branch-misses"), 0);
	attr_for_sampling(&attr, &event, &o);
	assert_int_equal(attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(attr.config, PERF_COUNT_HW_BRANCH_MISSES);
	assert_true(attr.exclude_guest && attr.inherit);
	assert_true(attr_has_period(&attr));
	o.freq_hz = 0;
	o.period = 100000;
	assert_int_equal(parse("r1a8"), 0);
	attr_for_sampling(&attr, &event, &o);
	assert_int_equal(attr.type, PERF_TYPE_RAW);
	assert_int_equal(attr.config, 0x1a8);
	assert_int_equal(attr.freq, 0);
	assert_int_equal(attr.sample_period, 100000);
	assert_true(attr_has_period(&attr));
}

static void a_fixed_period_of_software_events_is_not_asked_for(void **state)
{
	struct attr_options o = {.period = 1000, .stack = STACK_FP};

	assert_int_equal(parse("page-faults"), 0);
	attr_for_sampling(&attr, &event, &o);
	assert_false(attr_has_period(&attr));
	o.period = 1;
	attr_for_sampling(&attr, &event, &o);
	assert_true(attr_has_period(&attr));
	o.freq_hz = 99;
	o.period = 0;
	attr_for_sampling(&attr, &event, &o);
	assert_true(attr_has_period(&attr));
	o.freq_hz = 0;
	o.period = 1000;
	assert_int_equal(parse("task-clock"), 0);
	attr_for_sampling(&attr, &event, &o);
	assert_true(attr_has_period(&attr));
}

static void sideband_and_anchor(void **state)
{
	attr_for_sideband(&attr, true, 8192);
	assert_int_equal(attr.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(attr.config, PERF_COUNT_SW_DUMMY);
	assert_true(attr.mmap && attr.mmap2 && attr.comm && attr.comm_exec && attr.task);
	assert_true(attr.inherit && attr.disabled && attr.sample_id_all && attr.use_clockid);
	assert_false(attr.mmap_data || attr.build_id);
	assert_int_equal(attr.sample_type,
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU);
	assert_int_equal(attr.wakeup_watermark, 8192);
	attr_for_anchor(&attr, 4096);
	assert_false(attr.mmap || attr.comm || attr.task || attr.inherit);
	assert_int_equal(attr.clockid, CLOCK_MONOTONIC);
}

static int no_pmu(const struct perf_event_attr *a, pid_t pid, int cpu, void *arg)
{
	assert_int_equal(pid, 0);
	assert_int_equal(cpu, -1);
	return a->type == PERF_TYPE_HARDWARE ? -ENOENT : -EACCES;
}

static void a_probe_tells_why_not(void **state)
{
	fake.before_perf_open = no_pmu;
	assert_int_equal(parse("cycles"), 0);
	assert_int_equal(event_probe(fake_broker(), &event), -ENOENT);
	assert_int_equal(parse("cpu-clock"), 0);
	assert_int_equal(event_probe(fake_broker(), &event), -EACCES);
	fake_broker_reset();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_names),
		cmocka_unit_test(all_names_for_messages_parse),
		cmocka_unit_test(raw_events),
		cmocka_unit_test(what_is_no_event_is_refused),
		cmocka_unit_test(tracepoints_have_their_id_in_a_file),
		cmocka_unit_test(a_dwarf_attribute),
		cmocka_unit_test(a_dwarf_attribute_with_the_chain),
		cmocka_unit_test(a_frame_pointer_attribute_without_the_kernel),
		cmocka_unit_test(hardware_attributes),
		cmocka_unit_test(a_fixed_period_of_software_events_is_not_asked_for),
		cmocka_unit_test(sideband_and_anchor),
		cmocka_unit_test(a_probe_tells_why_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
