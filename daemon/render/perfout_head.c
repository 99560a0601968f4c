/* What stands before and behind the records of a perf.data file: its header, the attributes of the
 * events and their ids; then the features. All little-endian, as the machine is. */
#include "daemon/render/perfout.h"

#include <string.h>
#include <sys/utsname.h>

#include "config.h"

#define ATTR_BYTES    128u /* of Linux 5.8 to 6.x; a longer one adds only zeros */
#define ENTRY_BYTES   (ATTR_BYTES + 16u)
#define STRING_ALIGN  64u
#define TYPE_SOFTWARE 1u
#define TYPE_HARDWARE 0u
#define TYPE_RAW      4u
#define CLOCK_MONO    1u

enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_CLOCKID = 23,
	FEATURE_CLOCK_DATA = 29,
};

static const uint8_t features[] = {FEATURE_BUILD_ID, FEATURE_HOSTNAME, FEATURE_OSRELEASE,
	FEATURE_VERSION, FEATURE_ARCH, FEATURE_CMDLINE, FEATURE_EVENT_DESC, FEATURE_SAMPLE_TIME,
	FEATURE_CLOCKID, FEATURE_CLOCK_DATA};
#define FEATURE_COUNT (sizeof(features) / sizeof(features[0]))

void perfout_put_u32(struct buf *into, uint32_t x)
{
	buf_append(into, &x, sizeof(x));
}

void perfout_put_u64(struct buf *into, uint64_t x)
{
	buf_append(into, &x, sizeof(x));
}

static void put_zeros(struct buf *into, size_t count)
{
	static const char zeros[256];

	for (; count > sizeof(zeros); count -= sizeof(zeros))
		buf_append(into, zeros, sizeof(zeros));
	buf_append(into, zeros, count);
}

static size_t padded(size_t len, size_t align)
{
	return (len + 1 + align - 1) / align * align;
}

void perfout_put_text(struct buf *into, const char *text, size_t align)
{
	size_t len = strlen(text);

	buf_append(into, text, len);
	put_zeros(into, padded(len, align) - len);
}

/* With its length before it. */
static void put_string(struct buf *into, const char *text)
{
	perfout_put_u32(into, (uint32_t)padded(strlen(text), STRING_ALIGN));
	perfout_put_text(into, text, STRING_ALIGN);
}

size_t perfout_begin(struct buf *into, uint32_t type, uint16_t misc)
{
	uint16_t size = 0;
	size_t start = into->len;

	perfout_put_u32(into, type);
	buf_append(into, &misc, sizeof(misc));
	buf_append(into, &size, sizeof(size));
	return start;
}

void perfout_end(struct buf *into, size_t start)
{
	uint16_t size = (uint16_t)(into->len - start);

	if (!into->error)
		memcpy(into->data + start + 6, &size, sizeof(size));
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

unsigned perfout_build_id(const char *hex, uint8_t out[PERFOUT_ID_MAX])
{
	size_t len = strlen(hex);

	if (len % 2 || len / 2 > PERFOUT_ID_MAX)
		return 0;
	memset(out, 0, PERFOUT_ID_MAX);
	for (size_t i = 0; i < len; i++) {
		if (digit(hex[i]) < 0)
			return 0;
		out[i / 2] = (uint8_t)(out[i / 2] << 4 | digit(hex[i]));
	}
	return (unsigned)len / 2;
}

/* ---- attributes ---- */

/* Of perf_event_open(2). An event that is none of these, as a tracepoint, whose number differs from
 * boot to boot, is a raw one here; its name is in the features. */
static void type_of(const char *name, uint32_t *ret_type, uint64_t *ret_config)
{
	static const struct {
		const char *name;
		uint32_t type, config;
	} known[] = {
		{"cpu-clock", TYPE_SOFTWARE, 0},
		{"task-clock", TYPE_SOFTWARE, 1},
		{"page-faults", TYPE_SOFTWARE, 2},
		{"context-switches", TYPE_SOFTWARE, 3},
		{"cpu-migrations", TYPE_SOFTWARE, 4},
		{"minor-faults", TYPE_SOFTWARE, 5},
		{"major-faults", TYPE_SOFTWARE, 6},
		{"cycles", TYPE_HARDWARE, 0},
		{"instructions", TYPE_HARDWARE, 1},
		{"cache-references", TYPE_HARDWARE, 2},
		{"cache-misses", TYPE_HARDWARE, 3},
		{"branches", TYPE_HARDWARE, 4},
		{"branch-misses", TYPE_HARDWARE, 5},
	};

	*ret_type = TYPE_RAW;
	*ret_config = 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0) {
			*ret_type = known[i].type;
			*ret_config = known[i].config;
		}
}

