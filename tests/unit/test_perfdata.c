/* perf.data files, made by hand: a header, one or two attributes, their ids, then records. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/sample/perfdata.h"
#include "tests/unit/ring_bytes.h"

#define MAGIC UINT64_C(0x32454c4946524550)
#define CHAIN_TYPE                                                                      \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
		PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define ROUND    68
#define ALL_REGS UINT64_C(0xff0fff)

struct file {
	struct buf bytes;
	size_t data_at;
};

static void append(struct file *f, const void *data, size_t len)
{
	assert_int_equal(buf_append(&f->bytes, data, len), 0);
}

static void word(struct file *f, uint64_t value)
{
	append(f, &value, sizeof(value));
}

/* Attributes have the ids 10, 11, … */
static void begin(struct file *f, const struct perf_event_attr *attrs, unsigned count)
{
	size_t each = sizeof(*attrs) + 16, ids_at = 104 + count * each;

	memset(f, 0, sizeof(*f));
	f->data_at = ids_at + count * 8;
	word(f, MAGIC);
	word(f, 104);
	word(f, each);
	word(f, 104);
	word(f, count * each);
	word(f, f->data_at);
	word(f, 0); /* set at the end */
	for (int i = 0; i < 6; i++)
		word(f, 0);
	for (unsigned i = 0; i < count; i++) {
		append(f, &attrs[i], sizeof(attrs[i]));
		word(f, ids_at + i * 8);
		word(f, 8);
	}
	for (unsigned i = 0; i < count; i++)
		word(f, 10 + i);
}

static void add(struct file *f, struct bytes *b)
{
	append(f, b->words, put_end(b));
}

static void end(struct file *f)
{
	uint64_t bytes = f->bytes.len - f->data_at;

	memcpy(f->bytes.data + 48, &bytes, sizeof(bytes));
}

static struct perf_event_attr attr_of(uint64_t config, uint64_t sample_type)
{
	return (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.sample_freq = 99,
		.freq = 1,
		.sample_type = sample_type,
		.sample_id_all = 1};
}

