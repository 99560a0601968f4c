#include "daemon/run/copysize.h"

#include "daemon/sample/attr.h"

#define SAMPLES_MIN 20 /* fewer tell nothing */
#define BAD_S       2  /* tails need some deep samples before they help */
#define CALM_S      10

static void count(unsigned *seconds, bool again)
{
	*seconds = again ? *seconds + 1 : 0;
}

static bool grow(struct copysize *c)
{
	uint32_t twice = 2 * c->bytes, most = c->most ? c->most : STACK_BYTES_MAX;

	c->bad_s = 0;
	if (c->bytes >= most)
		return false;
	c->bytes = twice > most ? most : twice;
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

bool copysize_next(struct copysize *c, const struct copysize_look *look)
{
	if (look->samples < SAMPLES_MIN)
		return false;
	count(&c->bad_s, look->left * 20 > look->samples);
	count(&c->calm_s, look->cut == 0);
	count(&c->shallow_s, look->cut == 0 && look->shallow * 100 >= look->samples * 99);
	if (!c->most && !c->deep && look->cut * 50 > look->samples) {
		c->deep = true;
		return true;
	}
	if (c->bad_s >= BAD_S)
		return grow(c);
	if (c->deep && c->calm_s >= CALM_S) {
		c->deep = false;
		return true;
	}
	if (c->shallow_s >= CALM_S && c->bytes / 2 >= COPYSIZE_MIN) {
		c->shallow_s = 0;
		c->bytes = c->bytes / 2 / 8 * 8;
		return true;
	}
	return false;
}
