#include "daemon/broker/request.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#define STACK_USER_MAX 65528u /* a record's size is 16 bits */

/* What profiling reads of a sample. Not: data addresses, raw tracepoint payload, kernel registers,
 * branch records. */
#define SAMPLE_TYPES                                                                       \
	((uint64_t)(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | \
		PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU |         \
		PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |            \
		PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CGROUP))
/* Total times, id, group, and from later headers PERF_FORMAT_LOST. */
#define READ_FORMATS ((uint64_t)31)

/* The 64 bits of switches, which are bit-fields of no common name. */
static uint64_t attr_switches(const struct perf_event_attr *attr)
{
	uint64_t bits;

	memcpy(&bits, (const char *)attr + offsetof(struct perf_event_attr, read_format) + 8,
		sizeof(bits));
	return bits;
}

static bool switches_allowed(const struct perf_event_attr *attr)
{
	struct perf_event_attr mask = {
		.disabled = 1,
		.inherit = 1,
		.exclude_user = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_idle = 1,
		.mmap = 1,
		.comm = 1,
		.freq = 1,
		.inherit_stat = 1,
		.enable_on_exec = 1,
		.task = 1,
		.watermark = 1,
		.precise_ip = 3,
		.sample_id_all = 1,
		.exclude_host = 1,
		.exclude_guest = 1,
		.exclude_callchain_kernel = 1,
		.exclude_callchain_user = 1,
		.mmap2 = 1,
		.comm_exec = 1,
		.use_clockid = 1,
		.context_switch = 1,
		.cgroup = 1,
		.build_id = 1,
	};

	return (attr_switches(attr) & ~attr_switches(&mask)) == 0;
}

/* A copy of what has to be 0 beyond the fields that are looked at one by one. */
static bool rest_is_zero(const struct perf_event_attr *attr)
{
	struct perf_event_attr rest = *attr;
	static const struct perf_event_attr zero;

	rest.type = 0;
	rest.size = 0;
	rest.config = 0;
	rest.sample_period = 0;
	rest.sample_type = 0;
	rest.read_format = 0;
	memset((char *)&rest + offsetof(struct perf_event_attr, read_format) + 8, 0, 8);
	rest.wakeup_events = 0;
	rest.sample_regs_user = 0;
	rest.sample_stack_user = 0;
	rest.clockid = 0;
	rest.sample_max_stack = 0;
	return memcmp(&rest, &zero, sizeof(rest)) == 0;
}

static bool type_allowed(uint32_t type)
{
	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_SOFTWARE ||
		type == PERF_TYPE_TRACEPOINT || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
}

static int check_attr(const struct perf_event_attr *attr)
{
	if (!type_allowed(attr->type))
		return -EPERM;
	/* BPF output is software, but made to carry what a program writes. */
	if (attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_BPF_OUTPUT)
		return -EPERM;
	if ((attr->sample_type & ~SAMPLE_TYPES) || (attr->read_format & ~READ_FORMATS))
		return -EPERM;
	if (!switches_allowed(attr) || !rest_is_zero(attr))
		return -EPERM;
	if (attr->sample_stack_user > STACK_USER_MAX)
		return -EPERM;
	if (attr->use_clockid && attr->clockid != CLOCK_MONOTONIC &&
		attr->clockid != CLOCK_MONOTONIC_RAW && attr->clockid != CLOCK_BOOTTIME)
		return -EPERM;
	return 0;
}

/* size 0 in the attribute stands for the first published layout. */
static int read_attr(struct request *q, const char *at)
{
	uint32_t bytes = q->head.attr_bytes;

	if (bytes < PERF_ATTR_SIZE_VER0 || bytes > sizeof(q->attr))
		return -EPROTO;
	memcpy(&q->attr, at, bytes);
	if (q->attr.size != bytes)
		return -EPROTO;
	return check_attr(&q->attr);
}

static int read_text(char *out, size_t room, const char *at, size_t len)
{
	if (len >= room || memchr(at, 0, len))
		return -EPROTO;
	memcpy(out, at, len);
	out[len] = 0;
	return 0;
}

