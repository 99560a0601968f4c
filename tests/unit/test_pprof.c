/* Profiles as pprof's messages, unpacked again. What "go tool pprof" makes of them is for the
 * integration tests. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/varint.h"
#include "daemon/render/render.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/profile_samples.h"

#define MANY 32

struct location {
	uint64_t mapping, address, functions[4], lines[4];
	unsigned depth;
};

static struct seen {
	struct seen_sample {
		uint64_t locations[16], values[8];
		unsigned depth, value_count;
		const char *process, *thread;
		uint64_t pid, tid;
	} samples[MANY];
	unsigned sample_count;
	struct location locations[MANY]; /* by id */
	struct {
		uint64_t file, offset, start, limit, has_functions;
	} mappings[MANY];         /* by id */
	uint64_t functions[MANY]; /* by id: name */
	uint64_t types[8], units[8];
	unsigned type_count;
	uint64_t time_ns, duration_ns, period, default_type;
	const char *strings[64];
	unsigned string_count;
} seen;

/* The next field: its number, and its value or its bytes. */
static unsigned next_field(struct reading *r, uint64_t *ret_value, struct reading *ret_bytes)
{
	uint64_t key, len;

	if (r->at == r->end)
		return 0;
	key = get_number(r);
	*ret_value = len = get_number(r);
	if ((key & 7) == 2) {
		ret_bytes->at = get_bytes(r, len);
		ret_bytes->end = ret_bytes->at + len;
		ret_bytes->bad = false;
	} else {
		assert_int_equal(key & 7, 0);
	}
	assert_false(r->bad);
	return (unsigned)(key >> 3);
}

/* A message of numbers alone, by field. */
static void read_numbers(struct reading r, uint64_t out[16])
{
	struct reading bytes;
	uint64_t value;
	unsigned field;

	while ((field = next_field(&r, &value, &bytes)))
		out[field] = value;
}

/* Strings come last: labels are kept as numbers until then. */
static uint64_t label_keys[MANY][8], label_values[MANY][8][2];
static unsigned label_counts[MANY];

static void read_sample(struct reading r)
{
	struct seen_sample *s = &seen.samples[seen.sample_count];
	unsigned *labels = &label_counts[seen.sample_count], field;
	struct reading bytes;
	uint64_t value;

	while ((field = next_field(&r, &value, &bytes))) {
		uint64_t label[16] = {0};

		while (field == 1 && bytes.at < bytes.end)
			s->locations[s->depth++] = get_number(&bytes);
		while (field == 2 && bytes.at < bytes.end)
			s->values[s->value_count++] = get_number(&bytes);
		if (field != 3)
			continue;
		read_numbers(bytes, label);
		label_keys[seen.sample_count][*labels] = label[1];
		label_values[seen.sample_count][*labels][0] = label[2];
		label_values[seen.sample_count][(*labels)++][1] = label[3];
	}
	assert_true(++seen.sample_count < MANY);
}

static void read_location(struct reading r)
{
	struct location l = {0};
	uint64_t value, id = 0;
	struct reading bytes;
	unsigned field;

	while ((field = next_field(&r, &value, &bytes))) {
		uint64_t line[16] = {0};

		id = field == 1 ? value : id;
		l.mapping = field == 2 ? value : l.mapping;
		l.address = field == 3 ? value : l.address;
		if (field != 4)
			continue;
		read_numbers(bytes, line);
		l.functions[l.depth] = line[1];
		l.lines[l.depth++] = line[2];
	}
	assert_in_range(id, 1, MANY - 1);
	seen.locations[id] = l;
}

static void read_code(unsigned field, struct reading bytes)
{
	uint64_t n[16] = {0};

	read_numbers(bytes, n);
	assert_in_range(n[1], 1, MANY - 1);
	if (field == 5) {
		seen.functions[n[1]] = n[2];
		return;
	}
	seen.mappings[n[1]].start = n[2];
	seen.mappings[n[1]].limit = n[3];
	seen.mappings[n[1]].offset = n[4];
	seen.mappings[n[1]].file = n[5];
	seen.mappings[n[1]].has_functions = n[7];
}

static void read_type(struct reading bytes)
{
	uint64_t n[16] = {0};

	read_numbers(bytes, n);
	seen.types[seen.type_count] = n[1];
	seen.units[seen.type_count++] = n[2];
}

static char text_of[1 << 16];

static void read_string(struct reading bytes)
{
	static char *at;
	size_t len = (size_t)(bytes.end - bytes.at);

	if (seen.string_count == 0)
		at = text_of;
	memcpy(at, bytes.at, len);
	at[len] = 0;
	seen.strings[seen.string_count++] = at;
	at += len + 1;
}

