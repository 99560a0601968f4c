#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "base/buf.h"
#include "daemon/store/format.h"
#include "daemon/store/layout.h"
#include "daemon/store/store.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/profile_equal.h"
#include "tests/unit/profile_samples.h"

/* Something in every field. */
static struct profile *full_profile(void)
{
	static const char *const inlined[] = {"inner", "mid\n\xff", "outer"};
	struct sample_builder b;
	uint32_t app, process, other, leaf, deep, thread;

	sample_begin(&b, 3);
	app = sample_module(&b, "/usr/bin/\xff\x01;app");
	process = sample_process(&b, 42, "app");
	other = sample_process(&b, INT32_MAX, "x;y z");
	thread = sample_thread(&b, 43, 0, "worker");
	leaf = sample_chain(&b, process, app, "main;work;hot");
	deep = sample_node(&b, leaf, sample_frame(&b, FRAME_USER, app, UINT64_MAX, inlined, 3));
	deep = sample_node(&b, deep, sample_frame(&b, FRAME_KERNEL, 0, 1ull << 63, NULL, 0));
	sample_node(&b, deep, sample_frame(&b, FRAME_JIT, 1, 0x7f0000000000, NULL, 0));
	sample_node(&b, other,
		sample_frame(&b, FRAME_SPECIAL, 0, sample_text(&b, "[truncated]"), NULL, 0));
	sample_log(&b, leaf, thread, 0, 10101010, 5000000000);
	sample_log(&b, deep, thread, 2, ((uint64_t)1 << 48) - 1, 4000000000);
	sample_log(&b, process, thread, 1, 0, 0);
	sample_add(&b, deep, 1, 3, 1ull << 62);
	b.p->log[2].cpu = 4095;
	b.p->meta.period = 7;
	b.p->meta.warnings = sample_text(&b, "one\ntwo\n");
	b.p->meta.cost_cpu_ns = 8;
	b.p->meta.cost_bytes = 9;
	for (unsigned i = 0; i < LEDGER_NUMBERS; i++)
		((uint64_t *)&b.p->ledger)[i] = 1000 + i;
	return sample_end(&b);
}

static void whole_profile_comes_back(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = full_profile(), *back = NULL;
	AUTO(buf_done) struct buf data = BUF_INIT;

	/* What the buffer had before stays. */
	buf_append_str(&data, "before");
	assert_int_equal(store_encode(p, &data), 0);
	assert_int_equal(store_decode(data.data + 6, data.len - 6, false, &back), 0);
	assert_same_profile(p, back);
	assert_null(back->modules[0].handle);
}

static void profile_without_names_or_log_comes_back(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = full_profile();
	AUTO(profile_unref_auto) struct profile *copy = NULL, *back = NULL;
	AUTO(buf_done) struct buf data = BUF_INIT;

	assert_int_equal(profile_copy(p, NULL, &copy), 0);
	free(copy->log);
	copy->log = NULL;
	copy->log_count = 0;
	assert_int_equal(store_encode(copy, &data), 0);
	assert_int_equal(store_decode(data.data, data.len, false, &back), 0);
	assert_same_profile(copy, back);
	assert_null(back->log);
}

static void empty_log_is_not_none(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small(), *back = NULL;
	AUTO(buf_done) struct buf data = BUF_INIT;

	p->log = calloc(1, sizeof(*p->log));
	assert_int_equal(store_encode(p, &data), 0);
	assert_int_equal(store_decode(data.data, data.len, false, &back), 0);
	assert_non_null(back->log);
	assert_int_equal(back->log_count, 0);
}

static void empty_profile_comes_back(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = NULL, *back = NULL;
	AUTO(buf_done) struct buf data = BUF_INIT;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(store_encode(p, &data), 0);
	assert_int_equal(store_decode(data.data, data.len, false, &back), 0);
	assert_int_equal(back->node_count, 0);
	assert_int_equal(back->event_count, 0);
}

static void head_needs_no_body(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = full_profile(), *head = NULL;
	AUTO(buf_done) struct buf data = BUF_INIT;
	struct format_header h;

	assert_int_equal(store_encode(p, &data), 0);
	assert_int_equal(format_read_header(data.data, FORMAT_HEADER_BYTES, &h), 0);
	assert_int_equal(format_file_bytes(&h), data.len);
	assert_int_equal(
		store_decode(data.data, FORMAT_HEADER_BYTES + h.head_packed, true, &head), 0);
	assert_int_equal(head->node_count, 0);
	assert_int_equal(head->meta.session_id, 7);
	assert_int_equal(head->meta.owner, 1000);
	assert_string_equal(profile_text(head, head->meta.name), "morning");
	assert_string_equal(profile_text(head, head->meta.target_json), "{\"pid\": 42}");
	assert_string_equal(profile_text(head, head->meta.warnings), "one\ntwo\n");
	assert_string_equal(profile_text(head, head->events[2].name), "event-2");
	assert_memory_equal(&head->ledger, &p->ledger, sizeof(p->ledger));
	assert_int_equal(profile_check(head), 0);
}

