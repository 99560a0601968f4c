#include "daemon/run/lean.h"

#define SECOND UINT64_C(1000000000)

/* At most 0.5 % of the stacks may be in doubt before, and 2 % be cut afterwards: were it the same,
 * it would go to and fro by chance. */
#define LEARN_SAMPLES 400
#define CHECK_SAMPLES 200
#define LEFT_MIN      8 /* enough to tell, however few samples there are */
/* Where fewer stacks need the chain it is not worth it. */
#define CHAINS_PERCENT 12

#define ON_NS        (60 * SECOND)
#define PATIENCE_NS  (10 * SECOND)
#define PATIENCE_MAX (640 * SECOND)

bool lean_may_begin(const struct lean_look *look)
{
	return look->chains * 100 >= look->samples * CHAINS_PERCENT;
}

static void turn(struct lean *l, bool on, bool checks, uint64_t now_ns)
{
	l->on = on;
	l->checks = checks;
	l->changed_ns = now_ns;
}

/* It was no good: the next time later, unless it was good for long. */
static enum lean_turn give_up(struct lean *l, uint64_t now_ns)
{
	bool soon = l->patience_ns && now_ns - l->changed_ns < 4 * l->patience_ns;

	l->patience_ns = soon ? 2 * l->patience_ns : PATIENCE_NS;
	if (l->patience_ns > PATIENCE_MAX)
		l->patience_ns = PATIENCE_MAX;
	turn(l, false, false, now_ns);
	return LEAN_ENDS;
}

static enum lean_turn decide_while_off(
	struct lean *l, const struct lean_look *shown, uint64_t now_ns)
{
	bool checks = l->checks;

	if (shown->left * 200 <= shown->samples && lean_may_begin(shown)) {
		turn(l, true, false, now_ns);
		return checks ? LEAN_GOES_ON : LEAN_BEGINS;
	}
	return checks ? give_up(l, now_ns) : LEAN_STAYS;
}

static bool is_enough(const struct lean *l, const struct lean_look *look)
{
	if (l->on && look->left >= LEFT_MIN)
		return true;
	return look->samples >= (l->checks ? CHECK_SAMPLES : LEARN_SAMPLES);
}

enum lean_turn lean_next(struct lean *l, struct lean_look *look, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - l->changed_ns;
	bool waits = !l->on && !l->checks && since_ns < l->patience_ns;
	bool is_due = l->on && since_ns >= ON_NS;
	struct lean_look shown = *look;

	if (!waits && !is_due && !is_enough(l, look))
		return LEAN_STAYS;
	*look = (struct lean_look){0};
	if (waits)
		return LEAN_STAYS;
	if (!l->on)
		return decide_while_off(l, &shown, now_ns);
	if (shown.left >= LEFT_MIN && shown.left * 50 > shown.samples)
		return give_up(l, now_ns);
	if (!is_due)
		return LEAN_STAYS;
	turn(l, false, true, now_ns);
	return LEAN_CHECKS;
}
