/* What a perf.data file says of itself: its header, the attributes of its events, its features; a
 * pipe has all of them as records among the others. */
#include "daemon/sample/perfdata_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAGIC          UINT64_C(0x32454c4946524550) /* "PERFILE2" */
#define MAGIC_SWAPPED  UINT64_C(0x50455246494c4532)
#define MAGIC_OLD      UINT64_C(0x454c494646524550) /* "PERFFILE" */
#define PIPE_HEADER    16u
#define FILE_HEADER    104u
#define ATTR_BYTES_MIN 64u /* of the first published layout */
#define ATTRS_MAX      4096u
#define IDS_MAX        (1u << 20)
#define BUILD_IDS_MAX  65536u
#define FEATURE_BITS   256u

enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_DIR = 24,
	FEATURE_CLOCK_DATA = 29,
};

struct section {
	uint64_t at, bytes;
};

static int refuse(struct buf *message, const char *why)
{
	buf_append_str(message, why);
	return -EINVAL;
}

/* False: not all of it is in the file. */
static bool section_reader(const struct perfdata *pd, const struct section *s, struct reader *ret)
{
	if (s->at > pd->len || s->bytes > pd->len - s->at)
		return false;
	*ret = (struct reader){pd->bytes + s->at, (size_t)s->bytes};
	return true;
}

static bool take_section(struct reader *r, struct section *ret)
{
	return take_u64(r, &ret->at) && take_u64(r, &ret->bytes);
}

/* ---- attributes ---- */

static bool is_dummy(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY;
}

static void name_event(struct event_spec *e)
{
	for (const char *const *name = event_names(); *name; name++) {
		struct event_spec known;

		if (event_parse(NULL, *name, &known) == 0 && known.type == e->type &&
			known.config == e->config) {
			*e = known;
			return;
		}
	}
	if (e->type == PERF_TYPE_RAW)
		snprintf(e->name, sizeof(e->name), "r%llx", (unsigned long long)e->config);
	else
		snprintf(e->name, sizeof(e->name), "event %u:%#llx", e->type,
			(unsigned long long)e->config);
}

static int add_event(struct perfdata *pd, const struct perf_event_attr *a)
{
	struct perfdata_event *e;

	if (is_dummy(a))
		return -1;
	if (pd->info.event_count == EVENTS_MAX) {
		pd->info.events_left_out++;
		return -2;
	}
	e = &pd->info.events[pd->info.event_count];
	e->spec.type = a->type;
	e->spec.config = a->config;
	name_event(&e->spec);
	if (a->freq)
		e->freq_hz = a->sample_freq;
	else
		e->period = a->sample_period;
	e->stack_bytes = a->sample_type & PERF_SAMPLE_STACK_USER ? a->sample_stack_user : 0;
	e->chains = a->sample_type & PERF_SAMPLE_CALLCHAIN;
	e->kernel = !a->exclude_kernel;
	e->user_only_leaf = !e->chains && !e->stack_bytes;
	return (int)pd->info.event_count++;
}

