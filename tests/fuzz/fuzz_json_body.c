/* Bodies of requests: what the strict grammar takes, the parser must take too, and what comes out
 * must be within its limits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "daemon/http/json_in.h"
#include "daemon/http/json_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_FREQ 10000

static void check_session(const struct session_request *s)
{
	if (s->target == RUN_PID && (s->pid_count != 1 || s->pids[0] < 1))
		abort();
	for (unsigned i = 0; i < s->pid_count; i++)
		if (s->pids[i] < 1)
			abort();
	if (s->freq_hz > MAX_FREQ || (s->freq_hz && s->period) || s->event_count > 8)
		abort();
	if (s->stack_bytes % 8 || s->stack_bytes > 65528 || s->max_frames > 4096)
		abort();
	if (!text_is_utf8(s->text, strlen(s->text)) || !text_is_utf8(s->name, strlen(s->name)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct session_request request;
	const char *text = (const char *)data;
	struct session_change change;
	struct buf why = BUF_INIT;
	cJSON *parsed;

	if (json_text_check(text, size, &why) == 0) {
		parsed = cJSON_ParseWithLength(text, size);
		if (!parsed || why.len)
			abort();
		cJSON_Delete(parsed);
	} else if (!why.len) {
		abort();
	}
	if (json_in_session(text, size, MAX_FREQ, &request, &why) == 0)
		check_session(&request);
	if (json_in_change(text, size, MAX_FREQ, &change, &why) == 0 &&
		(change.freq_hz > MAX_FREQ || change.cpu_percent > 100 ||
			!text_is_utf8(change.name, strlen(change.name)) ||
			(!change.freq_hz && change.kernel < 0 && change.cpu_percent == 0 &&
				!change.memory_mib && !change.name[0])))
		abort();
	json_in_nothing(text, size, &why);
	if (why.data && !text_is_utf8(why.data, why.len))
		abort();
	buf_done(&why);
	return 0;
}