static void begin_sample(struct bytes *b, uint64_t id, uint64_t t_ns)
{
	put_header(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put(b, id);
	put(b, 0x401000);
	put_pair(b, 7, 8);
	put(b, t_ns);
	put_pair(b, 1, 0); /* cpu */
	put(b, 1000);      /* period */
}

static void add_sample(struct file *f, uint64_t id, uint64_t t_ns)
{
	struct bytes b;

	begin_sample(&b, id, t_ns);
	put(&b, 5);
	put(&b, PERF_CONTEXT_KERNEL);
	put(&b, 0xffffffff81000010);
	put(&b, PERF_CONTEXT_USER);
	put(&b, 0x401000);
	put(&b, 0x402000);
	add(f, &b);
}

/* TID, TIME, CPU, IDENTIFIER behind what is no sample. */
static void put_rest(struct bytes *b, uint64_t t_ns)
{
	put_pair(b, 7, 8);
	put(b, t_ns);
	put_pair(b, 1, 0);
	put(b, 10);
}

static void add_round(struct file *f)
{
	struct bytes b;

	put_header(&b, ROUND, 0);
	add(f, &b);
}

/* ---- what comes out ---- */

static struct seen {
	struct sample samples[16];
	uint64_t chain[16][4], regs[SAMPLE_REGS];
	unsigned events[16], count;
	struct sideband sideband[8];
	char texts[8][64];
	uint8_t build_id[RECORD_BUILD_ID_MAX];
	unsigned sideband_count, stop_after;
	struct perfdata_info info;
	struct perfdata_stats stats;
	int result;
	char message[200];
} seen;

static bool on_sample(void *arg, const struct sample *s, unsigned event)
{
	assert_true(seen.count < 16);
	for (uint32_t i = 0; i < s->user_count && i < 4; i++)
		seen.chain[seen.count][i] = s->user_chain[i];
	if (s->regs)
		memcpy(seen.regs, s->regs, sizeof(seen.regs));
	seen.events[seen.count] = event;
	seen.samples[seen.count++] = *s;
	return seen.count != seen.stop_after;
}

static bool on_sideband(void *arg, const struct sideband *sb)
{
	assert_true(seen.sideband_count < 8);
	if (sb->text)
		strncpy(seen.texts[seen.sideband_count], sb->text, 63);
	if (sb->build_id)
		memcpy(seen.build_id, sb->build_id, sb->build_id_bytes);
	seen.sideband[seen.sideband_count++] = *sb;
	return true;
}

static void read_bytes(const void *bytes, size_t len, unsigned stop_after)
{
	struct perfdata_sink sink = {.sample = on_sample, .sideband = on_sideband};
	struct buf message = BUF_INIT;
	struct perfdata *pd;

	memset(&seen, 0, sizeof(seen));
	seen.stop_after = stop_after;
	seen.result = perfdata_open(bytes, len, &pd, &message);
	if (message.data)
		strncpy(seen.message, message.data, sizeof(seen.message) - 1);
	buf_done(&message);
	if (seen.result < 0)
		return;
	seen.info = *perfdata_info(pd);
	seen.result = perfdata_read(pd, &sink);
	perfdata_get_stats(pd, &seen.stats);
	perfdata_free(pd);
}

static void read_file(struct file *f)
{
	end(f);
	read_bytes(f->bytes.data, f->bytes.len, 0);
	buf_done(&f->bytes);
}

/* ---- tests ---- */

static void a_sample_has_what_was_written(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct file f;

	begin(&f, &attr, 1);
	add_sample(&f, 10, 100);
	read_file(&f);
	assert_int_equal(seen.result, 0);
	assert_null(seen.stats.cut);
	assert_int_equal(seen.info.event_count, 1);
	assert_string_equal(seen.info.events[0].spec.name, "cpu-clock");
	assert_true(seen.info.events[0].spec.is_clock);
	assert_int_equal(seen.info.events[0].freq_hz, 99);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.samples[0].pid, 7);
	assert_int_equal(seen.samples[0].tid, 8);
	assert_int_equal(seen.samples[0].t_ns, 100);
	assert_int_equal(seen.samples[0].cpu, 1);
	assert_int_equal(seen.samples[0].period, 1000);
	assert_int_equal(seen.samples[0].kernel_count, 1);
	assert_int_equal(seen.samples[0].user_count, 2);
	assert_int_equal(seen.chain[0][1], 0x402000);
	assert_false(seen.samples[0].kernel_ip);
}

static void records_come_in_the_order_of_their_time(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	static const uint64_t times[] = {50, 10, 70, 0, 20, 60, 0, 90, 80};
	static const uint64_t sorted[] = {10, 20, 50, 60, 70, 80, 90};
	struct file f;

	begin(&f, &attr, 1);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (times[i])
			add_sample(&f, 10, times[i]);
		else
			add_round(&f);
	}
	read_file(&f);
	assert_int_equal(seen.count, 7);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(seen.samples[i].t_ns, sorted[i]);
	assert_int_equal(seen.stats.out_of_order, 0);
}

static void what_comes_too_late_is_counted(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct file f;

	begin(&f, &attr, 1);
	add_sample(&f, 10, 100);
	add_round(&f);
	add_sample(&f, 10, 200);
	add_round(&f);
	add_sample(&f, 10, 50);
	read_file(&f);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.stats.out_of_order, 1);
}

static void events_are_told_apart_by_id(void **state)
{
	struct perf_event_attr attrs[] = {attr_of(PERF_COUNT_SW_DUMMY, CHAIN_TYPE),
		attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE),
		attr_of(PERF_COUNT_SW_PAGE_FAULTS, CHAIN_TYPE)};
	struct file f;

	begin(&f, attrs, 3);
	add_sample(&f, 12, 1);
	add_sample(&f, 11, 2);
	add_sample(&f, 10, 3); /* a dummy never fires */
	read_file(&f);
	assert_int_equal(seen.info.event_count, 2);
	assert_string_equal(seen.info.events[1].spec.name, "page-faults");
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.events[0], 1);
	assert_int_equal(seen.events[1], 0);
	assert_int_equal(seen.stats.left_out, 0);
}

