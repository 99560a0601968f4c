#include "daemon/reader/dwarf.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/reader/split.h"

#define STEPS_MAX  (400u << 20)
#define DEPTH_MAX  256 /* of nested entries; compilers stay below some forty */
#define SCOPES_MAX (4u << 20)
#define UNITS_MAX  (1u << 20)

int dwarf_open(struct dwarf *d, Elf *elf, const uint64_t *addrs, uint32_t count)
{
	memset(d, 0, sizeof(*d));
	d->addrs = addrs;
	d->count = count;
	d->unit_of = calloc(count ? count : 1, sizeof(*d->unit_of));
	d->scope_of = malloc((count ? count : 1) * sizeof(*d->scope_of));
	if (!d->unit_of || !d->scope_of) {
		dwarf_done(d);
		return -ENOMEM;
	}
	memset(d->scope_of, 0xff, count * sizeof(*d->scope_of));
	d->dbg = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!d->dbg) {
		dwarf_done(d);
		return -EBADMSG;
	}
	return 0;
}

int dwarf_use_alt(struct dwarf *d, Elf *elf)
{
	d->alt = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!d->alt)
		return -EBADMSG;
	dwarf_setalt(d->dbg, d->alt);
	return 0;
}

void dwarf_done(struct dwarf *d)
{
	if (d->dbg)
		dwarf_end(d->dbg);
	if (d->alt)
		dwarf_end(d->alt);
	free(d->unit_of);
	free(d->scope_of);
	free(d->units);
	free(d->scopes);
	memset(d, 0, sizeof(*d));
}

/* Counts work; false when it has to end here. */
static bool step(struct dwarf *d, uint64_t n)
{
	uint64_t before = d->steps >> 12;

	d->steps += n;
	if (d->cut || d->steps > STEPS_MAX)
		d->cut = true;
	else if (d->steps >> 12 != before && deadline_over(&d->scopes_until))
		d->cut = true;
	return !d->cut;
}

static uint32_t first_at_or_above(const struct dwarf *d, uint64_t value)
{
	uint32_t lo = 0, hi = d->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (d->addrs[mid] < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool grow(void **array, uint32_t *room, uint32_t count, size_t each, uint32_t max)
{
	uint32_t want = *room ? *room * 2 : 64;
	void *more;

	if (count < *room)
		return true;
	if (count >= max)
		return false;
	more = realloc(*array, (size_t)want * each);
	if (!more)
		return false;
	*array = more;
	*room = want;
	return true;
}

/* Calls found for each range of the entry that holds asked addresses; stops when it answers false.
 * Returns how many ranges the entry has at all. */
typedef bool (*range_fn)(struct dwarf *d, uint32_t first, uint64_t end, void *arg);

static unsigned each_range(struct dwarf *d, Dwarf_Die *die, range_fn found, void *arg)
{
	Dwarf_Addr base = 0, start, end;
	ptrdiff_t at = 0;
	unsigned n = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0 && step(d, 1)) {
		uint32_t first = first_at_or_above(d, start);
		n++;
		if (first < d->count && d->addrs[first] < end && !found(d, first, end, arg))
			break;
	}
	return n;
}

static bool take_unit(struct dwarf *d, uint32_t first, uint64_t end, void *arg)
{
	uint32_t unit = *(uint32_t *)arg;

	for (uint32_t i = first; i < d->count && d->addrs[i] < end && step(d, 1); i++)
		if (d->unit_of[i] == 0)
			d->unit_of[i] = unit + 1;
	return !d->cut;
}

static int add_unit(struct dwarf *d, const Dwarf_Die *die)
{
	struct dwarf_unit u = {.die = *die, .inner = *die};
	uint8_t type = 0;

	if (!grow((void **)&d->units, &d->unit_room, d->unit_count, sizeof(*d->units), UNITS_MAX))
		return -ENOMEM;
	if (dwarf_cu_info(die->cu, NULL, &type, NULL, NULL, &u.id, NULL, NULL) == 0 &&
		type == DW_UT_skeleton)
		u.split = true;
	d->units[d->unit_count++] = u;
	return 0;
}

/* Units that do not state their ranges may be listed in .debug_aranges. */
static int find_units_by_aranges(struct dwarf *d)
{
	Dwarf_Die die;
	uint32_t unit;
	int r;

	for (uint32_t i = 0; i < d->count && step(d, 1); i++) {
		if (d->unit_of[i] != 0 || !dwarf_addrdie(d->dbg, d->addrs[i], &die))
			continue;
		for (unit = 0; unit < d->unit_count; unit++)
			if (step(d, 1) && d->units[unit].die.addr == die.addr)
				break;
		if (unit == d->unit_count && (r = add_unit(d, &die)) < 0)
			return r;
		d->unit_of[i] = unit + 1;
	}
	return 0;
}

static bool any(struct dwarf *d, uint32_t first, uint64_t end, void *arg)
{
	*(bool *)arg = true;
	return false;
}

int dwarf_find_units(struct dwarf *d)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	int r;

	while (step(d, 64) && dwarf_get_units(d->dbg, cu, &cu, NULL, NULL, &die, NULL) == 0) {
		bool wanted = false;
		d->any_unit = true;
		each_range(d, &die, any, &wanted);
		if (!wanted)
			continue;
		r = add_unit(d, &die);
		if (r < 0)
			return r;
		each_range(d, &die, take_unit, &(uint32_t){d->unit_count - 1});
	}
	return find_units_by_aranges(d);
}

