/* The locations of a pprof profile, and the mappings and functions that they need. */
#include <errno.h>
#include <string.h>

#include "daemon/render/pprof.h"

/* Field numbers. */
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILE,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINES
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4 };

/* Kernel addresses are told as those of a kernel that was not moved at boot: where it really is
 * stays its secret. Documentation/x86/x86_64/mm.rst */
#define KERNEL_LINKED   UINT64_C(0xffffffff81000000)
#define KERNEL_MODULES  UINT64_C(0xffffffffa0000000)
#define KERNEL_TEXT_MAX ((uint64_t)512 << 20)
#define KERNEL_ALIGN    ((uint64_t)2 << 20)

/* ---- mappings ---- */

static void put_mapping(struct pprof *w, uint32_t id, uint32_t file, const char *build_id,
	uint64_t start, uint64_t limit, uint64_t offset)
{
	protobuf_number(&w->message, MAPPING_ID, id);
	protobuf_number(&w->message, MAPPING_START, start);
	protobuf_number(&w->message, MAPPING_LIMIT, limit);
	protobuf_number(&w->message, MAPPING_OFFSET, offset);
	protobuf_number(&w->message, MAPPING_FILE, file);
	protobuf_number(&w->message, MAPPING_BUILD_ID, pprof_string(w, build_id));
	/* Always: who reads this has no better names. */
	protobuf_number(&w->message, MAPPING_HAS_FUNCTIONS, 1);
	protobuf_number(&w->message, MAPPING_HAS_FILES, w->view->query.lines);
	protobuf_number(&w->message, MAPPING_HAS_LINES, w->view->query.lines);
	protobuf_number(&w->message, MAPPING_HAS_INLINES, w->inlines);
	protobuf_message(&w->plain, PROFILE_MAPPING, &w->message);
}

static void put_module(struct pprof *w, uint32_t module, uint32_t id)
{
	const struct profile_module *m = &w->p->modules[module];
	const struct place *at = &w->places.modules[module];

	w->mapping_of[module] = id;
	put_mapping(w, id, pprof_string(w, profile_text(w->p, m->path)),
		profile_text(w->p, m->build_id), at->base + at->lo, at->base + at->hi, at->lo);
}

/* Readers take the first mapping for the program. It is the file with most of the frames that is no
 * shared library by its name. */
static uint32_t main_program(const struct pprof *w)
{
	const struct profile *p = w->p;
	uint32_t best = UINT32_MAX, most = 0;

	for (uint32_t i = 0; i < p->frame_count; i++)
		if (p->frames[i].kind == FRAME_USER && w->used[i])
			w->mapping_of[p->frames[i].module]++;
	for (uint32_t i = 0; i < p->module_count; i++) {
		const char *path = profile_text(p, p->modules[i].path);
		uint32_t count = w->mapping_of[i];

		if (count > most && !strstr(path, ".so") && path[0] == '/') {
			best = i;
			most = count;
		}
	}
	return best;
}

static bool some_inlined(const struct profile *p)
{
	uint32_t names = p->name_starts ? p->name_starts[p->frame_count] : 0;

	for (uint32_t i = 0; i < names; i++)
		if (p->name_frames[i].inlined)
			return true;
	return false;
}

static void put_mappings(struct pprof *w)
{
	uint32_t first = main_program(w), id = 0;

	w->inlines = some_inlined(w->p);
	if (first != UINT32_MAX)
		put_module(w, first, ++id);
	for (uint32_t i = 0; i < w->p->module_count; i++)
		if (i != first && w->mapping_of[i] > 0)
			put_module(w, i, ++id);
	w->kernel = ++id;
	w->jit = ++id;
	w->no_file = ++id;
	put_mapping(w, w->kernel, pprof_string(w, "[kernel.kallsyms]"),
		profile_text(w->p, w->p->meta.kernel_build_id), KERNEL_LINKED,
		KERNEL_LINKED + KERNEL_TEXT_MAX, 0);
	put_mapping(w, w->jit, pprof_string(w, "[jit]"), "", 0, 0, 0);
	put_mapping(w, w->no_file, pprof_string(w, "[no file]"), "", 0, 0, 0);
}

/* ---- locations and functions ---- */

static uint64_t kernel_address(const struct profile *p, uint64_t addr)
{
	uint64_t offset = addr - p->meta.kernel_text;

	if (p->meta.kernel_text && offset < KERNEL_TEXT_MAX)
		return KERNEL_LINKED + offset;
	return KERNEL_MODULES + addr % KERNEL_ALIGN;
}

static int function_id(struct pprof *w, const struct view_name *n, uint64_t *ret_id)
{
	uint32_t name = pprof_string(w, n->text), file = pprof_string(w, n->file);
	uint64_t key = (uint64_t)name << 32 | file;

	if (map_get(w->functions, key, ret_id))
		return 0;
	*ret_id = map_count(w->functions) + 1;
	protobuf_number(&w->inner, FUNCTION_ID, *ret_id);
	protobuf_number(&w->inner, FUNCTION_NAME, name);
	protobuf_number(&w->inner, FUNCTION_FILE, file);
	protobuf_message(&w->plain, PROFILE_FUNCTION, &w->inner);
	return map_set(w->functions, key, *ret_id);
}

static int put_line(struct pprof *w, const struct view_name *n)
{
	uint64_t id;
	int r = function_id(w, n, &id);

	protobuf_number(&w->inner, LINE_FUNCTION, id);
	protobuf_number(&w->inner, LINE_NUMBER, n->line);
	protobuf_message(&w->message, LOCATION_LINE, &w->inner);
	return r;
}

static int put_location(struct pprof *w, uint32_t frame)
{
	const struct profile_frame *f = &w->p->frames[frame];
	uint64_t address = places_address(&w->places, f);
	uint32_t mapping = w->no_file;
	struct label_path path;
	int r = labels_of_frame(&w->labels, frame, &path);

	if (f->kind == FRAME_USER)
		mapping = w->mapping_of[f->module];
	if (f->kind == FRAME_JIT)
		mapping = w->jit;
	if (f->kind == FRAME_KERNEL) {
		mapping = w->kernel;
		address = w->labels.kernel_named ? kernel_address(w->p, f->addr) : 0;
	}
	protobuf_number(&w->message, LOCATION_ID, frame + UINT64_C(1));
	protobuf_number(&w->message, LOCATION_MAPPING, mapping);
	protobuf_number(&w->message, LOCATION_ADDRESS, address);
	/* The innermost inlined function first. */
	for (uint32_t i = path.count; r == 0 && i-- > 0;)
		r = put_line(w, &w->labels.names[w->labels.path[path.at + i]]);
	protobuf_message(&w->plain, PROFILE_LOCATION, &w->message);
	return r;
}

int pprof_put_code(struct pprof *w)
{
	int r = 0;

	put_mappings(w);
	for (uint32_t i = 0; r == 0 && i < w->p->frame_count; i++)
		if (w->used[i])
			r = put_location(w, i);
	return r;
}