static void read_profile(const void *data, size_t len)
{
	struct reading r = {data, (const uint8_t *)data + len, false}, bytes;
	uint64_t value;
	unsigned field;

	while ((field = next_field(&r, &value, &bytes))) {
		switch (field) {
		case 1: read_type(bytes); break;
		case 2: read_sample(bytes); break;
		case 3:
		case 5: read_code(field, bytes); break;
		case 4: read_location(bytes); break;
		case 6: read_string(bytes); break;
		case 9: seen.time_ns = value; break;
		case 10: seen.duration_ns = value; break;
		case 12: seen.period = value; break;
		case 14: seen.default_type = value; break;
		default: break;
		}
	}
}

static void take_labels(unsigned i)
{
	struct seen_sample *s = &seen.samples[i];

	for (unsigned l = 0; l < label_counts[i]; l++) {
		const char *key = seen.strings[label_keys[i][l]];

		if (strcmp(key, "process") == 0)
			s->process = seen.strings[label_values[i][l][0]];
		else if (strcmp(key, "thread") == 0)
			s->thread = seen.strings[label_values[i][l][0]];
		else if (strcmp(key, "pid") == 0)
			s->pid = label_values[i][l][1];
		else if (strcmp(key, "tid") == 0)
			s->tid = label_values[i][l][1];
	}
}

static void unpack(const struct buf *packed, struct buf *plain)
{
	z_stream z = {.next_in = (Bytef *)packed->data, .avail_in = (uInt)packed->len};
	char *at;
	int r;

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(buf_reserve(plain, 1 << 20, &at), 0);
	z.next_out = (Bytef *)at;
	z.avail_out = 1 << 20;
	r = inflate(&z, Z_FINISH);
	plain->len = z.total_out;
	inflateEnd(&z);
	assert_int_equal(r, Z_STREAM_END);
}

static void write_and_read(const struct profile *p, const struct view_query *query)
{
	AUTO(buf_done) struct buf packed = BUF_INIT, plain = BUF_INIT;
	AUTO(render_free_auto) struct render *r = NULL;
	struct view *v;
	int more;

	memset(&seen, 0, sizeof(seen));
	memset(label_counts, 0, sizeof(label_counts));
	assert_int_equal(view_new(p, query, &v), 0);
	assert_int_equal(render_new(RENDER_PPROF, v, NULL, &r), 0);
	while ((more = render_more(r, &packed)) == 1)
		;
	assert_int_equal(more, 0);
	unpack(&packed, &plain);
	read_profile(plain.data, plain.len);
	assert_string_equal(seen.strings[0], "");
	for (unsigned i = 0; i < seen.sample_count; i++) {
		take_labels(i);
		assert_int_equal(seen.samples[i].value_count, seen.type_count);
		for (unsigned k = 0; k < seen.samples[i].depth; k++) {
			const struct location *l = &seen.locations[seen.samples[i].locations[k]];

			assert_true(seen.mappings[l->mapping].has_functions);
			assert_true(l->depth > 0 && seen.functions[l->functions[0]] > 0);
		}
	}
}

/* The name of a sample's frame, 0 the innermost. */
static const char *name_of(unsigned sample, unsigned depth)
{
	uint64_t id = seen.samples[sample].locations[depth];

	assert_true(depth < seen.samples[sample].depth);
	return seen.strings[seen.functions[seen.locations[id].functions[0]]];
}

static const char *file_of(unsigned sample, unsigned depth)
{
	uint64_t id = seen.samples[sample].locations[depth];

	return seen.strings[seen.mappings[seen.locations[id].mapping].file];
}

static const struct view_query everything = {.event = -1, .all_events = true};

static void stacks_have_names_files_and_weights(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();

	write_and_read(p, &everything);
	assert_int_equal(seen.sample_count, 4);
	assert_string_equal(seen.strings[seen.types[0]], "samples");
	assert_string_equal(seen.strings[seen.types[1]], "cpu");
	assert_string_equal(seen.strings[seen.units[1]], "nanoseconds");
	assert_int_equal(seen.default_type, seen.types[1]);
	assert_int_equal(seen.time_ns, SAMPLE_WALL);
	assert_int_equal(seen.duration_ns, 60000000000u);
	assert_int_equal(seen.period, 1000000000u / 99);
	/* In the order of nodes: main, main;work;hot, … */
	assert_int_equal(seen.samples[0].values[0], 10);
	assert_int_equal(seen.samples[0].values[1], 100000000);
	assert_int_equal(seen.samples[1].depth, 3);
	assert_string_equal(name_of(1, 0), "hot");
	assert_string_equal(name_of(1, 1), "work");
	assert_string_equal(name_of(1, 2), "main");
	assert_string_equal(file_of(1, 0), "/usr/bin/app");
	assert_string_equal(file_of(3, 0), "/lib/libm.so.6");
	assert_string_equal(seen.samples[1].process, "app");
	assert_int_equal(seen.samples[1].pid, 42);
	assert_string_equal(seen.strings[seen.mappings[1].file], "/usr/bin/app");
}

