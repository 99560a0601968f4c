/* The samples of a view as a profile of the Firefox Profiler, in its processed format, version 60,
 * the first whose tables are shared by all threads; newer readers bring it up to their own.
 * Perfetto reads it too.
 *
 * Each thread has its samples with their times, in milliseconds since the start of the session, and
 * what they weigh: milliseconds of a clock (and as much CPU time since the sample before), else
 * counts. Frames are names of the view: each has a category (user, kernel, JIT code, inlined) and
 * its module as its resource. Functions of one name, module and kind are one, whatever their line.
 * Names are whole already: nobody needs to ask a symbol server. meta.extra has the ledger.
 * https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "daemon/render/distinct.h"
#include "daemon/render/parts.h"
#include "daemon/render/series.h"
#include "daemon/render/writer.h"

#define FORMAT_VERSION "60"
#define GECKO_VERSION  "31" /* that the processed one belongs to */
#define RESOURCE_LIB   1

/* Indexes into meta.categories. */
enum { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_JIT, CATEGORY_INLINED };

#define CATEGORY(name, color) \
	"{\"name\":\"" name "\",\"color\":\"" color "\",\"subcategories\":[\"Other\"]}"

struct firefox {
	const struct view *view;
	const struct profile *p;
	struct series_set set;
	struct distinct modules, files;
	uint32_t *func_of; /* by name */
	uint32_t *name_of; /* by function: its first */
	uint32_t func_count;
	struct parts tables, samples;
	struct buf text;
	uint32_t at; /* of series */
	bool clock;
	enum { HEAD, TABLES, THREAD, SAMPLES, TAIL } step;
};

static void string(struct buf *into, const char *text)
{
	render_json_string(into, text, strlen(text));
}

/* A number of a thousandth each, as "12.345". */
static void put_thousandths(struct buf *into, uint64_t x)
{
	buf_printf(into, "%" PRIu64 ".%03u", x / 1000, (unsigned)(x % 1000));
}

/* ---- tables ---- */

static const struct view_name *name_at(const struct firefox *w, size_t i)
{
	return &w->view->names[i];
}

/* Strings are the functions' names, then modules, then files. */
static size_t string_count(const void *state)
{
	const struct firefox *w = state;

	return w->func_count + (size_t)w->modules.count + w->files.count;
}

static void put_string(void *state, size_t i, struct buf *into)
{
	const struct firefox *w = state;

	if (i < w->func_count)
		string(into, name_at(w, w->name_of[i])->text);
	else if (i - w->func_count < w->modules.count)
		string(into, w->modules.list[i - w->func_count]);
	else
		string(into, w->files.list[i - w->func_count - w->modules.count]);
}

static size_t file_count(const void *state)
{
	return ((const struct firefox *)state)->files.count;
}

static size_t module_count(const void *state)
{
	return ((const struct firefox *)state)->modules.count;
}

static size_t func_count(const void *state)
{
	return ((const struct firefox *)state)->func_count;
}

static size_t frame_count(const void *state)
{
	return ((const struct firefox *)state)->view->name_count;
}

/* The root is no frame of theirs. */
static size_t stack_count(const void *state)
{
	return ((const struct firefox *)state)->view->node_count - 1;
}

static void put_null(void *state, size_t i, struct buf *into)
{
	buf_append_str(into, "null");
}

static void put_zero(void *state, size_t i, struct buf *into)
{
	buf_append_char(into, '0');
}

static void put_no_address(void *state, size_t i, struct buf *into)
{
	buf_append_str(into, "-1");
}

static void put_false(void *state, size_t i, struct buf *into)
{
	buf_append_str(into, "false");
}

static void put_index(void *state, size_t i, struct buf *into)
{
	buf_append_u64(into, i);
}

static void put_file_string(void *state, size_t i, struct buf *into)
{
	const struct firefox *w = state;

	buf_append_u64(into, w->func_count + (uint64_t)w->modules.count + i);
}

static void put_module_string(void *state, size_t i, struct buf *into)
{
	buf_append_u64(into, ((const struct firefox *)state)->func_count + (uint64_t)i);
}

static void put_resource_type(void *state, size_t i, struct buf *into)
{
	buf_printf(into, "%d", RESOURCE_LIB);
}

