#include "daemon/run/copysize.h"

#include "daemon/sample/attr.h"

/* A look at fewer tells nothing, unless so many stacks stay cut in it; and one in a hundred that
 * stays cut shall not make copies grow by chance, as they shrink again when none does. */
#define SAMPLES_MIN 100
#define LEFT_MIN    8
#define BAD_MAX     3 /* looks in a row; tails may learn better meanwhile */
#define CALM_NS     UINT64_C(10000000000)

static bool is_over(uint64_t count, const struct copysize_look *look, unsigned percent)
{
	return count * 100 > look->samples * percent;
}

static void since(uint64_t *since_ns, bool holds, uint64_t now_ns)
{
	if (!holds)
		*since_ns = 0;
	else if (!*since_ns)
		*since_ns = now_ns;
}

static bool is_long(uint64_t since_ns, uint64_t now_ns)
{
	return since_ns && now_ns - since_ns >= CALM_NS;
}

static bool grow(struct copysize *c, bool at_once)
{
	uint32_t twice = 2 * c->bytes, most = c->most ? c->most : STACK_BYTES_MAX;

	c->bad = 0;
	if (c->bytes >= most)
		return false;
	c->bytes = at_once || twice > most ? most : twice;
	/* Deep samples would show no more. */
	c->deep = c->deep && c->bytes < STACK_BYTES_MAX;
	return true;
}

bool copysize_limit(struct copysize *c, uint32_t most)
{
	bool lower = most && (c->bytes > most || c->deep);

	c->most = most;
	if (!lower)
		return false;
	if (c->bytes > most)
		c->bytes = most;
	c->deep = false;
	return true;
}

static bool decide(struct copysize *c, const struct copysize_look *look, uint64_t now_ns)
{
	c->bad = is_over(look->left, look, 2) ? c->bad + 1 : 0;
	since(&c->calm_ns, look->cut == 0, now_ns);
	since(&c->shallow_ns, look->cut == 0 && !is_over(look->samples - look->shallow, look, 1),
		now_ns);
	if (!c->most && !c->deep && c->bytes < STACK_BYTES_MAX && is_over(look->cut, look, 2)) {
		c->deep = true;
		return true;
	}
	if (c->bad >= BAD_MAX || is_over(look->left, look, 10))
		return grow(c, is_over(look->left, look, 20));
	if (c->deep && is_long(c->calm_ns, now_ns)) {
		c->deep = false;
		return true;
	}
	if (is_long(c->shallow_ns, now_ns) && c->bytes / 2 >= COPYSIZE_MIN) {
		c->shallow_ns = 0;
		c->bytes = c->bytes / 2 / 8 * 8;
		return true;
	}
	return false;
}

bool copysize_next(struct copysize *c, struct copysize_look *look, uint64_t now_ns)
{
	struct copysize_look last = *look;

	if (last.samples < SAMPLES_MIN && last.left < LEFT_MIN)
		return false;
	*look = (struct copysize_look){0};
	return decide(c, &last, now_ns);
}