static void cut_files_are_refused(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = full_profile();
	AUTO(buf_done) struct buf data = BUF_INIT;
	struct profile *back = NULL;

	assert_int_equal(store_encode(p, &data), 0);
	for (size_t len = 0; len < data.len; len++) {
		/* In a block of its own, so that a sanitizer sees one byte too many. */
		AUTO(free_auto) char *cut = malloc(len + !len);

		memcpy(cut, data.data, len);
		assert_int_equal(store_decode(cut, len, false, &back), -EBADMSG);
	}
	buf_append_char(&data, 0);
	assert_int_equal(store_decode(data.data, data.len, false, &back), -EBADMSG);
}

/* One bit of zstd's frame header means nothing; a change of it must change nothing. */
static void assert_refused_or_same(const struct profile *p, const struct buf *data)
{
	struct profile *back = NULL;
	int r = store_decode(data->data, data->len, false, &back);

	if (r == 0)
		assert_same_profile(p, back);
	else
		assert_true(r == -EBADMSG || r == -EPROTONOSUPPORT);
	profile_unref(back);
}

static void damaged_files_are_refused(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = full_profile();
	AUTO(buf_done) struct buf data = BUF_INIT;

	assert_int_equal(store_encode(p, &data), 0);
	for (size_t i = 0; i < data.len; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			data.data[i] ^= (char)(1 << bit);
			assert_refused_or_same(p, &data);
			data.data[i] ^= (char)(1 << bit);
		}
		data.data[i] = (char)~data.data[i];
		assert_refused_or_same(p, &data);
		data.data[i] = (char)~data.data[i];
	}
}

/* The bytes of body in a file whose sums are all right: the checks inside are on their own. */
static void wrap_body(const struct profile *p, const char *body, size_t len, struct buf *into)
{
	struct format_header h;

	assert_int_equal(store_encode(p, into), 0);
	assert_int_equal(format_read_header(into->data, into->len, &h), 0);
	into->len -= h.body_packed;
	h.flags = FORMAT_BODY_PLAIN;
	h.body_packed = h.body_bytes = len;
	h.body_sum = layout_sum(body, len);
	buf_append(into, body, len);
	layout_put_header(&h, (uint8_t *)into->data);
}

static void unpack_body(const struct buf *data, struct buf *body)
{
	struct format_header h;
	char *at;

	assert_int_equal(format_read_header(data->data, data->len, &h), 0);
	assert_int_equal(buf_reserve(body, h.body_bytes, &at), 0);
	assert_int_equal(ZSTD_decompress(at, h.body_bytes,
				 data->data + FORMAT_HEADER_BYTES + h.head_packed, h.body_packed),
		h.body_bytes);
	body->len = h.body_bytes;
}

static void nonsense_behind_good_sums_is_refused(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = full_profile();
	AUTO(buf_done) struct buf data = BUF_INIT, body = BUF_INIT, forged = BUF_INIT;
	struct profile *cut = NULL;
	unsigned whole = 0;

	assert_int_equal(store_encode(p, &data), 0);
	unpack_body(&data, &body);
	wrap_body(p, body.data, body.len, &forged);
	assert_refused_or_same(p, &forged);
	for (size_t i = 0; i < body.len; i++) {
		for (unsigned to = 0; to < 256; to += 15) {
			char kept = body.data[i];
			struct profile *back = NULL;

			body.data[i] = (char)to;
			buf_clear(&forged);
			wrap_body(p, body.data, body.len, &forged);
			/* Another number where it was may be as good as the first, but holds
			 * together. */
			if (store_decode(forged.data, forged.len, false, &back) == 0)
				assert_int_equal(profile_check(back), 0);
			profile_unref(back);
			body.data[i] = kept;
		}
		buf_clear(&forged);
		wrap_body(p, body.data, i, &forged);
		if (store_decode(forged.data, forged.len, false, &cut) != 0)
			continue;
		assert_int_equal(cut->modules[0].bias, whole == 0 ? 0 : p->modules[0].bias);
		assert_int_equal(cut->processes[0].command, 0);
		whole++;
		profile_unref(cut);
	}
	/* Cut in front of the biases it is a file of before there were any, and so of the commands.
	 */
	assert_int_equal(whole, 2);
}