static void addresses_are_offsets_in_the_mapped_file(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	const struct location *l;

	write_and_read(p, &everything);
	l = &seen.locations[seen.samples[0].locations[0]];
	assert_in_range(
		l->address, seen.mappings[l->mapping].start, seen.mappings[l->mapping].limit - 1);
	assert_int_equal(
		l->address - seen.mappings[l->mapping].start + seen.mappings[l->mapping].offset,
		p->frames[2].addr - p->modules[0].bias);
}

/* One program with everything that is no plain function of a file. */
static struct profile *odd_frames(bool kernel_named)
{
	struct sample_builder b;
	const char *inlined[] = {"deep", "middle", "outer"}, *k = "sys_read";
	uint32_t app, process, t1, t2, node, leaf;

	sample_begin(&b, 2);
	b.p->meta.kernel_text = UINT64_C(0xffffffff9a000000);
	app = sample_module(&b, "/opt/my app (deleted)");
	process = sample_process(&b, 42, "app");
	t1 = sample_thread(&b, 42, 0, "app");
	t2 = sample_thread(&b, 43, 0,
		"work\xff"
		"er");
	node = sample_node(&b, process, sample_frame(&b, FRAME_USER, app, 0x5000, inlined, 3));
	leaf = sample_node(&b, node,
		sample_frame(&b, FRAME_KERNEL, 0, UINT64_C(0xffffffff9a001010), &k, kernel_named));
	leaf = sample_node(
		&b, leaf, sample_frame(&b, FRAME_KERNEL, 0, UINT64_C(0xffffffff9a002020), NULL, 0));
	sample_log(&b, leaf, t1, 0, 1000, SAMPLE_START + 1);
	sample_log(&b, leaf, t2, 0, 500, SAMPLE_START + 2);
	sample_log(&b, leaf, t2, 1, 7, SAMPLE_START + 3);
	leaf = sample_node(&b, node, sample_frame(&b, FRAME_JIT, 0, 0x7f0000001234, NULL, 0));
	sample_log(&b, leaf, t1, 0, 3000, SAMPLE_START + 4);
	leaf = sample_node(&b, process,
		sample_frame(&b, FRAME_SPECIAL, 0, sample_text(&b, "[truncated]"), NULL, 0));
	sample_log(&b, leaf, t1, 0, 4000, SAMPLE_START + 5);
	return sample_end(&b);
}

static void odd_frames_have_mappings_and_names(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = odd_frames(true);
	const struct location *l;

	write_and_read(p, &everything);
	assert_int_equal(seen.sample_count, 3);
	/* One stack of two events: samples and weight of each. */
	assert_int_equal(seen.samples[0].value_count, 4);
	assert_int_equal(seen.samples[0].values[0], 2);
	assert_int_equal(seen.samples[0].values[1], 1500);
	assert_int_equal(seen.samples[0].values[2], 1);
	assert_int_equal(seen.samples[0].values[3], 7);
	assert_string_equal(seen.strings[seen.types[2]], "samples_of_event-1");
	assert_string_equal(name_of(0, 1), "sys_read");
	assert_string_equal(file_of(0, 1), "[kernel.kallsyms]");
	l = &seen.locations[seen.samples[0].locations[1]];
	assert_true(l->address == UINT64_C(0xffffffff81001010));
	assert_string_equal(name_of(1, 0), "[jit]");
	assert_string_equal(name_of(2, 0), "[truncated]");
	/* As it is: the kernel's mark of files that are gone was taken off before. */
	assert_string_equal(file_of(1, 1), "/opt/my app (deleted)");
	/* The innermost inlined function first. */
	l = &seen.locations[seen.samples[1].locations[1]];
	assert_int_equal(l->depth, 3);
	assert_string_equal(seen.strings[seen.functions[l->functions[0]]], "deep");
	assert_string_equal(seen.strings[seen.functions[l->functions[2]]], "outer");
}

