/* Bytes of a record, taken from the front and bounds-checked. Part of record.c and perfdata. */
#ifndef PFL_SAMPLE_TAKE_H
#define PFL_SAMPLE_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

struct reader {
	const uint8_t *at;
	size_t left;
};

static inline uint64_t load_u64(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static inline uint32_t load_u32(const void *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

/* The place of the next bytes; NULL: there are fewer. */
static inline const void *take(struct reader *r, uint64_t bytes)
{
	const void *at = r->at;

	if (bytes > r->left)
		return NULL;
	r->at += bytes;
	r->left -= (size_t)bytes;
	return at;
}

static inline bool take_u64(struct reader *r, uint64_t *ret)
{
	const void *at = take(r, sizeof(*ret));

	if (!at)
		return false;
	*ret = load_u64(at);
	return true;
}

static inline bool take_u32(struct reader *r, uint32_t *ret)
{
	const void *at = take(r, sizeof(*ret));

	if (!at)
		return false;
	*ret = load_u32(at);
	return true;
}

static inline bool take_pid(struct reader *r, pid_t *ret)
{
	uint32_t value;

	if (!take_u32(r, &value))
		return false;
	*ret = (pid_t)value;
	return true;
}

/* What is left is text, closed by at least one NUL. */
static inline bool take_text(struct reader *r, const char **ret)
{
	const char *text = (const char *)r->at;

	if (!memchr(text, '\0', r->left))
		return false;
	*ret = text;
	return true;
}

#endif
