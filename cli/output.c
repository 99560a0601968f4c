#include "cli/output.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "cli/client.h"

cJSON *parse_answer(const struct buf *body)
{
	cJSON *json =
		body->error ? NULL : cJSON_ParseWithLength(body->data ? body->data : "", body->len);

	if (!json)
		fprintf(stderr,
			"profilectl: the answer is no JSON: is that the profiled daemon?\n");
	return json;
}

const char *get_text(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text ? text : "";
}

double get_number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

const char *for_terminal(const char *text, char *out, size_t out_bytes)
{
	text_utf8(text, strlen(text), out, out_bytes);
	return out;
}

void print_body(const struct buf *body)
{
	fwrite(body->data, 1, body->len, stdout);
	if (body->len && body->data[body->len - 1] != '\n')
		putchar('\n');
}

void print_ledger(const cJSON *session, FILE *out)
{
	const cJSON *ledger = cJSON_GetObjectItemCaseSensitive(session, "ledger");
	const cJSON *ends = cJSON_GetObjectItemCaseSensitive(ledger, "unwind_ends"), *end;
	const cJSON *warning;
	const char *before = "; stacks end:";
	char text[512];

	fprintf(out, "%.0f samples, %.0f lost, %.0f truncated, %.0f throttled",
		get_number(ledger, "samples"), get_number(ledger, "lost"),
		get_number(ledger, "truncated"), get_number(ledger, "throttled"));
	cJSON_ArrayForEach (end, ends) {
		if (end->valuedouble <= 0)
			continue;
		fprintf(out, "%s %s %.0f", before, end->string, end->valuedouble);
		before = "";
	}
	fputc('\n', out);
	cJSON_ArrayForEach (warning, cJSON_GetObjectItemCaseSensitive(session, "warnings"))
		if (cJSON_IsString(warning))
			fprintf(out, "note: %s\n",
				for_terminal(warning->valuestring, text, sizeof(text)));
}

#define BAR_CELLS 30

void progress_draw(double part, const char *text)
{
	int full = (int)(fmin(1, fmax(0, part)) * BAR_CELLS);

	fputs("\r[", stderr);
	for (int i = 0; i < BAR_CELLS; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %s \033[K", text);
	fflush(stderr);
}

void progress_clear(void)
{
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

void progress_end(void)
{
	fputc('\n', stderr);
}

uint64_t parse_id(const char *text)
{
	uint64_t id;

	if (parse_u64(text, 1ull << 53, &id) == 0 && id)
		return id;
	usage_error("\"%s\" is no session: profilectl list shows their ids", text);
	return 0;
}

int usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("profilectl: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	return EXIT_USAGE;
}