static void put_func_resource(void *state, size_t i, struct buf *into)
{
	const struct firefox *w = state;
	uint32_t name = w->name_of[i];

	if (name_at(w, name)->module[0])
		buf_append_u64(into, w->modules.of_name[name]);
	else
		buf_append_str(into, "-1");
}

static void put_func_source(void *state, size_t i, struct buf *into)
{
	const struct firefox *w = state;
	uint32_t name = w->name_of[i];

	if (name_at(w, name)->file[0])
		buf_append_u64(into, w->files.of_name[name]);
	else
		buf_append_str(into, "null");
}

static void put_frame_func(void *state, size_t i, struct buf *into)
{
	buf_append_u64(into, ((const struct firefox *)state)->func_of[i]);
}

static void put_frame_category(void *state, size_t i, struct buf *into)
{
	static const unsigned char categories[VIEW_KIND_COUNT] = {
		[VIEW_USER] = CATEGORY_USER,
		[VIEW_KERNEL] = CATEGORY_KERNEL,
		[VIEW_JIT] = CATEGORY_JIT,
		[VIEW_INLINED] = CATEGORY_INLINED,
	};

	buf_append_u64(into, categories[name_at(state, i)->kind]);
}

static void put_frame_line(void *state, size_t i, struct buf *into)
{
	uint32_t line = name_at(state, i)->line;

	if (line)
		buf_append_u64(into, line);
	else
		buf_append_str(into, "null");
}

static void put_stack_frame(void *state, size_t i, struct buf *into)
{
	buf_append_u64(into, ((const struct firefox *)state)->view->nodes[i + 1].name);
}

static void put_stack_prefix(void *state, size_t i, struct buf *into)
{
	uint32_t parent = ((const struct firefox *)state)->set.parent[i + 1];

	if (parent)
		buf_append_u64(into, parent - 1);
	else
		buf_append_str(into, "null");
}

static const struct part table_parts[] = {
	{",\"shared\":{\"stringArray\":", string_count, put_string, false, NULL},
	{",\"sources\":{\"id\":", file_count, put_null, false, NULL},
	{",\"filename\":", file_count, put_file_string, true, "}"},
	{",\"resourceTable\":{\"type\":", module_count, put_resource_type, false, NULL},
	{",\"lib\":", module_count, put_null, false, NULL},
	{",\"name\":", module_count, put_module_string, false, NULL},
	{",\"host\":", module_count, put_null, true, "}"},
	{",\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"
	 "\"length\":0},\"funcTable\":{\"name\":",
		func_count, put_index, false, NULL},
	{",\"isJS\":", func_count, put_false, false, NULL},
	{",\"relevantForJS\":", func_count, put_false, false, NULL},
	{",\"resource\":", func_count, put_func_resource, false, NULL},
	{",\"source\":", func_count, put_func_source, false, NULL},
	{",\"lineNumber\":", func_count, put_null, false, NULL},
	{",\"columnNumber\":", func_count, put_null, true, "}"},
	{",\"frameTable\":{\"address\":", frame_count, put_no_address, false, NULL},
	{",\"inlineDepth\":", frame_count, put_zero, false, NULL},
	{",\"category\":", frame_count, put_frame_category, false, NULL},
	{",\"subcategory\":", frame_count, put_zero, false, NULL},
	{",\"func\":", frame_count, put_frame_func, false, NULL},
	{",\"nativeSymbol\":", frame_count, put_null, false, NULL},
	{",\"innerWindowID\":", frame_count, put_zero, false, NULL},
	{",\"line\":", frame_count, put_frame_line, false, NULL},
	{",\"column\":", frame_count, put_null, true, "}"},
	{",\"stackTable\":{\"frame\":", stack_count, put_stack_frame, false, NULL},
	{",\"prefix\":", stack_count, put_stack_prefix, true, "}}"},
};

/* ---- threads ---- */

static const struct series *series_at(const struct firefox *w)
{
	return &w->set.all[w->at];
}

static struct series_sample sample_at(const struct firefox *w, size_t i)
{
	return series_sample(&w->set, series_at(w)->first + i);
}

static size_t sample_count(const void *state)
{
	return series_at(state)->count;
}

static void put_sample_stack(void *state, size_t i, struct buf *into)
{
	uint32_t node = sample_at(state, i).node;

	if (node)
		buf_append_u64(into, node - 1);
	else
		buf_append_str(into, "null");
}