static void perfs_registers_become_ours(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK,
		CHAIN_TYPE | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	struct bytes b;
	struct file f;

	attr.sample_regs_user = ALL_REGS;
	attr.sample_stack_user = 16;
	begin(&f, &attr, 1);
	begin_sample(&b, 10, 5);
	put(&b, 0); /* chain */
	put(&b, PERF_SAMPLE_REGS_ABI_64);
	for (unsigned bit = 0; bit < 24; bit++)
		if ((ALL_REGS >> bit) & 1)
			put(&b, 1000 + bit);
	put(&b, 16);
	put(&b, 0x1111);
	put(&b, 0x2222);
	put(&b, 8); /* of which the kernel could copy so many */
	add(&f, &b);
	read_file(&f);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.info.events[0].stack_bytes, 16);
	assert_int_equal(seen.samples[0].abi, PERF_SAMPLE_REGS_ABI_64);
	assert_int_equal(seen.regs[SAMPLE_REG_RBP], 1006);
	assert_int_equal(seen.regs[SAMPLE_REG_RIP], 1008);
	assert_int_equal(seen.regs[9], 1016); /* r8: flags and segments are left out */
	assert_int_equal(seen.regs[16], 1023);
	assert_int_equal(seen.samples[0].stack_bytes, 8);
	assert_int_equal(seen.samples[0].stack_asked, 16);
}

static void some_registers_alone_are_of_no_use(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK,
		CHAIN_TYPE | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	struct bytes b;
	struct file f;

	attr.sample_regs_user = 1 << 6 | 1 << 7 | 1 << 8;
	begin(&f, &attr, 1);
	begin_sample(&b, 10, 5);
	put(&b, 0);
	put(&b, PERF_SAMPLE_REGS_ABI_64);
	for (int i = 0; i < 3; i++)
		put(&b, 1);
	put(&b, 8);
	put(&b, 0x1111);
	put(&b, 8);
	add(&f, &b);
	read_file(&f);
	assert_int_equal(seen.count, 1);
	assert_null(seen.samples[0].regs);
	assert_null(seen.samples[0].stack);
}

static void a_mapping_may_tell_a_build_id(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct bytes b;
	struct file f;

	begin(&f, &attr, 1);
	put_header(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | (1 << 14));
	put_pair(&b, 7, 7);
	put(&b, 0x400000);
	put(&b, 0x1000);
	put(&b, 0x2000);
	put_pair(&b, 20, 0x04030201);
	put(&b, 0);
	put(&b, 0);
	put_pair(&b, PROT_READ | PROT_EXEC, 0);
	put_text(&b, "/bin/app");
	put_rest(&b, 3);
	add(&f, &b);
	read_file(&f);
	assert_int_equal(seen.sideband_count, 1);
	assert_int_equal(seen.sideband[0].kind, SIDEBAND_MMAP);
	assert_int_equal(seen.sideband[0].end, 0x401000);
	assert_int_equal(seen.sideband[0].pgoff, 0x2000);
	assert_int_equal(seen.sideband[0].inode, 0);
	assert_int_equal(seen.sideband[0].build_id_bytes, 20);
	assert_int_equal(seen.build_id[0], 1);
	assert_int_equal(seen.build_id[3], 4);
	assert_string_equal(seen.texts[0], "/bin/app");
	assert_int_equal(seen.sideband[0].t_ns, 3);
}

