/* A perf.data file, from its first byte to its last record. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "daemon/sample/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sum;

/* Touches all that is lent, for a sanitizer to see. */
static void read_all(const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += ((const uint8_t *)bytes)[i];
}

static bool on_sample(void *arg, const struct sample *s, unsigned event)
{
	if (event >= EVENTS_MAX || s->stack_bytes > s->stack_asked || (s->stack_asked && !s->stack))
		abort();
	read_all(s->kernel_chain, s->kernel_count * sizeof(uint64_t));
	read_all(s->user_chain, s->user_count * sizeof(uint64_t));
	if (s->regs)
		read_all(s->regs, SAMPLE_REGS * sizeof(uint64_t));
	read_all(s->stack, s->stack_asked);
	return true;
}

static bool on_sideband(void *arg, const struct sideband *sb)
{
	unsigned bytes = 0;

	if (sb->kind == SIDEBAND_MMAP) {
		read_all(sb->build_id, sb->build_id_bytes);
		read_all(perfdata_build_id(arg, sb->text, &bytes), bytes);
	}
	if (sb->text)
		read_all(sb->text, strlen(sb->text) + 1);
	return true;
}

static void read_file(const void *bytes, size_t size)
{
	struct buf message = BUF_INIT;
	struct perfdata *file;
	struct perfdata_sink sink = {.sample = on_sample, .sideband = on_sideband};
	struct perfdata_stats stats;
	int r = perfdata_open(bytes, size, &file, &message);

	if (r == 0) {
		sink.arg = file;
		r = perfdata_read(file, &sink);
		perfdata_get_stats(file, &stats);
		if (r == -ECANCELED || stats.malformed_bytes > UINT64_MAX / 2)
			abort();
		perfdata_free(file);
	} else if (r == -EINVAL && !message.len) {
		abort(); /* a refusal says why */
	}
	buf_done(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		return 0;
	if (size)
		memcpy(exact, data, size);
	read_file(exact, size);
	free(exact);
	return 0;
}