static void put_sample_time(void *state, size_t i, struct buf *into)
{
	const struct firefox *w = state;
	uint64_t t_ns = sample_at(w, i).t_ns, start = w->p->meta.started_ns;

	put_thousandths(into, t_ns > start ? (t_ns - start) / 1000 : 0);
}

static void put_sample_weight(void *state, size_t i, struct buf *into)
{
	const struct firefox *w = state;
	uint64_t weight = sample_at(w, i).weight;

	if (w->clock)
		buf_printf(
			into, "%" PRIu64 ".%06u", weight / 1000000, (unsigned)(weight % 1000000));
	else
		buf_append_u64(into, weight);
}

/* What came before the first is not known. */
static void put_cpu_delta(void *state, size_t i, struct buf *into)
{
	if (i == 0)
		buf_append_str(into, "null");
	else
		buf_append_u64(into, sample_at(state, i).weight);
}

static const struct part sample_parts[] = {
	{",\"samples\":{\"stack\":", sample_count, put_sample_stack, false, NULL},
	{",\"time\":", sample_count, put_sample_time, false, NULL},
	{",\"weight\":", sample_count, put_sample_weight, true, NULL},
};
static const struct part clock_sample_parts[] = {
	{",\"samples\":{\"stack\":", sample_count, put_sample_stack, false, NULL},
	{",\"time\":", sample_count, put_sample_time, false, NULL},
	{",\"threadCPUDelta\":", sample_count, put_cpu_delta, false, NULL},
	{",\"weight\":", sample_count, put_sample_weight, true, NULL},
};

/* A pid may have come back: processes are told apart by it alone. */
static void put_pid(const struct firefox *w, uint32_t process, struct buf *into)
{
	const struct profile_process *all = w->p->processes;

	buf_printf(into, ",\"pid\":\"%d", (int)all[process].pid);
	for (uint32_t i = 0; i < process; i++) {
		if (all[i].pid == all[process].pid) {
			buf_printf(into, ".%u", process);
			break;
		}
	}
	buf_append_char(into, '"');
}

static void put_thread_head(struct firefox *w, struct buf *into)
{
	const struct profile_thread *t = &w->p->threads[series_at(w)->thread];
	const struct profile_process *of = &w->p->processes[t->process];

	buf_append_str(into, w->at ? ",\n{" : ",\"threads\":[\n{");
	buf_append_str(into,
		"\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":0,"
		"\"unregisterTime\":null,\"pausedRanges\":[],\"processName\":");
	string(into, profile_text(w->p, of->comm));
	buf_append_str(into, ",\"name\":");
	string(into, profile_text(w->p, t->comm));
	put_pid(w, t->process, into);
	buf_printf(into, ",\"tid\":%d,\"isMainThread\":%s", (int)t->tid,
		t->tid == of->pid ? "true" : "false");
	buf_append_str(into,
		",\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],"
		"\"endTime\":[],\"phase\":[],\"category\":[],\"length\":0}");
}

/* ---- the file ---- */

static void put_interval(const struct firefox *w, struct buf *into)
{
	const struct profile_meta *m = &w->p->meta;
	uint64_t us = 1000;

	if (m->freq_hz)
		us = 1000000 / m->freq_hz;
	else if (w->clock && m->period)
		us = m->period / 1000;
	buf_append_str(into, ",\"interval\":");
	put_thousandths(into, us ? us : 1);
}

static void put_extra(
	struct firefox *w, const char *label, const char *text, bool last, struct buf *into)
{
	buf_printf(into, "{\"label\":\"%s\",\"format\":\"string\",\"value\":", label);
	string(into, text);
	buf_append_str(into, last ? "}" : "},");
}

