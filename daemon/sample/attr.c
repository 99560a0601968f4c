#include "daemon/sample/attr.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"
#include "daemon/sample/record.h"

struct named_event {
	const char *name;
	uint32_t type;
	uint64_t config;
	bool is_clock;
	bool in_kernel;
};

static const struct named_event named_events[] = {
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, false},
	{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true, false},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, false},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, false, false},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, false},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false, true},
	{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, false, true},
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, false},
	{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, false, false},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false, false},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false, false},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false, false},
};

#define NAMED_COUNT (sizeof(named_events) / sizeof(named_events[0]))

/* The registers of record.h, as bits of the kernel's enum perf_event_x86_regs: 0 to 8, 16 to 23. */
#define USER_REGS_MASK UINT64_C(0xff01ff)
_Static_assert(SAMPLE_REGS == 17, "as many as there are bits in the mask");

static const char *plain_names[NAMED_COUNT + 1];

static void fill_plain_names(void)
{
	for (size_t i = 0; i < NAMED_COUNT; i++)
		plain_names[i] = named_events[i].name;
}

const char *const *event_names(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill_plain_names);
	return plain_names;
}

static int parse_raw(const char *name, struct event_spec *event)
{
	if (name[0] != 'r' || parse_hex(name + 1, strlen(name + 1), &event->config) < 0)
		return -EINVAL;
	event->type = PERF_TYPE_RAW;
	event->hardware = true;
	return 0;
}

static bool is_tracepoint_word(const char *word, size_t len)
{
	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = word[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
			c != '_' && c != '-')
			return false;
	}
	return true;
}

static int parse_tracepoint(struct broker *b, const char *name, struct event_spec *event)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	const char *colon = strchr(name, ':');
	char group[EVENT_NAME_BYTES];
	int r;

	if (!colon || !is_tracepoint_word(name, (size_t)(colon - name)) ||
		!is_tracepoint_word(colon + 1, strlen(colon + 1)))
		return -EINVAL;
	memcpy(group, name, (size_t)(colon - name));
	group[colon - name] = '\0';
	r = broker_open_tracepoint(b, group, colon + 1, &fd);
	if (r == 0)
		r = io_read_fd(fd, 64, &text);
	if (r < 0)
		return r;
	if (text.len > 0 && text.data[text.len - 1] == '\n')
		text.data[text.len - 1] = '\0';
	if (parse_u64(text.data ? text.data : "", UINT32_MAX, &event->config) < 0)
		return -EIO;
	event->type = PERF_TYPE_TRACEPOINT;
	event->in_kernel = true;
	return 0;
}

int event_parse(struct broker *b, const char *name, struct event_spec *ret_event)
{
	struct event_spec event = {0};
	size_t len = strlen(name);
	int r;

	if (len >= sizeof(event.name))
		return -EINVAL;
	memcpy(event.name, name, len + 1);
	for (size_t i = 0; i < NAMED_COUNT; i++) {
		if (strcmp(name, named_events[i].name) != 0)
			continue;
		event.type = named_events[i].type;
		event.config = named_events[i].config;
		event.is_clock = named_events[i].is_clock;
		event.in_kernel = named_events[i].in_kernel;
		event.hardware = event.type == PERF_TYPE_HARDWARE;
		*ret_event = event;
		return 0;
	}
	r = strchr(name, ':') ? parse_tracepoint(b, name, &event) : parse_raw(name, &event);
	if (r == 0)
		*ret_event = event;
	return r;
}

static void attr_base(
	struct perf_event_attr *attr, uint32_t type, uint64_t config, uint32_t wakeup_bytes)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = type;
	attr->config = config;
	attr->disabled = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->sample_id_all = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = wakeup_bytes;
}

static void exclude_kernel(struct perf_event_attr *attr, const struct event_spec *event)
{
	attr->exclude_callchain_kernel = 1;
	if (event->in_kernel)
		return;
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
}

void attr_for_sampling(struct perf_event_attr *attr, const struct event_spec *event,
	const struct attr_options *options)
{
	attr_base(attr, event->type, event->config, options->wakeup_bytes);
	if (options->freq_hz) {
		attr->freq = 1;
		attr->sample_freq = options->freq_hz;
	} else {
		attr->sample_period = options->period;
	}
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
		PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN;
	if (event->is_clock || event->hardware || attr->freq || attr->sample_period == 1)
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	attr->read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	attr->inherit = options->inherit;
	attr->exclude_idle = options->cpu_wide;
	attr->exclude_guest = event->hardware;
	attr->sample_max_stack = options->max_stack;
	if (!options->kernel)
		exclude_kernel(attr, event);
	if (options->stack == STACK_DWARF) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = USER_REGS_MASK;
		attr->sample_stack_user = options->stack_bytes;
		attr->exclude_callchain_user = !options->chain;
	}
}

bool attr_has_period(const struct perf_event_attr *attr)
{
	return (attr->sample_type & PERF_SAMPLE_PERIOD) != 0;
}

void attr_for_anchor(struct perf_event_attr *attr, uint32_t wakeup_bytes)
{
	attr_base(attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, wakeup_bytes);
	attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU;
	/* A dummy never fires; without this an ordinary user would not get it. */
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
}

void attr_for_sideband(struct perf_event_attr *attr, bool inherit, uint32_t wakeup_bytes)
{
	attr_for_anchor(attr, wakeup_bytes);
	attr->inherit = inherit;
	attr->mmap = 1; /* executable mappings; mmap_data would add the others */
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
}

int event_probe(struct broker *b, const struct event_spec *event)
{
	AUTO(close_auto) int fd = -1;
	struct perf_event_attr attr;

	attr_base(&attr, event->type, event->config, 0);
	if (!event->in_kernel) {
		attr.exclude_kernel = 1;
		attr.exclude_hv = 1;
	}
	return broker_perf_open(b, &attr, 0, -1, NULL, &fd);
}
