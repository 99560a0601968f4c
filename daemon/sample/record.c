/* The layouts of perf_event_open(2) for the attributes of attr.c. */
#include "daemon/sample/record.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "daemon/sample/take.h"

#define HEADER_BYTES         sizeof(struct perf_event_header)
#define SAMPLE_FIXED         48 /* header, ip, pid and tid, time, id, cpu */
#define SAMPLE_TIME          24
#define TRAILER_BYTES        32 /* pid and tid, time, id, cpu behind all other records */
#define TRAILER_TIME         24 /* from the end */
#define KERNEL_CHAIN_DEFAULT 127

/* A chain is one array with marks in it, each of which says whose addresses follow. */
void record_split_chain(struct sample *s, const uint64_t *chain, uint64_t count)
{
	const uint64_t **start = NULL;
	uint32_t *length = NULL;

	for (uint64_t i = 0; i < count; i++) {
		if (chain[i] >= (uint64_t)PERF_CONTEXT_MAX) {
			start = NULL;
			if (chain[i] == (uint64_t)PERF_CONTEXT_KERNEL) {
				start = &s->kernel_chain;
				length = &s->kernel_count;
			} else if (chain[i] == (uint64_t)PERF_CONTEXT_USER) {
				start = &s->user_chain;
				length = &s->user_count;
			}
			if (start && *start)
				start = NULL; /* the first of its kind counts */
			else if (start)
				*start = &chain[i + 1];
		} else if (start) {
			(*length)++;
		}
	}
	if (s->kernel_count == 0)
		s->kernel_chain = NULL;
	if (s->user_count == 0)
		s->user_chain = NULL;
}

static bool take_chain(struct reader *r, struct sample *s)
{
	const void *chain;
	uint64_t count;

	if (!take_u64(r, &count) || count > r->left / sizeof(uint64_t))
		return false;
	chain = take(r, count * sizeof(uint64_t));
	record_split_chain(s, chain, count);
	return true;
}

static bool take_user(struct reader *r, struct sample *s)
{
	uint64_t size, copied;

	if (!take_u64(r, &s->abi) || s->abi > PERF_SAMPLE_REGS_ABI_64)
		return false;
	if (s->abi != PERF_SAMPLE_REGS_ABI_NONE) {
		s->regs = take(r, SAMPLE_REGS * sizeof(uint64_t));
		if (!s->regs)
			return false;
	}
	if (!take_u64(r, &size))
		return false;
	if (size == 0) /* then the copied size is left out as well */
		return true;
	s->stack = take(r, size);
	if (!s->stack || size % sizeof(uint64_t) != 0 || !take_u64(r, &copied) || copied > size)
		return false;
	s->stack_bytes = (uint32_t)copied;
	s->stack_asked = (uint32_t)size;
	return true;
}

static int decode_sample(
	struct reader r, uint16_t misc, const struct record_layout *layout, struct record *record)
{
	struct sample *s = &record->sample;
	uint32_t pad;

	if (!take_u64(&r, &s->ip) || !take_pid(&r, &s->pid) || !take_pid(&r, &s->tid) ||
		!take_u64(&r, &s->t_ns) || !take_u64(&r, &s->id) || !take_u32(&r, &s->cpu) ||
		!take_u32(&r, &pad))
		return -EBADMSG;
	if (layout->period && !take_u64(&r, &s->period))
		return -EBADMSG;
	if (!take_chain(&r, s))
		return -EBADMSG;
	if (layout->stack == STACK_DWARF && !take_user(&r, s))
		return -EBADMSG;
	s->kernel_ip = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	record->kind = RECORD_SAMPLE;
	record->t_ns = s->t_ns;
	return 0;
}

static bool take_range(struct reader *r, struct sideband *s)
{
	uint64_t length;

	return take_pid(r, &s->pid) && take_pid(r, &s->tid) && take_u64(r, &s->start) &&
		take_u64(r, &length) && take_u64(r, &s->pgoff) &&
		!__builtin_add_overflow(s->start, length, &s->end);
}

/* The old form, which recordings have: of code unless it says otherwise. */
static bool decode_mmap(struct reader r, uint16_t misc, struct sideband *s)
{
	s->kind = SIDEBAND_MMAP;
	s->prot = misc & PERF_RECORD_MISC_MMAP_DATA ? PROT_READ : PROT_READ | PROT_EXEC;
	return take_range(&r, s) && take_text(&r, &s->text);
}

static bool decode_mmap2(struct reader r, uint16_t misc, struct sideband *s)
{
	uint32_t major_no, minor_no, prot, flags;
	uint64_t generation;
	const uint8_t *file;

	if (!take_range(&r, s))
		return false;
	file = r.at;
	if (!take_u32(&r, &major_no) || !take_u32(&r, &minor_no) || !take_u64(&r, &s->inode) ||
		!take_u64(&r, &generation) || !take_u32(&r, &prot) || !take_u32(&r, &flags))
		return false;
	s->dev = makedev(major_no, minor_no);
	/* A build id stands in the place of both then: its size, three bytes of nothing, itself. */
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		s->dev = 0;
		s->inode = 0;
		s->build_id = file + 4;
		s->build_id_bytes = file[0] > RECORD_BUILD_ID_MAX ? 0 : file[0];
	}
	s->prot = (int)prot;
	s->kind = SIDEBAND_MMAP;
	return take_text(&r, &s->text);
}