#define FLAG_FREQ          (UINT64_C(1) << 10)
#define FLAG_SAMPLE_ID_ALL (UINT64_C(1) << 18)
#define FLAG_MMAP          (UINT64_C(1) << 8)
#define FLAG_COMM          (UINT64_C(1) << 9)
#define FLAG_TASK          (UINT64_C(1) << 13)
#define FLAG_MMAP2         (UINT64_C(1) << 23)
#define FLAG_COMM_EXEC     (UINT64_C(1) << 24)
#define FLAG_USE_CLOCKID   (UINT64_C(1) << 25)

static void put_attr(const struct profile *p, uint32_t event, struct buf *into)
{
	const struct profile_meta *m = &p->meta;
	size_t start = into->len;
	uint64_t config;
	uint32_t type;

	type_of(profile_text(p, p->events[event].name), &type, &config);
	perfout_put_u32(into, type);
	perfout_put_u32(into, ATTR_BYTES);
	perfout_put_u64(into, config);
	perfout_put_u64(into, m->period ? m->period : m->freq_hz);
	perfout_put_u64(into, PERFOUT_SAMPLE_TYPE);
	perfout_put_u64(into, 0); /* read_format */
	perfout_put_u64(into,
		(m->period ? 0 : FLAG_FREQ) | FLAG_SAMPLE_ID_ALL | FLAG_MMAP | FLAG_COMM |
			FLAG_TASK | FLAG_MMAP2 | FLAG_COMM_EXEC | FLAG_USE_CLOCKID);
	put_zeros(into, 44);
	perfout_put_u32(into, CLOCK_MONO);
	put_zeros(into, ATTR_BYTES - (into->len - start));
}

uint64_t perfout_data_at(const struct profile *p)
{
	return PERFOUT_HEADER + p->event_count * (uint64_t)(ENTRY_BYTES + 8);
}

static void put_section(struct buf *into, uint64_t at, uint64_t bytes)
{
	perfout_put_u64(into, at);
	perfout_put_u64(into, bytes);
}

void perfout_put_head(const struct profile *p, uint64_t data_bytes, struct buf *into)
{
	uint64_t ids_at = PERFOUT_HEADER + p->event_count * (uint64_t)ENTRY_BYTES;
	uint64_t bits = 0;

	for (size_t i = 0; i < FEATURE_COUNT; i++)
		bits |= UINT64_C(1) << features[i];
	buf_append(into, "PERFILE2", 8);
	perfout_put_u64(into, PERFOUT_HEADER);
	perfout_put_u64(into, ENTRY_BYTES);
	put_section(into, PERFOUT_HEADER, p->event_count * (uint64_t)ENTRY_BYTES);
	put_section(into, perfout_data_at(p), data_bytes);
	put_section(into, 0, 0);
	perfout_put_u64(into, bits);
	put_zeros(into, 24);
	for (uint32_t i = 0; i < p->event_count; i++) {
		put_attr(p, i, into);
		put_section(into, ids_at + i * 8u, 8);
	}
	for (uint32_t i = 0; i < p->event_count; i++)
		perfout_put_u64(into, perfout_event_id(i));
}

/* ---- features ---- */