struct claim {
	uint32_t unit, scope;
	bool any;
};

/* Entries are walked from the outside in, so that the last to claim an address is the innermost. */
static bool claim_addrs(struct dwarf *d, uint32_t first, uint64_t end, void *arg)
{
	struct claim *c = arg;

	for (uint32_t i = first; i < d->count && d->addrs[i] < end && step(d, 1); i++) {
		if (d->unit_of[i] != c->unit + 1)
			continue;
		c->any = true;
		if (c->scope != DWARF_NO_SCOPE)
			d->scope_of[i] = c->scope;
	}
	return !d->cut;
}

static int add_scope(struct dwarf *d, Dwarf_Die *die, uint32_t unit, uint32_t parent, bool inlined)
{
	if (!grow((void **)&d->scopes, &d->scope_room, d->scope_count, sizeof(*d->scopes),
		    SCOPES_MAX))
		return -ENOMEM;
	d->scopes[d->scope_count++] = (struct dwarf_scope){
		.die = *die, .unit = unit, .parent = parent, .inlined = inlined};
	return 0;
}

static int walk(struct dwarf *d, Dwarf_Die *parent, uint32_t unit, uint32_t scope, unsigned depth);

/* A function or inlined call: followed only where it holds an asked address. */
static int walk_scope(
	struct dwarf *d, Dwarf_Die *die, uint32_t unit, uint32_t scope, unsigned depth)
{
	struct claim c = {.unit = unit, .scope = d->scope_count};
	bool inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;

	each_range(d, die, claim_addrs, &c);
	if (!c.any)
		return 0;
	int r = add_scope(d, die, unit, inlined ? scope : DWARF_NO_SCOPE, inlined);
	return r < 0 ? r : walk(d, die, unit, c.scope, depth + 1);
}

static int walk_block(
	struct dwarf *d, Dwarf_Die *die, uint32_t unit, uint32_t scope, unsigned depth)
{
	struct claim c = {.unit = unit, .scope = DWARF_NO_SCOPE};

	/* One without ranges may still hold entries that have some. */
	if (each_range(d, die, claim_addrs, &c) > 0 && !c.any)
		return 0;
	return walk(d, die, unit, scope, depth + 1);
}

/* Types hold code in some languages; in C and C++ only declarations, and very many of them. */
static bool types_hold_code(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14: return false;
	default: return true;
	}
}

static int walk_entry(
	struct dwarf *d, Dwarf_Die *die, uint32_t unit, uint32_t scope, unsigned depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine: return walk_scope(d, die, unit, scope, depth);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block: return walk_block(d, die, unit, scope, depth);
	case DW_TAG_namespace:
	case DW_TAG_module: return walk(d, die, unit, scope, depth + 1);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return types_hold_code(&d->units[unit].inner) ? walk(d, die, unit, scope, depth + 1)
							      : 0;
	default: return 0;
	}
}