static void bombs_are_refused(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	AUTO(buf_done) struct buf data = BUF_INIT, zeros = BUF_INIT;
	size_t many = (size_t)64 << 20;
	struct profile *back = NULL;
	struct format_header h;
	char *at;

	assert_int_equal(store_encode(p, &data), 0);
	assert_int_equal(format_read_header(data.data, data.len, &h), 0);
	data.len -= h.body_packed;
	assert_int_equal(buf_reserve(&zeros, many, &at), 0);
	memset(at, 0, many);
	assert_int_equal(buf_reserve(&data, ZSTD_compressBound(many), &at), 0);
	h.body_packed = ZSTD_compress(at, ZSTD_compressBound(many), zeros.data, many, 1);
	data.len += h.body_packed;
	assert_true(h.body_packed < many / 1000);

	/* It says what it is. */
	h.body_bytes = many;
	layout_put_header(&h, (uint8_t *)data.data);
	assert_int_equal(store_decode(data.data, data.len, false, &back), -EBADMSG);
	/* It lies. Nothing of the size it has may be asked for. */
	h.body_bytes = 1000;
	layout_put_header(&h, (uint8_t *)data.data);
	assert_int_equal(store_decode(data.data, data.len, false, &back), -EBADMSG);
}

static void very_regular_profile_comes_back(void **state)
{
	struct sample_builder b;
	AUTO(profile_unref_auto) struct profile *p = NULL, *back = NULL;
	AUTO(buf_done) struct buf data = BUF_INIT;
	struct format_header h;
	uint32_t node, thread;

	sample_begin(&b, 1);
	node = sample_process(&b, 1, "x");
	thread = sample_thread(&b, 1, 0, "x");
	for (unsigned i = 0; i < 300000; i++)
		sample_log(&b, node, thread, 0, 1000, 1000000000u + i * 1000u);
	p = sample_end(&b);
	assert_int_equal(store_encode(p, &data), 0);
	assert_int_equal(format_read_header(data.data, data.len, &h), 0);
	/* It would expand more than a reader allows. */
	assert_int_equal(h.flags, FORMAT_BODY_PLAIN);
	assert_int_equal(store_decode(data.data, data.len, false, &back), 0);
	assert_same_profile(p, back);
	profile_unref(MOVE(back));
	data.data[data.len - 1] ^= 1;
	assert_int_equal(store_decode(data.data, data.len, false, &back), -EBADMSG);
}

static void later_version_is_told_from_damage(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();
	AUTO(buf_done) struct buf data = BUF_INIT;
	struct profile *back = NULL;

	assert_int_equal(store_encode(p, &data), 0);
	data.data[8] = FORMAT_VERSION + 1;
	assert_int_equal(store_decode(data.data, data.len, false, &back), -EPROTONOSUPPORT);
	data.data[0] = 'X';
	assert_int_equal(store_decode(data.data, data.len, false, &back), -EBADMSG);
}

static void no_memory_is_survived(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = full_profile();
	AUTO(buf_done) struct buf good = BUF_INIT;

	assert_int_equal(store_encode(p, &good), 0);
	for (long after = 0; after < 60; after++) {
		AUTO(buf_done) struct buf data = BUF_INIT;
		struct profile *back = NULL;
		int r;

		alloc_fail_after = after;
		r = store_encode(p, &data);
		assert_true(r == 0 || r == -ENOMEM);
		alloc_fail_after = after;
		r = store_decode(good.data, good.len, false, &back);
		alloc_fail_after = -1;
		assert_true(r == 0 || r == -ENOMEM);
		if (r == 0)
			assert_same_profile(p, back);
		profile_unref(back);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_profile_comes_back),
		cmocka_unit_test(profile_without_names_or_log_comes_back),
		cmocka_unit_test(empty_log_is_not_none),
		cmocka_unit_test(empty_profile_comes_back),
		cmocka_unit_test(head_needs_no_body),
		cmocka_unit_test(cut_files_are_refused),
		cmocka_unit_test(damaged_files_are_refused),
		cmocka_unit_test(nonsense_behind_good_sums_is_refused),
		cmocka_unit_test(bombs_are_refused),
		cmocka_unit_test(very_regular_profile_comes_back),
		cmocka_unit_test(later_version_is_told_from_damage),
		cmocka_unit_test(no_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