/* Which of the parts an operation has. */
static bool parts_fit(const struct broker_request *head)
{
	bool attr = head->attr_bytes > 0, text = head->text_bytes > 0, name = head->name_bytes > 0;

	switch ((enum broker_op)head->op) {
	case BROKER_OP_PERF: return attr && !name;
	case BROKER_OP_MAPPED:
	case BROKER_OP_JITDUMP: return !attr && !name;
	case BROKER_OP_ELF:
	case BROKER_OP_CGROUP: return !attr && text && !name;
	case BROKER_OP_TRACEPOINT: return !attr && text && name;
	case BROKER_OP_PROC:
	case BROKER_OP_LIST:
	case BROKER_OP_PERFMAP:
	case BROKER_OP_HOST:
	case BROKER_OP_READER:
	case BROKER_OP_INFO: return !attr && !text && !name;
	}
	return false;
}

/* A word of a tracepoint's name: nothing that could lead out of its folder. */
static bool word_allowed(const char *word)
{
	for (const char *at = word; *at; at++) {
		if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-')
			return false;
	}
	return true;
}

static int check_request(const struct request *q)
{
	const struct broker_request *head = &q->head;

	switch ((enum broker_op)head->op) {
	case BROKER_OP_PERF:
		/* A cgroup's events count on a CPU, not in a process. */
		if (head->pid < -1 || head->tid < -1 || (q->text[0] && head->pid != -1))
			return -EPERM;
		return 0;
	case BROKER_OP_PROC:
		if (head->pid < 1 || head->tid < 0 || head->what > BROKER_PROC_MEMORY)
			return -EPERM;
		return 0;
	case BROKER_OP_LIST: return head->pid < 0 ? -EPERM : 0;
	case BROKER_OP_JITDUMP:
		/* Of a process that is gone, by path and identity. */
		if (head->pid == 0)
			return q->text[0] != '/' || head->inode == 0 ? -EPERM : 0;
		/* fallthrough */
	case BROKER_OP_MAPPED:
		if (head->pid < 1 || head->start >= head->end || (q->text[0] && q->text[0] != '/'))
			return -EPERM;
		return 0;
	case BROKER_OP_ELF: return head->pid < 0 || q->text[0] != '/' ? -EPERM : 0;
	case BROKER_OP_PERFMAP: return head->pid < 0 || head->tid < 1 ? -EPERM : 0;
	case BROKER_OP_HOST: return head->what > BROKER_HOST_NOTES ? -EPERM : 0;
	case BROKER_OP_TRACEPOINT:
		return word_allowed(q->text) && word_allowed(q->name) ? 0 : -EPERM;
	case BROKER_OP_CGROUP:
		return q->text[0] != '/' || head->what > BROKER_CGROUP_EVENTS ? -EPERM : 0;
	case BROKER_OP_READER:
	case BROKER_OP_INFO: return 0;
	}
	return -EPERM;
}

int request_read(const void *message, size_t len, struct request *ret_request)
{
	struct request *q = ret_request;
	const char *at = (const char *)message + sizeof(q->head);
	int r;

	memset(q, 0, sizeof(*q));
	if (len < sizeof(q->head))
		return -EPROTO;
	memcpy(&q->head, message, sizeof(q->head));
	if (q->head.version != BROKER_VERSION)
		return -EPROTO;
	if ((uint64_t)q->head.attr_bytes + q->head.text_bytes + q->head.name_bytes !=
		len - sizeof(q->head))
		return -EPROTO;
	if (q->head.op < BROKER_OP_PERF || q->head.op > BROKER_OP_JITDUMP)
		return -EPERM;
	if (!parts_fit(&q->head))
		return -EPROTO;
	if (q->head.attr_bytes > 0) {
		r = read_attr(q, at);
		if (r < 0)
			return r;
	}
	at += q->head.attr_bytes;
	r = read_text(q->text, sizeof(q->text), at, q->head.text_bytes);
	if (r < 0)
		return r;
	at += q->head.text_bytes;
	r = read_text(q->name, sizeof(q->name), at, q->head.name_bytes);
	if (r < 0)
		return r;
	return check_request(q);
}