static int walk(struct dwarf *d, Dwarf_Die *parent, uint32_t unit, uint32_t scope, unsigned depth)
{
	Dwarf_Die die;
	int r = 0;

	if (depth > DEPTH_MAX) {
		d->cut = true;
		return 0;
	}
	if (dwarf_child(parent, &die) != 0)
		return 0;
	do {
		r = walk_entry(d, &die, unit, scope, depth);
	} while (r == 0 && step(d, 4) && dwarf_siblingof(&die, &die) == 0);
	return r;
}

/* libdw tries to open the file of the unit's other part, which is what it gets from split.c. */
static void join(struct dwarf *d, struct dwarf_unit *u)
{
	Dwarf_Die inner = {0};

	split_enter(d->split, u->id);
	if (dwarf_cu_info(u->die.cu, NULL, NULL, NULL, &inner, NULL, NULL, NULL) == 0 && inner.addr)
		u->inner = inner;
	else
		d->missing = true;
	split_leave();
}

int dwarf_find_scopes(struct dwarf *d)
{
	int r = 0;

	for (uint32_t u = 0; r == 0 && u < d->unit_count && !d->cut; u++) {
		if (d->units[u].split && step(d, 4096))
			join(d, &d->units[u]);
		r = walk(d, &d->units[u].inner, u, DWARF_NO_SCOPE, 0);
	}
	return r;
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

bool dwarf_split_name(struct dwarf_unit *u, const char **ret_dir, const char **ret_name)
{
	const char *dir = text_of(&u->die, DW_AT_comp_dir);

	*ret_name = text_of(&u->die, DW_AT_dwo_name);
	if (!*ret_name)
		*ret_name = text_of(&u->die, DW_AT_GNU_dwo_name);
	*ret_dir = dir ? dir : "";
	return *ret_name && (*ret_name)[0];
}

const char *dwarf_scope_name(struct dwarf_scope *s)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(&s->die, DW_AT_linkage_name, &attr) ||
		dwarf_attr_integrate(&s->die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name && dwarf_attr_integrate(&s->die, DW_AT_name, &attr))
		name = dwarf_formstring(&attr);
	return name;
}

void dwarf_scope_call(
	struct dwarf *d, struct dwarf_scope *s, const char **ret_file, uint32_t *ret_line)
{
	Dwarf_Attribute attr;
	Dwarf_Word file = 0, line = 0;
	Dwarf_Files *files;
	size_t count;
	const char *name;

	*ret_file = "";
	*ret_line = 0;
	if (dwarf_attr(&s->die, DW_AT_call_line, &attr) && dwarf_formudata(&attr, &line) == 0 &&
		line <= UINT32_MAX)
		*ret_line = (uint32_t)line;
	if (dwarf_attr(&s->die, DW_AT_call_file, &attr) && dwarf_formudata(&attr, &file) == 0 &&
		dwarf_getsrcfiles(&d->units[s->unit].inner, &files, &count) == 0 && file < count &&
		(name = dwarf_filesrc(files, file, NULL, NULL)) != NULL)
		*ret_file = name;
}

void dwarf_line(struct dwarf *d, uint32_t i, const char **ret_file, uint32_t *ret_line)
{
	Dwarf_Line *line;
	const char *file;
	int n = 0;

	*ret_file = "";
	*ret_line = 0;
	if (d->unit_of[i] == 0 || d->lines_over)
		return;
	if (i % 64 == 0 && deadline_over(&d->lines_until)) {
		d->lines_over = d->cut = true;
		return;
	}
	line = dwarf_getsrc_die(&d->units[d->unit_of[i] - 1].die, d->addrs[i]);
	if (!line)
		return;
	file = dwarf_linesrc(line, NULL, NULL);
	if (file)
		*ret_file = file;
	if (dwarf_lineno(line, &n) == 0 && n > 0)
		*ret_line = (uint32_t)n;
}
