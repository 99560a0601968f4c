#include "base/parse.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define NS_PER_S 1000000000u

/* More CPUs than any kernel is built for; keeps "0-4294967295" from calling back for hours. */
#define CPU_MAX 65535

/* Reads digits at *text and moves behind them. Goes on to their end when the value is too large, so
 * that "-EINVAL: trailing bytes" wins over -ERANGE. */
static int take_u64(const char **text, uint64_t *ret_value)
{
	const char *at = *text;
	uint64_t value = 0;
	bool over = false;

	if (*at < '0' || *at > '9')
		return -EINVAL;
	for (; *at >= '0' && *at <= '9'; at++)
		over |= __builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value);
	*text = at;
	*ret_value = over ? UINT64_MAX : value;
	return over ? -ERANGE : 0;
}

int parse_u64(const char *text, uint64_t max, uint64_t *ret_value)
{
	uint64_t value;
	int r = take_u64(&text, &value);

	if (r == -EINVAL || *text)
		return -EINVAL;
	if (r < 0 || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int parse_hex(const char *text, size_t len, uint64_t *ret_value)
{
	uint64_t value = 0;
	bool over = false;

	if (len == 0)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			return -EINVAL;
		over |= value >> 60 != 0;
		value = value << 4 | (uint64_t)digit;
	}
	if (over)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int parse_bool(const char *text, bool *ret_value)
{
	static const char *const words[2][4] = {
		{"no", "false", "off", "0"},
		{"yes", "true", "on", "1"},
	};

	for (int value = 0; value < 2; value++) {
		for (int i = 0; i < 4; i++) {
			if (strcasecmp(text, words[value][i]) == 0) {
				*ret_value = value;
				return 0;
			}
		}
	}
	return -EINVAL;
}

/* The digits behind a decimal point at *text as billionths; what is finer is cut off. */
static int take_fraction(const char **text, uint64_t *ret_billionths)
{
	const char *at = *text;
	uint64_t value = 0;
	unsigned scale = NS_PER_S;

	*ret_billionths = 0;
	if (*at != '.')
		return 0;
	at++;
	if (*at < '0' || *at > '9')
		return -EINVAL;
	for (; *at >= '0' && *at <= '9'; at++) {
		scale /= 10;
		value += (uint64_t)(*at - '0') * scale;
	}
	*text = at;
	*ret_billionths = value;
	return 0;
}

int parse_duration_ns(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"", NS_PER_S},
		{"s", NS_PER_S},
		{"ms", 1000000},
		{"m", 60ull * NS_PER_S},
		{"h", 3600ull * NS_PER_S},
		{"d", 86400ull * NS_PER_S},
	};
	uint64_t whole, billionths, ns;
	int r = take_u64(&text, &whole);

	if (r == -EINVAL || take_fraction(&text, &billionths) < 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text, units[i].name) != 0)
			continue;
		if (r < 0 || __builtin_mul_overflow(whole, units[i].ns, &ns) ||
			__builtin_add_overflow(ns,
				(uint64_t)((unsigned __int128)billionths * units[i].ns / NS_PER_S),
				&ns))
			return -ERANGE;
		*ret_ns = ns;
		return 0;
	}
	return -EINVAL;
}

int parse_bytes(const char *text, uint64_t *ret_bytes)
{
	uint64_t value;
	unsigned shift = 0;
	int r = take_u64(&text, &value);

	if (r == -EINVAL)
		return -EINVAL;
	switch (*text) {
	case 'k':
	case 'K': shift = 10; break;
	case 'm':
	case 'M': shift = 20; break;
	case 'g':
	case 'G': shift = 30; break;
	default: break;
	}
	if (text[shift ? 1 : 0])
		return -EINVAL;
	if (r < 0 || value > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_bytes = value << shift;
	return 0;
}

static int take_cpu(const char **text, uint64_t *ret_cpu)
{
	int r = take_u64(text, ret_cpu);

	if (r == 0 && *ret_cpu > CPU_MAX)
		return -ERANGE;
	return r;
}

/* One "3" or "0-3" at *text. */
static int take_cpu_range(const char **text, uint64_t *ret_first, uint64_t *ret_last)
{
	int r = take_cpu(text, ret_first);

	if (r < 0)
		return r;
	*ret_last = *ret_first;
	if (**text == '-') {
		(*text)++;
		r = take_cpu(text, ret_last);
		if (r < 0)
			return r;
	}
	return *ret_first <= *ret_last ? 0 : -EINVAL;
}

int parse_cpu_list(const char *text, int (*fn)(unsigned cpu, void *arg), void *arg)
{
	uint64_t first, last;
	int r;

	for (;;) {
		r = take_cpu_range(&text, &first, &last);
		if (r < 0)
			return r;
		for (uint64_t cpu = first; cpu <= last; cpu++) {
			r = fn((unsigned)cpu, arg);
			if (r != 0)
				return r;
		}
		if (*text != ',')
			break;
		text++;
	}
	if (*text == '\n')
		text++;
	return *text ? -EINVAL : 0;
}

size_t utf8_char(const char *text, size_t len, uint32_t *ret_code)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *at = (const unsigned char *)text;
	uint32_t code;
	size_t bytes;

	if (len == 0)
		return 0;
	if (at[0] < 0x80) {
		*ret_code = at[0];
		return 1;
	}
	if ((at[0] & 0xe0) == 0xc0)
		bytes = 2, code = at[0] & 0x1f;
	else if ((at[0] & 0xf0) == 0xe0)
		bytes = 3, code = at[0] & 0x0f;
	else if ((at[0] & 0xf8) == 0xf0)
		bytes = 4, code = at[0] & 0x07;
	else
		return 0;
	if (bytes > len)
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	/* Overlong forms, surrogates and what Unicode does not have are no characters. */
	if (code < smallest[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return bytes;
}

bool text_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

size_t text_utf8(const char *text, size_t len, char *out, size_t out_bytes)
{
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	size_t written = 0;

	if (out_bytes == 0)
		return 0;
	for (size_t at = 0; at < len;) {
		uint32_t code = 0;
		size_t in = utf8_char(text + at, len - at, &code);
		const char *from = text + at;
		size_t bytes = in;

		if (in == 0 || text_is_control(code)) {
			from = replacement;
			bytes = sizeof(replacement) - 1;
		}
		if (bytes >= out_bytes - written)
			break;
		memcpy(out + written, from, bytes);
		written += bytes;
		at += in ? in : 1;
	}
	out[written] = 0;
	return written;
}

bool text_is_utf8(const char *text, size_t len)
{
	uint32_t code;

	for (size_t at = 0; at < len;) {
		size_t bytes = utf8_char(text + at, len - at, &code);

		if (bytes == 0)
			return false;
		at += bytes;
	}
	return true;
}

size_t path_undeleted_len(const char *path, size_t len)
{
	static const char mark[] = " (deleted)";
	size_t mark_len = sizeof(mark) - 1;

	/* Never to nothing: " (deleted)" alone is a name. */
	if (len > mark_len && memcmp(path + len - mark_len, mark, mark_len) == 0)
		return len - mark_len;
	return len;
}