static void frames_known_by_name_alone_are_told_apart(void **state)
{
	struct sample_builder b;
	uint32_t process, node, leaf;
	struct profile *p;

	sample_begin(&b, 1);
	process = sample_process(&b, 1, "folded");
	node = sample_node(&b, process,
		sample_frame(&b, FRAME_NAMED, NAMED_USER, sample_text(&b, "main"), NULL, 0));
	leaf = sample_node(&b, node,
		sample_frame(&b, FRAME_NAMED, NAMED_USER, sample_text(&b, "leaf"), NULL, 0));
	sample_add(&b, leaf, 0, 1, 1);
	p = sample_end(&b);
	write_and_read(p, &everything);
	assert_string_equal(name_of(0, 0), "leaf");
	assert_string_equal(name_of(0, 1), "main");
	assert_string_equal(file_of(0, 1), "[no file]");
	assert_true(seen.locations[seen.samples[0].locations[0]].address !=
		seen.locations[seen.samples[0].locations[1]].address);
	profile_unref(p);
}

static void kernel_without_names_is_one_frame_and_gives_no_address_away(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = odd_frames(false);

	write_and_read(p, &everything);
	assert_int_equal(seen.samples[0].depth, 2);
	assert_string_equal(name_of(0, 0), "[kernel]");
	assert_int_equal(seen.locations[seen.samples[0].locations[0]].address, 0);
}

static void threads_and_ranges_are_told_apart(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = odd_frames(true);
	struct view_query q = {.event = 0, .by_thread = true};

	write_and_read(p, &q);
	assert_int_equal(seen.sample_count, 4);
	assert_int_equal(seen.samples[0].value_count, 2);
	assert_int_equal(seen.samples[0].tid, 42);
	assert_int_equal(seen.samples[1].tid, 43);
	assert_string_equal(seen.samples[1].thread,
		"work\xef\xbf\xbd"
		"FFer");
	assert_int_equal(seen.samples[1].values[1], 500);
	q = (struct view_query){.event = 0, .from_ns = SAMPLE_START + 2, .to_ns = SAMPLE_START + 5};
	write_and_read(p, &q);
	assert_int_equal(seen.sample_count, 2);
	assert_int_equal(seen.samples[0].values[1], 500);
	assert_int_equal(seen.duration_ns, 3);
	assert_int_equal(seen.time_ns, SAMPLE_WALL + 2);
	q = (struct view_query){.event = 0, .pid = 43};
	write_and_read(p, &q);
	assert_int_equal(seen.sample_count, 0);
}

static void lines_are_told_when_asked_for(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = odd_frames(true);
	struct view_query q = {.event = 0, .lines = true};

	write_and_read(p, &q);
	assert_int_equal(seen.locations[seen.samples[1].locations[1]].lines[0], 10 + 0x5000 % 1000);
	q.lines = false;
	write_and_read(p, &q);
	assert_int_equal(seen.locations[seen.samples[1].locations[1]].lines[0], 0);
}

/* With so many allocations that succeed; the rest of them is left in *ret_left. */
static int write_with(const struct profile *p, long allocations, long *ret_left)
{
	AUTO(buf_done) struct buf out = BUF_INIT;
	AUTO(render_free_auto) struct render *r = NULL;
	struct view *v = NULL;
	int e;

	assert_int_equal(view_new(p, &everything, &v), 0);
	alloc_fail_after = allocations;
	e = render_new(RENDER_PPROF, v, NULL, &r);
	while (e == 0 && (e = render_more(r, &out)) == 1)
		e = 0;
	*ret_left = alloc_fail_after;
	alloc_fail_after = -1;
	return e;
}

static void want_of_memory_is_said(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = odd_frames(true);
	long plenty = 1000, left;

	assert_int_equal(write_with(p, plenty, &left), 0);
	assert_in_range(plenty - left, 10, plenty - 1);
	for (long few = 0; few < plenty - left; few++) {
		long none;

		assert_int_equal(write_with(p, few, &none), -ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_have_names_files_and_weights),
		cmocka_unit_test(addresses_are_offsets_in_the_mapped_file),
		cmocka_unit_test(odd_frames_have_mappings_and_names),
		cmocka_unit_test(frames_known_by_name_alone_are_told_apart),
		cmocka_unit_test(kernel_without_names_is_one_frame_and_gives_no_address_away),
		cmocka_unit_test(threads_and_ranges_are_told_apart),
		cmocka_unit_test(lines_are_told_when_asked_for),
		cmocka_unit_test(want_of_memory_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
