#include "cli/live.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/io.h"
#include "base/parse.h"
#include "cli/screen.h"

static volatile sig_atomic_t ended_by; /* without a screen; SIGPIPE: nobody reads */

static void on_end(int sig)
{
	ended_by = sig;
}

static bool is_asked_to_end(void)
{
	return ended_by || screen_ended_by();
}

static void take_signals(void)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction act = {.sa_handler = on_end};

	for (unsigned i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaction(ending[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

void live_end(void)
{
	int sig = ended_by ? ended_by : screen_ended_by();

	if (sig == 0 || sig == SIGINT)
		return;
	signal(sig, SIG_DFL);
	raise(sig);
}

bool live_seconds(const char *option, const char *value, double *ret_seconds)
{
	uint64_t ns;

	if (parse_duration_ns(value, &ns) < 0 || ns < 10000000) {
		usage_error("\"%s\" is no time for --%s: 2, 0.5s", value, option);
		return false;
	}
	*ret_seconds = (double)ns / 1e9;
	return true;
}

/* ---- a look ---- */

static void forget(struct tree **tree, struct function **f)
{
	tree_free(*tree);
	free(*f);
	*tree = NULL;
	*f = NULL;
}

void live_done(struct live *l)
{
	forget(&l->tree, &l->f);
	forget(&l->tree_before, &l->f_before);
	cJSON_Delete(l->session);
	l->session = NULL;
}

static void describe(struct live *l)
{
	const cJSON *ledger = cJSON_GetObjectItemCaseSensitive(l->session, "ledger");
	const cJSON *ends = cJSON_GetObjectItemCaseSensitive(ledger, "unwind_ends"), *end;
	const cJSON *warnings = cJSON_GetObjectItemCaseSensitive(l->session, "warnings");
	const char *warning = cJSON_GetStringValue(cJSON_GetArrayItem(warnings, 0));
	double whole = get_number(ends, "root"), all = 0;

	cJSON_ArrayForEach (end, ends)
		all += cJSON_IsNumber(end) ? end->valuedouble : 0;
	snprintf(l->title, sizeof(l->title), "session %llu: %.200s", (unsigned long long)l->id,
		get_text(l->session, "target_text"));
	snprintf(l->state, sizeof(l->state), "%s", get_text(l->session, "state"));
	snprintf(l->ledger, sizeof(l->ledger),
		"%.0f samples in all, %.0f lost, %.0f truncated, %.0f throttled, whole stacks "
		"%.1f%%%s%.120s",
		get_number(ledger, "samples"), get_number(ledger, "lost"),
		get_number(ledger, "truncated"), get_number(ledger, "throttled"),
		all > 0 ? 100 * whole / all : 100, warning ? "; " : "", warning ? warning : "");
	l->over = strcmp(l->state, "running") != 0;
	l->view.elapsed_s = get_number(l->session, "elapsed_s");
	l->view.duration_s = get_number(l->session, "duration_s");
}

static int look_at_session(struct live *l)
{
	AUTO(buf_done) struct buf body = BUF_INIT;
	char path[64];
	int e;

	snprintf(path, sizeof(path), "/v1/sessions/%llu", (unsigned long long)l->id);
	e = client_call(l->cli->client, "GET", path, NULL, &body);
	if (e != EXIT_OK)
		return e;
	cJSON_Delete(l->session);
	l->session = parse_answer(&body);
	if (!l->session)
		return EXIT_FAILED;
	describe(l);
	return EXIT_OK;
}

static int look_at_profile(struct live *l)
{
	AUTO(buf_done) struct buf query = BUF_INIT, body = BUF_INIT;
	int e;

	buf_append_str(&query, "&by=none");
	if (l->event)
		add_query(&query, "event", l->event);
	if (l->last_s > 0)
		buf_printf(&query, "&last=%.3f", l->last_s);
	if (query.error)
		return EXIT_FAILED;
	e = fetch_profile(l->cli, l->id, query.data, &body);
	if (e != EXIT_OK)
		return e;
	if (tree_parse(body.data, body.len, &l->tree) < 0 ||
		tree_functions(l->tree, &l->f, &l->count_f) < 0) {
		fprintf(stderr,
			"profilectl: the answer is no profile: is that the profiled daemon?\n");
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* By name, as the order in which they are found again. */
static int keep_for_comparison(struct live *l)
{
	forget(&l->tree_before, &l->f_before);
	if (!l->view.changes || !l->tree) {
		forget(&l->tree, &l->f);
		return EXIT_OK;
	}
	free(l->f);
	l->f = NULL;
	if (tree_functions(l->tree, &l->f_before, &l->count_before) < 0)
		return EXIT_FAILED;
	l->tree_before = MOVE(l->tree);
	return EXIT_OK;
}

static int look(struct live *l)
{
	int e = keep_for_comparison(l);

	if (e == EXIT_OK)
		e = look_at_session(l);
	if (e == EXIT_OK)
		e = look_at_profile(l);
	if (e != EXIT_OK)
		return e;
	if (l->last_s > 0)
		snprintf(l->window, sizeof(l->window), "last %g s", l->last_s);
	else
		snprintf(l->window, sizeof(l->window), "all");
	l->view.title = l->title;
	l->view.state = l->state;
	l->view.ledger = l->ledger;
	l->view.window = l->window;
	l->view.event = l->tree->event;
	l->view.samples = l->tree->samples;
	return EXIT_OK;
}

/* ---- showing it ---- */

static void layout(struct live *l, struct buf *out)
{
	struct top_rows rows = {l->f, l->count_f, l->tree->total, l->f_before, l->count_before,
		l->tree_before ? l->tree_before->total : 0};

	functions_sort(l->f, l->count_f, l->view.by_total);
	top_layout(&l->view, &rows, out);
}

static void show_on_screen(struct live *l)
{
	AUTO(buf_done) struct buf lines = BUF_INIT;

	screen_size(&l->view.width, &l->view.height);
	layout(l, &lines);
	screen_show(&lines);
}

static const char *const kind_names[] = {"group", "user", "kernel", "jit", "inlined", "special"};

static cJSON *function_json(const struct live *l, const struct function *f)
{
	double total = l->tree->total > 0 ? l->tree->total : 1;
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "name", f->name);
	cJSON_AddStringToObject(o, "module", f->module);
	cJSON_AddStringToObject(o, "kind", kind_names[f->kind]);
	cJSON_AddNumberToObject(o, "self", f->self);
	cJSON_AddNumberToObject(o, "total", f->total);
	cJSON_AddNumberToObject(o, "self_percent", round(1e6 * f->self / total) / 1e4);
	cJSON_AddNumberToObject(o, "total_percent", round(1e6 * f->total / total) / 1e4);
	return o;
}

/* A line of JSON for each look. */
static void print_json(struct live *l)
{
	cJSON *o = cJSON_CreateObject(), *list;
	size_t shown = l->view.lines && l->view.lines < l->count_f ? l->view.lines : l->count_f;
	AUTO(free_auto) char *text = NULL;

	functions_sort(l->f, l->count_f, l->view.by_total);
	cJSON_AddNumberToObject(o, "session", (double)l->id);
	cJSON_AddStringToObject(o, "state", l->state);
	cJSON_AddNumberToObject(o, "elapsed_s", l->view.elapsed_s);
	cJSON_AddStringToObject(o, "event", l->tree->event);
	cJSON_AddStringToObject(o, "unit", l->tree->unit);
	cJSON_AddNumberToObject(o, "samples", l->tree->samples);
	cJSON_AddNumberToObject(o, "total", l->tree->total);
	list = cJSON_AddArrayToObject(o, "functions");
	for (size_t i = 0; i < shown; i++)
		cJSON_AddItemToArray(list, function_json(l, &l->f[i]));
	cJSON_AddItemToObject(o, "ledger",
		cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(l->session, "ledger"), true));
	text = cJSON_PrintUnformatted(o);
	puts(text ? text : "{}");
	cJSON_Delete(o);
}

static void print_table(struct live *l, bool first)
{
	AUTO(buf_done) struct buf lines = BUF_INIT;
	unsigned height;

	l->view.width = l->view.height = 0;
	if (l->cli->terminal)
		screen_size(&l->view.width, &height);
	if (!first)
		putchar('\n');
	layout(l, &lines);
	if (lines.len)
		fwrite(lines.data, 1, lines.len, stdout);
}

static void print(struct live *l, bool first)
{
	if (l->cli->json)
		print_json(l);
	else
		print_table(l, first);
	if (fflush(stdout) != 0 && errno == EPIPE)
		ended_by = SIGPIPE;
}

/* ---- again and again ---- */

static uint64_t after(const struct live *l)
{
	return time_mono_ns() + (uint64_t)(l->interval_s * 1e9);
}

static int ms_until(uint64_t deadline_ns)
{
	uint64_t now = time_mono_ns();

	return now >= deadline_ns ? 0 : (int)((deadline_ns - now) / 1000000) + 1;
}

/* Keys change what is shown at once. False: it is time to leave. */
static bool take_keys(struct live *l)
{
	uint64_t deadline = after(l);

	for (;;) {
		int ms = ms_until(deadline), key = screen_key(l->over || l->view.paused ? -1 : ms);

		if (key == KEY_NONE)
			return true;
		if (!top_key(&l->view, key))
			return false;
		show_on_screen(l);
		if (!l->over && !l->view.paused && ms == 0)
			return true;
	}
}

static int run_on_screen(struct live *l)
{
	uint64_t looks = 0;
	int e;

	l->view.color = l->cli->color;
	l->view.keys = true;
	do {
		e = look(l);
		if (e != EXIT_OK)
			break;
		show_on_screen(l);
		if ((l->over && l->leave_when_over) || ++looks == l->count)
			break;
	} while (take_keys(l));
	screen_close();
	if (e == EXIT_OK && l->leave_when_over) {
		l->view.keys = l->view.typing = false;
		print_table(l, true);
	}
	return e;
}

static void wait_until(uint64_t deadline_ns)
{
	int ms;

	while (!ended_by && (ms = ms_until(deadline_ns)) > 0)
		(void)nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* The first table is of a whole interval. */
static bool is_too_early(const struct live *l)
{
	return !l->over && l->view.elapsed_s < l->interval_s;
}

static int run_plainly(struct live *l)
{
	uint64_t looks = 0;

	l->view.color = l->cli->color;
	take_signals();
	while (!ended_by) {
		uint64_t deadline = after(l);
		int e = look(l);

		if (e != EXIT_OK)
			return e;
		if (looks == 0 && is_too_early(l)) {
			wait_until(deadline - (uint64_t)(l->view.elapsed_s * 1e9));
			continue;
		}
		print(l, looks == 0);
		if (l->over || ++looks == l->count)
			break;
		wait_until(deadline);
	}
	return EXIT_OK;
}

int live_run(struct live *l)
{
	bool on_screen = l->cli->terminal && !l->cli->json && screen_open() == 0;
	int e;

	client_set_cancel(l->cli->client, is_asked_to_end);
	e = on_screen ? run_on_screen(l) : run_plainly(l);
	client_set_cancel(l->cli->client, NULL);
	return is_asked_to_end() ? EXIT_OK : e;
}
