/* Profiles as perf.data files, read back by our own reader of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/render/render.h"
#include "daemon/sample/perfdata.h"
#include "tests/unit/profile_samples.h"

#define KERNEL_TEXT UINT64_C(0xffffffff81200000)

static struct seen {
	struct sample samples[16];
	uint64_t user[16][8], kernel[16][8];
	unsigned events[16], count;
	struct sideband maps[16];
	char paths[16][64], comms[16][32];
	uint8_t ids[16][RECORD_BUILD_ID_MAX];
	unsigned map_count, comm_count;
	struct perfdata_info info;
	struct perfdata_stats stats;
} seen;

static bool on_sample(void *arg, const struct sample *s, unsigned event)
{
	assert_true(seen.count < 16 && s->user_count <= 8 && s->kernel_count <= 8);
	if (s->user_count)
		memcpy(seen.user[seen.count], s->user_chain, s->user_count * sizeof(uint64_t));
	if (s->kernel_count)
		memcpy(seen.kernel[seen.count], s->kernel_chain,
			s->kernel_count * sizeof(uint64_t));
	seen.events[seen.count] = event;
	seen.samples[seen.count++] = *s;
	return true;
}

static bool on_sideband(void *arg, const struct sideband *sb)
{
	if (sb->pid < 0)
		return true;
	if (sb->kind != SIDEBAND_MMAP) {
		assert_true(seen.comm_count < 16);
		strncpy(seen.comms[seen.comm_count++], sb->text, 31);
		return true;
	}
	assert_true(seen.map_count < 16);
	strncpy(seen.paths[seen.map_count], sb->text, 63);
	if (sb->build_id)
		memcpy(seen.ids[seen.map_count], sb->build_id, sb->build_id_bytes);
	seen.maps[seen.map_count++] = *sb;
	return true;
}

/* Written with this query, whole, and read. */
static void write_and_read(const struct profile *p, const struct view_query *query)
{
	struct perfdata_sink sink = {.sample = on_sample, .sideband = on_sideband};
	AUTO(buf_done) struct buf bytes = BUF_INIT, message = BUF_INIT;
	AUTO(render_free_auto) struct render *r = NULL;
	AUTO(perfdata_free_auto) struct perfdata *file = NULL;
	uint64_t data[2];
	struct view *v;
	int more;

	memset(&seen, 0, sizeof(seen));
	assert_int_equal(view_new(p, query, &v), 0);
	assert_int_equal(render_new(RENDER_PERFDATA, v, NULL, &r), 0);
	while ((more = render_more(r, &bytes)) == 1)
		;
	assert_int_equal(more, 0);
	assert_int_equal(perfdata_open(bytes.data, bytes.len, &file, &message), 0);
	assert_int_equal(perfdata_read(file, &sink), 0);
	seen.info = *perfdata_info(file);
	perfdata_get_stats(file, &seen.stats);
	assert_null(seen.stats.cut);
	assert_int_equal(seen.stats.malformed + seen.stats.unknown + seen.stats.out_of_order, 0);
	/* The records end where the header says, and the features follow to the file's end. */
	memcpy(data, bytes.data + 40, sizeof(data));
	assert_true(data[0] + data[1] < bytes.len);
	assert_false(seen.info.unfinished);
	assert_true(seen.info.ours && seen.info.has_wall);
}

/* The file and its offset behind an address of that process. */
static const char *find(pid_t pid, uint64_t addr, uint64_t *ret_offset)
{
	for (unsigned i = 0; i < seen.map_count; i++) {
		const struct sideband *m = &seen.maps[i];

		if (m->pid != pid || addr < m->start || addr >= m->end)
			continue;
		*ret_offset = addr - m->start + m->pgoff;
		return seen.paths[i];
	}
	return NULL;
}

static const struct view_query everything = {.event = -1, .all_events = true};

/* Two programs share a library; one has kernel frames, code of its own and a mark. */
static struct profile *two_programs(void)
{
	struct sample_builder b;
	uint32_t app, lib, one, two, t1, t2, leaf, node;
	const char *k = "read";

	sample_begin(&b, 2);
	b.p->meta.kernel_text = KERNEL_TEXT;
	b.p->meta.kernel_release = sample_text(&b, "6.1.0");
	b.p->meta.kernel_build_id = sample_text(&b, "0102030405060708090a0b0c0d0e0f1011121314");
	app = sample_module(&b, "/bin/app");
	lib = sample_module(&b, "/lib/lib.so");
	one = sample_process(&b, 42, "app");
	t1 = sample_thread(&b, 42, 0, "app");
	t2 = sample_thread(&b, 43, 0, "worker");
	leaf = sample_chain(&b, one, app, "main;work");
	sample_log(&b, leaf, t1, 0, 1000, SAMPLE_START + 1);
	node = sample_node(&b, leaf, sample_frame(&b, FRAME_KERNEL, 0, KERNEL_TEXT + 16, &k, 1));
	sample_log(&b, node, t2, 0, 2000, SAMPLE_START + 2);
	node = sample_node(&b, leaf, sample_frame(&b, FRAME_JIT, 0, 0x7f0000001234, NULL, 0));
	sample_log(&b, node, t1, 1, 1, SAMPLE_START + 3);
	two = sample_process(&b, 50, "other");
	t1 = sample_thread(&b, 50, 1, "other");
	node = sample_node(&b, two,
		sample_frame(&b, FRAME_SPECIAL, 0, sample_text(&b, "[truncated]"), NULL, 0));
	leaf = sample_chain(&b, node, lib, "helper");
	sample_log(&b, leaf, t1, 0, 3000, SAMPLE_START + 4);
	return sample_end(&b);
}