static void put_head(struct firefox *w, struct buf *into)
{
	const struct profile *p = w->p;

	series_title(w->view, &w->text);
	buf_append_str(into,
		"{\"meta\":{\"version\":" GECKO_VERSION
		",\"preprocessedProfileVersion\":" FORMAT_VERSION
		",\"importedFrom\":\"profiled " PACKAGE_VERSION
		"\",\"processType\":0,\"stackwalk\":1,\"debug\":false,"
		"\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
		"\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],"
		"\"platform\":\"Linux\",\"sampleUnits\":{\"time\":\"ms\","
		"\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\"categories\":[" CATEGORY(
			"Other", "grey") "," CATEGORY("User", "yellow") "," CATEGORY("Kernel",
			"orange") "," CATEGORY("JIT", "green") "," CATEGORY("Inlined",
			"lightblue") "]");
	buf_append_str(into, ",\"product\":");
	string(into, profile_text(p, p->meta.target));
	buf_append_str(into, ",\"startTime\":");
	put_thousandths(into, p->meta.started_wall_ns / 1000);
	put_interval(w, into);
	buf_append_str(into, ",\"extra\":[{\"label\":\"profiled\",\"entries\":[");
	put_extra(w, "Profile", w->text.data ? w->text.data : "", false, into);
	put_extra(w, "Event", profile_text(p, p->events[w->view->query.event].name), true, into);
	buf_append_str(into, "]}]},\"libs\":[],\"pages\":[]");
}

/* True: this step is complete, and the next one has begun. */
static bool put_step(struct firefox *w, struct buf *into, size_t until)
{
	switch (w->step) {
	case HEAD:
		put_head(w, into);
		w->step = TABLES;
		return true;
	case TABLES:
		if (!parts_put(&w->tables, w, into, until))
			return false;
		if (w->set.count == 0)
			buf_append_str(into, ",\"threads\":[");
		w->step = w->set.count ? THREAD : TAIL;
		return true;
	case THREAD:
		put_thread_head(w, into);
		w->samples = (struct parts)PARTS(sample_parts);
		if (w->clock)
			w->samples = (struct parts)PARTS(clock_sample_parts);
		w->step = SAMPLES;
		return true;
	default:
		if (!parts_put(&w->samples, w, into, until))
			return false;
		buf_printf(into, ",\"weightType\":\"%s\"}}", w->clock ? "tracing-ms" : "samples");
		w->step = ++w->at < w->set.count ? THREAD : TAIL;
		return true;
	}
}

static int firefox_more(void *state, struct buf *into)
{
	struct firefox *w = state;
	size_t until = into->len + RENDER_PIECE_BYTES;

	while (w->step != TAIL)
		if (into->error || into->len >= until || !put_step(w, into, until))
			return 1;
	buf_append_str(into, "\n]}\n");
	return w->text.error;
}

static void firefox_end(void *state)
{
	struct firefox *w = state;

	series_done(&w->set);
	distinct_done(&w->modules);
	distinct_done(&w->files);
	free(w->func_of);
	free(w->name_of);
	buf_done(&w->text);
	free(w);
}

static bool is_same_function(const struct view_name *a, const struct view_name *b)
{
	return a->kind == b->kind && strcmp(a->text, b->text) == 0 &&
		strcmp(a->module, b->module) == 0 && strcmp(a->file, b->file) == 0;
}

/* Names of one function are next to each other, line by line. */
static int find_functions(struct firefox *w)
{
	const struct view *v = w->view;

	w->func_of = malloc((v->name_count + (size_t)1) * sizeof(*w->func_of));
	w->name_of = malloc((v->name_count + (size_t)1) * sizeof(*w->name_of));
	if (!w->func_of || !w->name_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->name_count; i++) {
		if (i == 0 || !is_same_function(&v->names[i], &v->names[i - 1]))
			w->name_of[w->func_count++] = i;
		w->func_of[i] = w->func_count - 1;
	}
	return 0;
}

static int firefox_start(const struct view *v, const struct svg_options *svg, void **ret_state)
{
	struct firefox *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->view = v;
	w->p = v->profile;
	w->clock = v->profile->events[v->query.event].is_clock;
	w->tables = (struct parts)PARTS(table_parts);
	r = series_make(v, &w->set);
	if (r == 0)
		r = distinct_modules(v, &w->modules);
	if (r == 0)
		r = distinct_files(v, &w->files);
	if (r == 0)
		r = find_functions(w);
	if (r < 0) {
		firefox_end(w);
		return r;
	}
	*ret_state = w;
	return 0;
}

const struct writer firefox_writer = {
	.name = "firefox",
	.content_type = "application/json",
	.extension = "firefox.json",
	.log = RENDER_LOG_NEEDED,
	.series = true,
	.by_thread = true,
	.start = firefox_start,
	.more = firefox_more,
	.end = firefox_end,
};
