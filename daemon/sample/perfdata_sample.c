/* One sample of any attribute. */
#include "daemon/sample/perfdata_parts.h"

#include <errno.h>

/* perf's numbers of the registers that a sample holds, in its order. */
static const uint8_t reg_bits[SAMPLE_REGS] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 18, 19, 20, 21, 22, 23};

#define ID_FIELDS                                                                      \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
		PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
#define BRANCH_ENTRY_BYTES 24u

size_t perfdata_trailer_bytes(const struct layout *l)
{
	if (!l->id_all)
		return 0;
	return 8 * (size_t)__builtin_popcountll(l->sample_type & ID_FIELDS);
}

static bool is_sample(const uint8_t *bytes)
{
	return load_u32(bytes) == PERF_RECORD_SAMPLE;
}

/* Where a field of a sample stands that follows those in before, all of 8 bytes. */
static bool sample_field(const struct layout *l, const uint8_t *bytes, size_t len, uint64_t before,
	uint64_t *ret_value)
{
	size_t at = RECORD_HEADER_BYTES + 8 * (size_t)__builtin_popcountll(l->sample_type & before);

	if (at + 8 > len)
		return false;
	*ret_value = load_u64(bytes + at);
	return true;
}

/* The same in what sample_id_all adds: back from the end over those in from. */
static bool trailer_field(const struct layout *l, const uint8_t *bytes, size_t len, uint64_t from,
	uint64_t *ret_value)
{
	size_t back = 8 * (size_t)__builtin_popcountll(l->sample_type & from);

	if (!l->id_all || len < RECORD_HEADER_BYTES + perfdata_trailer_bytes(l))
		return false;
	*ret_value = load_u64(bytes + len - back);
	return true;
}

uint64_t perfdata_time(const struct layout *l, const uint8_t *bytes, size_t len)
{
	uint64_t t_ns = 0;

	if (!(l->sample_type & PERF_SAMPLE_TIME))
		return 0;
	if (is_sample(bytes))
		(void)sample_field(l, bytes, len,
			PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID, &t_ns);
	else
		(void)trailer_field(l, bytes, len, ID_FIELDS & ~(uint64_t)PERF_SAMPLE_TID, &t_ns);
	return t_ns == UINT64_MAX ? 0 : t_ns;
}

bool perfdata_id(const struct layout *l, const uint8_t *bytes, size_t len, uint64_t *ret_id)
{
	if (l->sample_type & PERF_SAMPLE_IDENTIFIER)
		return is_sample(bytes)
			? sample_field(l, bytes, len, 0, ret_id)
			: trailer_field(l, bytes, len, PERF_SAMPLE_IDENTIFIER, ret_id);
	if (!(l->sample_type & PERF_SAMPLE_ID))
		return false;
	if (is_sample(bytes))
		return sample_field(l, bytes, len,
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
			ret_id);
	return trailer_field(
		l, bytes, len, PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU, ret_id);
}

/* Fields of 8 bytes up to the period. */
static bool take_fixed(struct reader *r, const struct layout *l, struct sample *s)
{
	uint64_t type = l->sample_type, unused;
	uint32_t pad;

	if ((type & PERF_SAMPLE_IDENTIFIER) && !take_u64(r, &s->id))
		return false;
	if ((type & PERF_SAMPLE_IP) && !take_u64(r, &s->ip))
		return false;
	if ((type & PERF_SAMPLE_TID) && (!take_pid(r, &s->pid) || !take_pid(r, &s->tid)))
		return false;
	if ((type & PERF_SAMPLE_TIME) && !take_u64(r, &s->t_ns))
		return false;
	if ((type & PERF_SAMPLE_ADDR) && !take_u64(r, &unused))
		return false;
	if ((type & PERF_SAMPLE_ID) && !take_u64(r, &s->id))
		return false;
	if ((type & PERF_SAMPLE_STREAM_ID) && !take_u64(r, &unused))
		return false;
	if ((type & PERF_SAMPLE_CPU) && (!take_u32(r, &s->cpu) || !take_u32(r, &pad)))
		return false;
	s->period = l->period;
	return !(type & PERF_SAMPLE_PERIOD) || take_u64(r, &s->period);
}