/* bytes of an attribute, whose own size field counts. -EBADMSG; -ENOMEM. */
static int add_attr(struct perfdata *pd, const void *bytes, size_t len, uint32_t *ret_index)
{
	struct perf_event_attr a = {0};
	struct layout *grown;

	if (len < ATTR_BYTES_MIN || pd->layout_count == ATTRS_MAX)
		return -EBADMSG;
	memcpy(&a, bytes, len < sizeof(a) ? len : sizeof(a));
	grown = realloc(pd->layouts, (pd->layout_count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	pd->layouts = grown;
	grown[pd->layout_count] = (struct layout){.sample_type = a.sample_type,
		.read_format = a.read_format,
		.branch_type = a.branch_sample_type,
		.regs_mask = a.sample_regs_user,
		.period = a.freq ? 0 : a.sample_period,
		.id_all = a.sample_id_all,
		.event = add_event(pd, &a)};
	*ret_index = pd->layout_count++;
	return 0;
}

static int add_ids(struct perfdata *pd, struct reader r, uint32_t layout)
{
	uint64_t id;
	int e = 0;

	while (e == 0 && map_count(pd->by_id) < IDS_MAX && take_u64(&r, &id))
		e = map_set(pd->by_id, id, layout);
	return e;
}

static int read_attrs(
	struct perfdata *pd, const struct section *s, uint64_t each, struct buf *message)
{
	static const char bad[] = "its table of events is damaged";
	struct reader r, ids;
	struct section where;
	uint32_t index;
	int e;

	if (each < ATTR_BYTES_MIN + sizeof(where) || each > 4096 || !section_reader(pd, s, &r))
		return refuse(message, bad);
	while (r.left >= each) {
		struct reader one = {take(&r, each), (size_t)each};
		size_t attr_bytes = (size_t)each - sizeof(where);
		const void *attr = take(&one, attr_bytes);

		if (!take_section(&one, &where) || !section_reader(pd, &where, &ids))
			return refuse(message, bad);
		e = add_attr(pd, attr, attr_bytes, &index);
		if (e == 0)
			e = add_ids(pd, ids, index);
		if (e == -EBADMSG)
			return refuse(message, bad);
		if (e < 0)
			return e;
	}
	return 0;
}

/* A pipe's record: attribute, then ids. */
static int take_attr_record(struct perfdata *pd, struct reader r)
{
	uint32_t bytes, index;
	const void *attr = r.at;
	int e;

	if (r.left < ATTR_BYTES_MIN)
		return -EBADMSG;
	bytes = load_u32(r.at + offsetof(struct perf_event_attr, size));
	if (bytes == 0)
		bytes = ATTR_BYTES_MIN;
	if (!take(&r, bytes))
		return -EBADMSG;
	e = add_attr(pd, attr, bytes, &index);
	return e < 0 ? e : add_ids(pd, r, index);
}

/* ---- names of events ---- */

static void set_name(struct perfdata *pd, uint64_t id, const char *name, size_t room)
{
	uint64_t layout = 0;
	int event;

	if (pd->layout_count == 0 || (!map_get(pd->by_id, id, &layout) && pd->layout_count > 1))
		return;
	event = pd->layouts[layout].event;
	if (event >= 0 && strnlen(name, room) > 0)
		snprintf(pd->info.events[event].spec.name, sizeof(pd->info.events[event].spec.name),
			"%.*s", (int)strnlen(name, room), name);
}

static bool take_string(struct reader *r, const char **ret_text, uint32_t *ret_room)
{
	if (!take_u32(r, ret_room))
		return false;
	*ret_text = take(r, *ret_room);
	return *ret_text != NULL;
}

static void take_event_names(struct perfdata *pd, struct reader r)
{
	uint32_t count, each, ids, room;
	const char *name;

	if (!take_u32(&r, &count) || !take_u32(&r, &each))
		return;
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *first;

		if (!take(&r, each) || !take_u32(&r, &ids) || !take_string(&r, &name, &room))
			return;
		first = take(&r, 8 * (uint64_t)ids);
		if (!first)
			return;
		/* An event that was opened nowhere has no id; alone it needs none. */
		if (ids || pd->layout_count == 1)
			set_name(pd, ids ? load_u64(first) : 0, name, room);
	}
}

#define UPDATE_NAME 2

static void take_event_update(struct perfdata *pd, struct reader r)
{
	uint64_t type, id;

	if (take_u64(&r, &type) && take_u64(&r, &id) && type == UPDATE_NAME && r.left)
		set_name(pd, id, (const char *)r.at, r.left);
}

/* ---- build ids ---- */

static int tell_build_id(struct perfdata *pd, const char *path, const uint8_t *id, unsigned bytes)
{
	struct told_build_id *grown;
	uint64_t key = hash_bytes(path, strlen(path), 0), known;

	if (pd->told_count == BUILD_IDS_MAX || map_get(pd->told_by_path, key, &known))
		return 0;
	if (pd->told_count == pd->told_room) {
		unsigned room = pd->told_room ? 2 * pd->told_room : 32;

		grown = realloc(pd->told, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		pd->told = grown;
		pd->told_room = room;
	}
	grown = &pd->told[pd->told_count];
	grown->path = strdup(path);
	if (!grown->path)
		return -ENOMEM;
	memcpy(grown->id, id, bytes);
	grown->bytes = bytes;
	return map_set(pd->told_by_path, key, pd->told_count++);
}

static bool is_kernel(uint16_t misc)
{
	return (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

static void tell_kernel(struct perfdata *pd, const uint8_t *id, unsigned bytes)
{
	memcpy(pd->info.kernel_build_id, id, bytes);
	pd->info.kernel_build_id_bytes = bytes;
}

#define BUILD_ID_SIZE_TOLD (1u << 15)
#define BUILD_ID_PLACE     24u

/* One entry: pid, the id in 24 bytes (the 21st is its size), the path. */
static int take_build_id(struct perfdata *pd, uint16_t misc, struct reader r)
{
	unsigned bytes = RECORD_BUILD_ID_MAX;
	const uint8_t *id;
	const char *path;
	pid_t pid;

	if (!take_pid(&r, &pid))
		return 0;
	id = take(&r, BUILD_ID_PLACE);
	if (!id || !take_text(&r, &path))
		return 0;
	if ((misc & BUILD_ID_SIZE_TOLD) && id[RECORD_BUILD_ID_MAX] <= RECORD_BUILD_ID_MAX)
		bytes = id[RECORD_BUILD_ID_MAX];
	if (bytes == 0)
		return 0;
	if (is_kernel(misc) && strncmp(path, "[kernel.kallsyms]", 17) == 0)
		tell_kernel(pd, id, bytes);
	return tell_build_id(pd, path, id, bytes);
}

static int take_build_ids(struct perfdata *pd, struct reader r)
{
	struct perf_event_header h;
	int e = 0;

	while (e == 0 && r.left >= sizeof(h)) {
		struct reader one;

		memcpy(&h, r.at, sizeof(h));
		if (h.size < sizeof(h) || h.size > r.left)
			return 0;
		one = (struct reader){r.at + sizeof(h), h.size - sizeof(h)};
		e = take_build_id(pd, h.misc, one);
		take(&r, h.size);
	}
	return e;
}

/* ---- features ---- */

static void copy_string(struct reader r, char *out, size_t out_bytes)
{
	const char *text;
	uint32_t room;

	if (take_string(&r, &text, &room))
		snprintf(out, out_bytes, "%.*s", (int)strnlen(text, room), text);
}

static void take_cmdline(struct perfdata *pd, struct reader r)
{
	struct buf all = {.max_bytes = sizeof(pd->info.cmdline) - 1};
	uint32_t count, room;
	const char *text;

	if (!take_u32(&r, &count))
		return;
	for (uint32_t i = 0; i < count && !all.error && take_string(&r, &text, &room); i++)
		buf_printf(&all, "%s%.*s", i ? " " : "", (int)strnlen(text, room), text);
	snprintf(pd->info.cmdline, sizeof(pd->info.cmdline), "%s", all.data ? all.data : "");
	buf_done(&all);
}

/* version, clock, the wall's time, the same on the clock */
static void take_clock(struct perfdata *pd, struct reader r)
{
	uint32_t version, clock;

	pd->info.has_wall = take_u32(&r, &version) && take_u32(&r, &clock) && version == 1 &&
		take_u64(&r, &pd->info.wall_ns) && take_u64(&r, &pd->info.clock_ns);
	pd->info.monotonic = pd->info.has_wall && clock == CLOCK_MONOTONIC;
}

static int take_feature(struct perfdata *pd, unsigned feature, struct reader r)
{
	char version[sizeof(PERFDATA_OURS)] = "";

	switch (feature) {
	case FEATURE_BUILD_ID: return take_build_ids(pd, r);
	case FEATURE_HOSTNAME:
		copy_string(r, pd->info.hostname, sizeof(pd->info.hostname));
		return 0;
	case FEATURE_OSRELEASE:
		copy_string(r, pd->info.osrelease, sizeof(pd->info.osrelease));
		return 0;
	case FEATURE_VERSION:
		copy_string(r, version, sizeof(version));
		pd->info.ours = strcmp(version, PERFDATA_OURS) == 0;
		return 0;
	case FEATURE_CMDLINE: take_cmdline(pd, r); return 0;
	case FEATURE_EVENT_DESC: take_event_names(pd, r); return 0;
	case FEATURE_CLOCK_DATA: take_clock(pd, r); return 0;
	default: return 0;
	}
}

/* A section for each bit, in their order, behind the records. */
static int read_features(struct perfdata *pd, const uint64_t *bits, uint64_t at)
{
	struct section table = {at, pd->len > at ? pd->len - at : 0}, s;
	struct reader r, one;
	int e = 0;

	if (!section_reader(pd, &table, &r))
		return 0;
	for (unsigned i = 0; e == 0 && i < FEATURE_BITS; i++) {
		if (!((bits[i / 64] >> (i % 64)) & 1))
			continue;
		if (!take_section(&r, &s))
			return 0;
		if (section_reader(pd, &s, &one))
			e = take_feature(pd, i, one);
	}
	return e;
}

/* ---- records that describe ---- */

/* perf tells where the kernel begins as a mapping of it, in the place of the file's offset. */
static void take_kernel_map(struct perfdata *pd, const struct perf_event_header *h, struct reader r)
{
	uint64_t addr, bytes, pgoff;
	const uint8_t *id;
	const char *path;
	uint32_t prot;
	pid_t pid, tid;

	if (!take_pid(&r, &pid) || !take_pid(&r, &tid) || !take_u64(&r, &addr) ||
		!take_u64(&r, &bytes) || !take_u64(&r, &pgoff))
		return;
	if (h->type == PERF_RECORD_MMAP2) {
		id = take(&r, 24);
		if (!id || !take_u32(&r, &prot) || !take_u32(&r, &prot))
			return;
		if ((h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) && id[0] > 0 &&
			id[0] <= RECORD_BUILD_ID_MAX && take_text(&r, &path) &&
			strncmp(path, "[kernel.kallsyms]", 17) == 0)
			tell_kernel(pd, id + 4, id[0]);
	}
	if (take_text(&r, &path) && strncmp(path, "[kernel.kallsyms]", 17) == 0)
		pd->info.kernel_text = pgoff;
}

static int take_description(
	struct perfdata *pd, const struct perf_event_header *h, const uint8_t *bytes)
{
	struct reader r = {bytes + sizeof(*h), h->size - sizeof(*h)};
	uint64_t feature;
	int e;

	switch (h->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if (is_kernel(h->misc))
			take_kernel_map(pd, h, r);
		return 0;
	case PERFDATA_ATTR:
		e = pd->info.pipe ? take_attr_record(pd, r) : 0;
		return e == -EBADMSG ? 0 : e;
	case PERFDATA_EVENT_UPDATE: take_event_update(pd, r); return 0;
	case PERFDATA_BUILD_ID: return take_build_id(pd, h->misc, r);
	case PERFDATA_FEATURE:
		if (!take_u64(&r, &feature) || feature >= FEATURE_BITS)
			return 0;
		return take_feature(pd, (unsigned)feature, r);
	default: return 0;
	}
}

/* A file tells about the kernel before its first sample, a pipe may tell until its end. */
static int scan_records(struct perfdata *pd)
{
	const uint8_t *at = pd->bytes + pd->data_at;
	size_t left = pd->data_end - pd->data_at, bytes;
	struct perf_event_header h;
	const char *cut = NULL;
	int e = 0;

	while (e == 0 && perfdata_next(at, left, &h, &bytes, &cut)) {
		if (!pd->info.pipe &&
			(h.type == PERF_RECORD_SAMPLE || h.type == PERFDATA_COMPRESSED ||
				h.type == PERFDATA_COMPRESSED2))
			break;
		e = take_description(pd, &h, at);
		at += bytes;
		left -= bytes;
	}
	return e;
}

/* ---- the header ---- */

static int read_file_header(struct perfdata *pd, struct reader r, struct buf *message)
{
	struct section attrs, data, unused;
	uint64_t each, bits[FEATURE_BITS / 64];
	int e;

	if (!take_u64(&r, &each) || !take_section(&r, &attrs) || !take_section(&r, &data) ||
		!take_section(&r, &unused))
		return refuse(message, "it ends within its header");
	for (size_t i = 0; i < FEATURE_BITS / 64; i++)
		if (!take_u64(&r, &bits[i]))
			return refuse(message, "it ends within its header");
	if ((bits[0] >> FEATURE_DIR) & 1)
		return refuse(message,
			"it is one file of a folder of them (perf record --threads); merge them "
			"with perf inject first");
	if (data.at < FILE_HEADER || data.at > pd->len)
		return refuse(message, "it ends before its first record");
	pd->info.unfinished = data.bytes == 0;
	pd->data_at = (size_t)data.at;
	pd->data_end = pd->len;
	e = read_attrs(pd, &attrs, each, message);
	if (e < 0 || pd->info.unfinished)
		return e;
	if (data.bytes > pd->len - data.at) {
		pd->stats.cut = NULL; /* the last record will tell */
		return 0;
	}
	pd->data_end = (size_t)(data.at + data.bytes);
	return read_features(pd, bits, data.at + data.bytes);
}

static int check_magic(uint64_t magic, struct buf *message)
{
	if (magic == MAGIC)
		return 0;
	if (magic == MAGIC_SWAPPED)
		return refuse(message,
			"it was recorded on a machine of the other byte order, which is not read "
			"here");
	if (magic == MAGIC_OLD)
		return refuse(message, "it is of a perf before Linux 3.0, which is not read here");
	return refuse(message, "it does not begin as a perf.data file does");
}

int perfdata_read_head(struct perfdata *pd, struct buf *message)
{
	struct reader r = {pd->bytes, pd->len};
	uint64_t magic, size;
	int e;

	if (!take_u64(&r, &magic) || !take_u64(&r, &size))
		return refuse(message, "it is too short to be a perf.data file");
	e = check_magic(magic, message);
	if (e < 0)
		return e;
	if (size == PIPE_HEADER) {
		pd->info.pipe = true;
		pd->data_at = PIPE_HEADER;
		pd->data_end = pd->len;
	} else if (size < FILE_HEADER) {
		return refuse(message, "its header has an impossible size");
	} else {
		e = read_file_header(pd, r, message);
	}
	if (e == 0)
		e = scan_records(pd);
	if (e == 0 && pd->layout_count == 0)
		return refuse(message, "it names no event");
	return e;
}

void perfdata_head_done(struct perfdata *pd)
{
	for (unsigned i = 0; i < pd->told_count; i++)
		free(pd->told[i].path);
	free(pd->told);
	free(pd->layouts);
}