static bool decode_comm(struct reader r, uint16_t misc, struct sideband *s)
{
	s->kind = (misc & PERF_RECORD_MISC_COMM_EXEC) ? SIDEBAND_EXEC : SIDEBAND_COMM;
	return take_pid(&r, &s->pid) && take_pid(&r, &s->tid) && take_text(&r, &s->text);
}

static bool decode_task(struct reader r, enum sideband_kind kind, struct sideband *s)
{
	s->kind = kind;
	return take_pid(&r, &s->pid) && take_pid(&r, &s->ppid) && take_pid(&r, &s->tid) &&
		take_pid(&r, &s->ptid);
}

static int decode_sideband(
	struct reader r, const struct perf_event_header *header, struct record *record)
{
	struct sideband *s = &record->sideband;
	bool good;

	switch (header->type) {
	case PERF_RECORD_MMAP: good = decode_mmap(r, header->misc, s); break;
	case PERF_RECORD_MMAP2: good = decode_mmap2(r, header->misc, s); break;
	case PERF_RECORD_COMM: good = decode_comm(r, header->misc, s); break;
	case PERF_RECORD_FORK: good = decode_task(r, SIDEBAND_FORK, s); break;
	default: good = decode_task(r, SIDEBAND_EXIT, s); break;
	}
	record->kind = RECORD_SIDEBAND;
	s->t_ns = record->t_ns;
	return good ? 0 : -EBADMSG;
}

static int decode_lost(struct reader r, uint32_t type, struct record *record)
{
	record->kind = RECORD_LOST;
	record->lost.by_hardware = type == PERF_RECORD_LOST_SAMPLES;
	if (type == PERF_RECORD_LOST && !take_u64(&r, &record->lost.id))
		return -EBADMSG;
	return take_u64(&r, &record->lost.count) ? 0 : -EBADMSG;
}

int record_decode_body(const struct perf_event_header *header, const void *body, size_t len,
	uint64_t t_ns, struct record *ret_record)
{
	struct reader r = {body, len};
	struct record record;
	int error = 0;

	memset(&record, 0, sizeof(record));
	record.t_ns = t_ns;
	switch (header->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT: error = decode_sideband(r, header, &record); break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES: error = decode_lost(r, header->type, &record); break;
	case PERF_RECORD_THROTTLE: record.kind = RECORD_THROTTLE; break;
	case PERF_RECORD_UNTHROTTLE: record.kind = RECORD_UNTHROTTLE; break;
	default:
		record.kind = header->type > 0 && header->type < PERF_RECORD_MAX ? RECORD_OTHER
										 : RECORD_UNKNOWN;
		break;
	}
	if (error == 0)
		*ret_record = record;
	return error;
}

int record_decode(const void *bytes, size_t len, const struct record_layout *layout,
	struct record *ret_record)
{
	struct perf_event_header header;
	struct reader r = {bytes, len};
	struct record record;
	int error;

	if (len < HEADER_BYTES)
		return -EBADMSG;
	memcpy(&header, take(&r, HEADER_BYTES), HEADER_BYTES);
	if (header.size != len)
		return -EBADMSG;
	if (header.type != PERF_RECORD_SAMPLE)
		return r.left < TRAILER_BYTES
			? -EBADMSG
			: record_decode_body(&header, r.at, r.left - TRAILER_BYTES,
				  load_u64((const uint8_t *)bytes + len - TRAILER_TIME),
				  ret_record);
	if (!layout->sampling)
		return -EBADMSG;
	memset(&record, 0, sizeof(record));
	error = decode_sample(r, header.misc, layout, &record);
	if (error == 0)
		*ret_record = record;
	return error;
}

uint64_t record_time(const void *bytes, size_t len, bool sampling)
{
	struct perf_event_header header;

	if (len < HEADER_BYTES)
		return 0;
	memcpy(&header, bytes, HEADER_BYTES);
	if (header.type == PERF_RECORD_SAMPLE)
		return sampling && len >= SAMPLE_FIXED
			? load_u64((const uint8_t *)bytes + SAMPLE_TIME)
			: 0;
	if (len < HEADER_BYTES + TRAILER_BYTES)
		return 0;
	return load_u64((const uint8_t *)bytes + len - TRAILER_TIME);
}

bool record_sample_head(const void *bytes, size_t len, struct sample_head *ret_head)
{
	struct perf_event_header header;
	const uint8_t *at = bytes;

	if (len < SAMPLE_FIXED)
		return false;
	memcpy(&header, bytes, HEADER_BYTES);
	if (header.type != PERF_RECORD_SAMPLE)
		return false;
	ret_head->pid = (pid_t)load_u32(at + 16);
	ret_head->tid = (pid_t)load_u32(at + 20);
	ret_head->t_ns = load_u64(at + SAMPLE_TIME);
	ret_head->id = load_u64(at + 32);
	ret_head->cpu = load_u32(at + 40);
	return true;
}

size_t record_sample_max(enum stack_mode stack, uint32_t stack_bytes, uint16_t max_stack)
{
	/* Up to 8 context marks beside the frames. */
	size_t chain =
		((size_t)(max_stack ? max_stack : KERNEL_CHAIN_DEFAULT) + 8) * sizeof(uint64_t);
	size_t bytes = SAMPLE_FIXED + 2 * sizeof(uint64_t) + chain;

	if (stack == STACK_DWARF)
		bytes += (SAMPLE_REGS + 3) * sizeof(uint64_t) + stack_bytes;
	return bytes > UINT16_MAX ? UINT16_MAX : bytes;
}