static void the_kernels_place_is_told(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct bytes b;
	struct file f;

	begin(&f, &attr, 1);
	put_header(&b, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	put_pair(&b, UINT32_MAX, 0);
	put(&b, 0xffffffff81000000);
	put(&b, 0x1000000);
	put(&b, 0xffffffff81200000);
	put_text(&b, "[kernel.kallsyms]_text");
	put_rest(&b, 0);
	add(&f, &b);
	read_file(&f);
	assert_int_equal(seen.info.kernel_text, 0xffffffff81200000);
}

static void losses_are_not_counted_twice(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct bytes b;
	struct file f;

	begin(&f, &attr, 1);
	put_header(&b, PERF_RECORD_LOST, 0);
	put(&b, 10);
	put(&b, 5);
	put_rest(&b, 9);
	add(&f, &b);
	put_header(&b, PERF_RECORD_LOST_SAMPLES, 0); /* as perf adds it at the end */
	put(&b, 4);
	put_rest(&b, 0);
	add(&f, &b);
	read_file(&f);
	assert_int_equal(seen.stats.lost, 5);
}

static void samples_lost_are_told_from_other_records(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct bytes b;
	struct file f;

	attr.read_format = 1 << 4; /* the event counts what it lost */
	begin(&f, &attr, 1);
	put_header(&b, PERF_RECORD_LOST, 0);
	put(&b, 10);
	put(&b, 50);
	put_rest(&b, 9);
	add(&f, &b);
	put_header(&b, PERF_RECORD_LOST_SAMPLES, 0);
	put(&b, 4);
	put_rest(&b, 0);
	add(&f, &b);
	read_file(&f);
	assert_int_equal(seen.stats.lost, 4);
	assert_int_equal(seen.stats.other_lost, 46);
}

static void a_cut_file_gives_what_is_whole(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct file f;

	begin(&f, &attr, 1);
	add_sample(&f, 10, 1);
	add_sample(&f, 10, 2);
	end(&f);
	read_bytes(f.bytes.data, f.bytes.len - 8, 0);
	assert_int_equal(seen.result, 0);
	assert_int_equal(seen.count, 1);
	assert_non_null(seen.stats.cut);
	assert_int_equal(seen.stats.malformed, 1);
	buf_done(&f.bytes);
}

static void a_malformed_sample_is_left_out(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct bytes b;
	struct file f;

	begin(&f, &attr, 1);
	begin_sample(&b, 10, 1);
	put(&b, 1u << 30); /* so many frames, of which there is none */
	add(&f, &b);
	add_sample(&f, 10, 2);
	read_file(&f);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.stats.malformed, 1);
	assert_null(seen.stats.cut);
}

static void a_record_without_a_size_ends_the_reading(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct file f;

	begin(&f, &attr, 1);
	add_sample(&f, 10, 1);
	word(&f, PERF_RECORD_SAMPLE);
	add_sample(&f, 10, 2);
	read_file(&f);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.stats.cut, "a record has an impossible size");
}

static void a_recording_that_was_killed_is_read_to_its_end(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct file f;

	begin(&f, &attr, 1);
	add_sample(&f, 10, 1);
	read_bytes(f.bytes.data, f.bytes.len, 0);
	assert_true(seen.info.unfinished);
	assert_int_equal(seen.count, 1);
	buf_done(&f.bytes);
}

static void a_pipe_has_its_attributes_among_the_records(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_TASK_CLOCK, CHAIN_TYPE);
	struct file f = {.bytes = BUF_INIT};
	struct bytes b;

	word(&f, MAGIC);
	word(&f, 16);
	put_header(&b, 64, 0);
	memcpy(&b.words[b.count], &attr, sizeof(attr));
	b.count += sizeof(attr) / 8;
	put(&b, 10);
	add(&f, &b);
	put_header(&b, 80, 0); /* a feature: the version */
	put(&b, 5);
	put_pair(&b, 16, 'p' | 'r' << 8 | 'o' << 16 | 'f' << 24);
	memcpy(&b.words[b.count], "iled 1.0\0\0\0", 12);
	b.count += 2;
	add(&f, &b);
	add_sample(&f, 10, 1);
	read_bytes(f.bytes.data, f.bytes.len, 0);
	assert_int_equal(seen.result, 0);
	assert_true(seen.info.pipe);
	assert_true(seen.info.ours);
	assert_string_equal(seen.info.events[0].spec.name, "task-clock");
	assert_int_equal(seen.count, 1);
	buf_done(&f.bytes);
}