#define MISC_KERNEL        1u
#define MISC_USER          2u
#define MISC_BUILD_ID_SIZE (1u << 15)

static void put_build_id(struct buf *into, uint16_t misc, const char *hex, const char *path)
{
	uint8_t id[PERFOUT_ID_MAX];
	unsigned bytes = perfout_build_id(hex, id);
	size_t start;

	if (!bytes)
		return;
	start = perfout_begin(into, 0, misc | MISC_BUILD_ID_SIZE);
	perfout_put_u32(into, UINT32_MAX); /* of any process */
	buf_append(into, id, sizeof(id));
	perfout_put_u32(into, bytes);
	perfout_put_text(into, path, STRING_ALIGN);
	perfout_end(into, start);
}

static void put_build_ids(const struct perfout_plan *plan, struct buf *into)
{
	const struct profile *p = plan->profile;

	if (p->meta.kernel_text)
		put_build_id(into, MISC_KERNEL, profile_text(p, p->meta.kernel_build_id),
			"[kernel.kallsyms]");
	for (uint32_t i = 0; i < p->module_count; i++)
		if (plan->places.modules[i].lo != plan->places.modules[i].hi)
			put_build_id(into, MISC_USER, profile_text(p, p->modules[i].build_id),
				profile_text(p, p->modules[i].path));
}

static void put_event_names(const struct profile *p, struct buf *into)
{
	perfout_put_u32(into, p->event_count);
	perfout_put_u32(into, ATTR_BYTES);
	for (uint32_t i = 0; i < p->event_count; i++) {
		put_attr(p, i, into);
		perfout_put_u32(into, 1);
		put_string(into, profile_text(p, p->events[i].name));
		perfout_put_u64(into, perfout_event_id(i));
	}
}

struct moments {
	uint64_t first_ns, last_ns;
};

static void put_feature(const struct perfout_plan *plan, unsigned feature,
	const struct moments *when, struct buf *into)
{
	const struct profile *p = plan->profile;
	const char *release = profile_text(p, p->meta.kernel_release);
	struct utsname host = {0};

	(void)uname(&host);
	switch (feature) {
	case FEATURE_BUILD_ID: put_build_ids(plan, into); break;
	case FEATURE_HOSTNAME: put_string(into, host.nodename); break;
	case FEATURE_OSRELEASE: put_string(into, *release ? release : host.release); break;
	/* Whoever reads this knows that chains hold addresses of calls, not return addresses. */
	case FEATURE_VERSION: put_string(into, "profiled " PACKAGE_VERSION); break;
	case FEATURE_ARCH: put_string(into, host.machine); break;
	case FEATURE_CMDLINE:
		perfout_put_u32(into, 2);
		put_string(into, "profiled");
		put_string(into, profile_text(p, p->meta.target));
		break;
	case FEATURE_EVENT_DESC: put_event_names(p, into); break;
	case FEATURE_SAMPLE_TIME: put_section(into, when->first_ns, when->last_ns); break;
	case FEATURE_CLOCKID: perfout_put_u64(into, 1); break;
	case FEATURE_CLOCK_DATA:
		perfout_put_u32(into, 1); /* version */
		perfout_put_u32(into, CLOCK_MONO);
		put_section(into, p->meta.started_wall_ns, p->meta.started_ns);
		break;
	default: break;
	}
}

void perfout_put_features(const struct perfout_plan *plan, uint64_t data_bytes, uint64_t first_ns,
	uint64_t last_ns, struct buf *into)
{
	uint64_t at = perfout_data_at(plan->profile) + data_bytes + FEATURE_COUNT * 16;
	struct moments when = {first_ns, last_ns};
	size_t table = into->len;

	put_zeros(into, FEATURE_COUNT * 16);
	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		size_t start = into->len;
		uint64_t section[2];

		put_feature(plan, features[i], &when, into);
		section[0] = at;
		section[1] = into->len - start;
		at += section[1];
		if (!into->error)
			memcpy(into->data + table + 16 * i, section, sizeof(section));
	}
}
