#include "daemon/http/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "daemon/http/answer.h"

#define SECONDS_MAX 1e9

static bool refuse(struct req *r, const char *key, const char *want, const char *value)
{
	problem(r, 400, "The query value %s must be %s, not \"%.100s\".", key, want, value);
	return false;
}

bool ask_bool(struct req *r, const char *key, bool *ret_value)
{
	const char *value = uri_get(&r->uri, key);

	if (!value || parse_bool(value, ret_value) == 0)
		return true;
	return refuse(r, key, "1 or 0", value);
}

bool ask_u64(struct req *r, const char *key, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	const char *value = uri_get(&r->uri, key);
	uint64_t number;
	char want[80];

	if (!value)
		return true;
	if (parse_u64(value, max, &number) == 0 && number >= min) {
		*ret_value = number;
		return true;
	}
	snprintf(want, sizeof(want), "a whole number from %" PRIu64 " to %" PRIu64, min, max);
	return refuse(r, key, want, value);
}

/* Plain decimals: no sign, exponent, hex, inf or nan, all of which strtod would take. */
static int parse_decimal(const char *text, double *ret_value)
{
	size_t len = strspn(text, "0123456789.");
	char *end;

	if (len == 0 || text[len] || len > 30)
		return -EINVAL;
	*ret_value = strtod(text, &end);
	return *end || !isfinite(*ret_value) ? -EINVAL : 0;
}

bool ask_double(struct req *r, const char *key, double min, double max, double *ret_value)
{
	const char *value = uri_get(&r->uri, key);
	double number;
	char want[80];

	if (!value)
		return true;
	if (parse_decimal(value, &number) == 0 && number >= min && number <= max) {
		*ret_value = number;
		return true;
	}
	snprintf(want, sizeof(want), "a number from %g to %g", min, max);
	return refuse(r, key, want, value);
}

/* Exactly digits digits from *text on, which moves past them and the mark that must follow. */
static int field(const char **text, unsigned digits, char mark, int *ret_value)
{
	*ret_value = 0;
	for (unsigned i = 0; i < digits; i++, (*text)++) {
		if (**text < '0' || **text > '9')
			return -EINVAL;
		*ret_value = *ret_value * 10 + (**text - '0');
	}
	if (mark && *(*text)++ != mark)
		return -EINVAL;
	return 0;
}

/* "Z" or "+hh:mm" at the end: seconds east. */
static int parse_zone(const char *text, int *ret_seconds)
{
	int sign = *text == '-' ? -1 : 1, hours, minutes;

	*ret_seconds = 0;
	if ((*text == 'Z' || *text == 'z') && !text[1])
		return 0;
	/* In a query a plus sign reads as a blank. */
	if (*text != '+' && *text != ' ' && *text != '-')
		return -EINVAL;
	text++;
	if (field(&text, 2, ':', &hours) < 0 || field(&text, 2, 0, &minutes) < 0 || *text ||
		hours > 23 || minutes > 59)
		return -EINVAL;
	*ret_seconds = sign * (hours * 3600 + minutes * 60);
	return 0;
}

static uint64_t parse_fraction(const char **text)
{
	uint64_t ns = 0, unit = 100000000;

	if (**text != '.')
		return 0;
	for ((*text)++; **text >= '0' && **text <= '9'; (*text)++, unit /= 10)
		ns += unit * (uint64_t)(**text - '0');
	return ns;
}

int ask_parse_rfc3339(const char *text, uint64_t *ret_wall_ns)
{
	struct tm tm = {0};
	uint64_t fraction;
	time_t seconds;
	int zone;

	if (field(&text, 4, '-', &tm.tm_year) < 0 || field(&text, 2, '-', &tm.tm_mon) < 0 ||
		field(&text, 2, 0, &tm.tm_mday) < 0 || !*text || !strchr("Tt ", *text++) ||
		field(&text, 2, ':', &tm.tm_hour) < 0 || field(&text, 2, ':', &tm.tm_min) < 0 ||
		field(&text, 2, 0, &tm.tm_sec) < 0)
		return -EINVAL;
	if (tm.tm_year < 1970 || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
		tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return -EINVAL;
	fraction = parse_fraction(&text);
	if (parse_zone(text, &zone) < 0)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	seconds = timegm(&tm) - zone;
	if (seconds < 0 || seconds > INT64_MAX / 1000000000)
		return -EINVAL;
	*ret_wall_ns = (uint64_t)seconds * 1000000000 + fraction;
	return 0;
}

bool ask_moment(struct req *r, const char *key, struct ask_moment *ret_moment)
{
	const char *value = uri_get(&r->uri, key);
	double seconds;

	if (!value)
		return true;
	ret_moment->given = true;
	if (parse_decimal(value, &seconds) == 0 && seconds <= SECONDS_MAX) {
		ret_moment->ns = (uint64_t)(seconds * 1e9);
		return true;
	}
	ret_moment->is_wall = true;
	if (ask_parse_rfc3339(value, &ret_moment->ns) == 0)
		return true;
	return refuse(r, key,
		"seconds since the start of the session, or a time such as "
		"2026-01-31T12:00:00Z",
		value);
}

bool ask_choice(struct req *r, const char *key, const char *const *words, unsigned *ret_index)
{
	const char *value = uri_get(&r->uri, key);
	AUTO(buf_done) struct buf want = BUF_INIT;

	if (!value)
		return true;
	for (unsigned i = 0; words[i]; i++) {
		if (strcmp(words[i], value) == 0) {
			*ret_index = i;
			return true;
		}
		buf_printf(&want, "%s%s", i ? ", " : "one of ", words[i]);
	}
	return refuse(r, key, want.data ? want.data : "another", value);
}