static bool skip_counts(struct reader *r, uint64_t format)
{
	uint64_t times = (uint64_t)__builtin_popcountll(
		format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
	/* one for each value: its id, what was lost of it */
	uint64_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERFDATA_FORMAT_LOST);
	uint64_t count = 1;

	if ((format & PERF_FORMAT_GROUP) && (!take_u64(r, &count) || count > r->left))
		return false;
	return take(r, 8 * (times + each * count)) != NULL;
}

static bool take_frames(struct reader *r, struct sample *s)
{
	uint64_t count;
	const void *chain;

	if (!take_u64(r, &count) || count > r->left / sizeof(uint64_t))
		return false;
	chain = take(r, count * sizeof(uint64_t));
	record_split_chain(s, chain, count);
	return true;
}

static bool skip_raw(struct reader *r)
{
	uint32_t bytes;

	return take_u32(r, &bytes) && take(r, bytes);
}

static bool skip_branches(struct reader *r, uint64_t branch_type)
{
	uint64_t count, unused;

	if (!take_u64(r, &count) || count > r->left / BRANCH_ENTRY_BYTES)
		return false;
	if ((branch_type & PERF_SAMPLE_BRANCH_HW_INDEX) && !take_u64(r, &unused))
		return false;
	return take(r, count * BRANCH_ENTRY_BYTES) != NULL;
}

/* Only all of our registers are of use: a rule might ask for any. */
static bool take_regs(struct perfdata *pd, struct reader *r, uint64_t mask, struct sample *s)
{
	const uint8_t *values;

	if (!take_u64(r, &s->abi) || s->abi > PERF_SAMPLE_REGS_ABI_64)
		return false;
	if (s->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	values = take(r, 8 * (uint64_t)__builtin_popcountll(mask));
	if (!values)
		return false;
	for (unsigned i = 0; i < SAMPLE_REGS; i++) {
		uint64_t bit = UINT64_C(1) << reg_bits[i];

		if (!(mask & bit))
			return true;
		pd->regs[i] = load_u64(values + 8 * __builtin_popcountll(mask & (bit - 1)));
	}
	s->regs = pd->regs;
	return true;
}

static bool take_stack(struct reader *r, struct sample *s)
{
	uint64_t size, copied;

	if (!take_u64(r, &size))
		return false;
	if (size == 0)
		return true;
	s->stack = take(r, size);
	if (!s->stack || !take_u64(r, &copied) || copied > size)
		return false;
	s->stack_bytes = (uint32_t)copied;
	s->stack_asked = (uint32_t)size;
	return true;
}

static bool take_all(
	struct perfdata *pd, const struct layout *l, struct reader *r, struct sample *s)
{
	uint64_t type = l->sample_type;

	return take_fixed(r, l, s) &&
		(!(type & PERF_SAMPLE_READ) || skip_counts(r, l->read_format)) &&
		(!(type & PERF_SAMPLE_CALLCHAIN) || take_frames(r, s)) &&
		(!(type & PERF_SAMPLE_RAW) || skip_raw(r)) &&
		(!(type & PERF_SAMPLE_BRANCH_STACK) || skip_branches(r, l->branch_type)) &&
		(!(type & PERF_SAMPLE_REGS_USER) || take_regs(pd, r, l->regs_mask, s)) &&
		(!(type & PERF_SAMPLE_STACK_USER) || take_stack(r, s));
}

int perfdata_decode_sample(struct perfdata *pd, const struct layout *l, const uint8_t *bytes,
	size_t len, struct sample *s)
{
	struct perf_event_header header;
	struct reader r = {bytes, len};

	memset(s, 0, sizeof(*s));
	memcpy(&header, take(&r, sizeof(header)), sizeof(header));
	if (!take_all(pd, l, &r, s))
		return -EBADMSG;
	s->kernel_ip = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	if (s->regs && s->stack) {
		s->user_chain = NULL;
		s->user_count = 0;
	} else {
		s->regs = NULL;
		s->stack = NULL;
		s->stack_bytes = s->stack_asked = 0;
	}
	/* Without a chain the sample is where the CPU was, and no more. */
	if (!(l->sample_type & PERF_SAMPLE_CALLCHAIN) && !s->regs && !s->kernel_ip) {
		pd->lone_ip = s->ip;
		s->user_chain = &pd->lone_ip;
		s->user_count = 1;
	}
	return 0;
}