static void the_sink_may_end_it(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct file f;

	begin(&f, &attr, 1);
	for (uint64_t t = 1; t < 6; t++)
		add_sample(&f, 10, t);
	end(&f);
	read_bytes(f.bytes.data, f.bytes.len, 2);
	assert_int_equal(seen.result, -ECANCELED);
	assert_int_equal(seen.count, 2);
	buf_done(&f.bytes);
}

struct progress {
	const char *bytes;
	size_t at;
	unsigned told, samples;
};

/* Long chains lie in the file itself. */
static bool is_ahead(void *arg, const struct sample *s, unsigned event)
{
	struct progress *p = arg;

	p->samples++;
	assert_true((const char *)s->user_chain >= p->bytes + p->at);
	return true;
}

static void note_progress(void *arg, size_t at)
{
	struct progress *p = arg;

	assert_true(at >= p->at);
	p->at = at;
	p->told++;
}

static void progress_is_not_ahead_of_what_waits(void **state)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK, CHAIN_TYPE);
	struct progress seen_so_far = {0};
	struct perfdata_sink sink = {
		.sample = is_ahead, .progress = note_progress, .arg = &seen_so_far};
	struct buf message = BUF_INIT;
	struct perfdata *pd;
	struct bytes b;
	struct file f;

	begin(&f, &attr, 1);
	for (unsigned i = 1; i <= 600; i++) { /* 36 MB */
		begin_sample(&b, 10, i);
		put(&b, 7500);
		put(&b, PERF_CONTEXT_USER);
		for (unsigned k = 1; k < 7500; k++)
			put(&b, 0x401000 + k);
		add(&f, &b);
		if (i % 50 == 0)
			add_round(&f);
	}
	end(&f);
	seen_so_far.bytes = f.bytes.data;
	assert_int_equal(perfdata_open(f.bytes.data, f.bytes.len, &pd, &message), 0);
	assert_int_equal(perfdata_read(pd, &sink), 0);
	perfdata_free(pd);
	assert_int_equal(seen_so_far.samples, 600);
	assert_true(seen_so_far.told >= 4);
	assert_true(seen_so_far.at > f.bytes.len / 2);
	buf_done(&f.bytes);
}

static void what_cannot_be_read_is_refused_with_a_reason(void **state)
{
	static const struct {
		uint64_t words[2];
		size_t len;
		const char *why;
	} cases[] = {
		{{MAGIC, 16}, 12, "too short"},
		{{MAGIC, 40}, 16, "impossible size"},
		{{MAGIC, 104}, 16, "within its header"},
		{{UINT64_C(0x50455246494c4532), 104}, 16, "byte order"},
		{{UINT64_C(0x454c494646524550), 104}, 16, "before Linux 3.0"},
		{{UINT64_C(0x00010102464c457f), 0}, 16, "does not begin"},
		{{MAGIC, 16}, 16, "names no event"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		read_bytes(cases[i].words, cases[i].len, 0);
		assert_int_equal(seen.result, -EINVAL);
		assert_non_null(strstr(seen.message, cases[i].why));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_has_what_was_written),
		cmocka_unit_test(records_come_in_the_order_of_their_time),
		cmocka_unit_test(what_comes_too_late_is_counted),
		cmocka_unit_test(events_are_told_apart_by_id),
		cmocka_unit_test(perfs_registers_become_ours),
		cmocka_unit_test(some_registers_alone_are_of_no_use),
		cmocka_unit_test(a_mapping_may_tell_a_build_id),
		cmocka_unit_test(the_kernels_place_is_told),
		cmocka_unit_test(losses_are_not_counted_twice),
		cmocka_unit_test(samples_lost_are_told_from_other_records),
		cmocka_unit_test(a_cut_file_gives_what_is_whole),
		cmocka_unit_test(a_malformed_sample_is_left_out),
		cmocka_unit_test(a_record_without_a_size_ends_the_reading),
		cmocka_unit_test(a_recording_that_was_killed_is_read_to_its_end),
		cmocka_unit_test(a_pipe_has_its_attributes_among_the_records),
		cmocka_unit_test(the_sink_may_end_it),
		cmocka_unit_test(progress_is_not_ahead_of_what_waits),
		cmocka_unit_test(what_cannot_be_read_is_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