static void frames_lead_to_their_files(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = two_programs();
	uint64_t offset;

	write_and_read(p, &everything);
	assert_int_equal(seen.count, 4);
	assert_int_equal(seen.samples[0].user_count, 2);
	assert_string_equal(find(42, seen.user[0][0], &offset), "/bin/app");
	/* addresses of the file less its bias: work is its second frame */
	assert_int_equal(offset, p->frames[3].addr - 0x1000);
	assert_string_equal(find(42, seen.user[0][1], &offset), "/bin/app");
	assert_int_equal(offset, p->frames[2].addr - 0x1000);
	assert_string_equal(find(50, seen.user[3][0], &offset), "/lib/lib.so");
	assert_null(find(50, seen.user[0][0], &offset)); /* mapped in its own process alone */
	assert_int_equal(seen.ids[0][1], 0xff);
}

static void each_sample_is_as_it_was(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = two_programs();

	write_and_read(p, &everything);
	assert_int_equal(seen.samples[0].t_ns, SAMPLE_START + 1);
	assert_int_equal(seen.samples[0].period, 1000);
	assert_int_equal(seen.samples[0].cpu, 1);
	assert_int_equal(seen.samples[1].pid, 42);
	assert_int_equal(seen.samples[1].tid, 43);
	assert_int_equal(seen.events[2], 1);
	assert_int_equal(seen.samples[3].pid, 50);
	assert_int_equal(seen.info.event_count, 2);
	assert_string_equal(seen.info.events[0].spec.name, SAMPLE_EVENT);
	assert_string_equal(seen.info.events[1].spec.name, "event-1");
	assert_int_equal(seen.info.events[0].freq_hz, 99);
	assert_int_equal(seen.info.wall_ns, SAMPLE_WALL);
	assert_int_equal(seen.comm_count, 3);
	assert_string_equal(seen.comms[1], "worker");
}

static void kernel_frames_keep_their_addresses(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = two_programs();

	write_and_read(p, &everything);
	assert_true(seen.samples[1].kernel_ip);
	assert_int_equal(seen.samples[1].kernel_count, 1);
	assert_int_equal(seen.kernel[1][0], KERNEL_TEXT + 16);
	assert_int_equal(seen.samples[1].user_count, 2);
	assert_false(seen.samples[0].kernel_ip);
	assert_int_equal(seen.info.kernel_text, KERNEL_TEXT);
	assert_int_equal(seen.info.kernel_build_id_bytes, 20);
	assert_int_equal(seen.info.kernel_build_id[19], 0x14);
	assert_string_equal(seen.info.osrelease, "6.1.0");
}

static void code_without_a_file_stays_where_it_was(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = two_programs();
	uint64_t offset;

	write_and_read(p, &everything);
	assert_int_equal(seen.user[2][0], 0x7f0000001234);
	assert_string_equal(find(42, seen.user[2][0], &offset), "//anon");
}

static void marks_have_a_page_with_their_name(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = two_programs();
	uint64_t offset;

	write_and_read(p, &everything);
	assert_int_equal(seen.samples[3].user_count, 2);
	assert_string_equal(find(50, seen.user[3][1], &offset), "[truncated]");
}

static void a_query_chooses_among_the_samples(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = two_programs();
	struct view_query q = {.event = 1};

	write_and_read(p, &q);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.events[0], 1);
	q = everything;
	q.pid = 50;
	write_and_read(p, &q);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.map_count, 2);
	q = everything;
	q.tid = 43;
	write_and_read(p, &q);
	assert_int_equal(seen.count, 1);
	q = everything;
	q.from_ns = SAMPLE_START + 2;
	q.to_ns = SAMPLE_START + 4;
	write_and_read(p, &q);
	assert_int_equal(seen.count, 2);
}

static void a_pid_that_came_back_is_another_process(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct sample_builder b;
	uint32_t app, node, thread;

	sample_begin(&b, 1);
	app = sample_module(&b, "/bin/app");
	for (unsigned i = 0; i < 2; i++) {
		node = sample_process(&b, 42, i ? "second" : "first");
		thread = sample_thread(&b, 42, i, i ? "second" : "first");
		sample_log(&b, sample_chain(&b, node, app, "main"), thread, 0, 1,
			SAMPLE_START + 1 + i);
	}
	p = sample_end(&b);
	write_and_read(p, &everything);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.comm_count, 2);
	assert_string_equal(seen.comms[1], "second");
	assert_int_equal(seen.map_count, 2);
	assert_int_equal(seen.maps[0].t_ns, 0);
	assert_int_equal(seen.maps[1].t_ns, SAMPLE_START + 2);
}

static void losses_are_told_for_the_whole_alone(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = two_programs();
	struct view_query q = everything;

	p->ledger.lost = 17;
	write_and_read(p, &q);
	assert_int_equal(seen.stats.lost, 17);
	q.pid = 42;
	write_and_read(p, &q);
	assert_int_equal(seen.stats.lost, 0);
}

static void an_empty_log_is_a_file_without_samples(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = NULL;
	struct sample_builder b;

	sample_begin(&b, 1);
	p = sample_end(&b);
	write_and_read(p, &everything);
	assert_int_equal(seen.count, 0);
	assert_int_equal(seen.info.event_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_lead_to_their_files),
		cmocka_unit_test(each_sample_is_as_it_was),
		cmocka_unit_test(kernel_frames_keep_their_addresses),
		cmocka_unit_test(code_without_a_file_stays_where_it_was),
		cmocka_unit_test(marks_have_a_page_with_their_name),
		cmocka_unit_test(a_query_chooses_among_the_samples),
		cmocka_unit_test(a_pid_that_came_back_is_another_process),
		cmocka_unit_test(losses_are_told_for_the_whole_alone),
		cmocka_unit_test(an_empty_log_is_a_file_without_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
