/* Addresses to lines and inlined calls, by DWARF. The entries of each unit that holds an asked
 * address are walked once, for all its addresses together. */
#ifndef PFL_READER_DWARF_H
#define PFL_READER_DWARF_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>
#include "daemon/reader/deadline.h"

#define DWARF_NO_SCOPE UINT32_MAX

/* A function, or an inlined call in one. */
struct dwarf_scope {
	Dwarf_Die die;
	uint32_t parent; /* the scope it was inlined into; DWARF_NO_SCOPE: a function of its own */
	uint32_t unit;
	uint32_t name; /* for the caller: where it put the name; 0 at first */
	bool inlined;
};

/* A unit that holds asked addresses. */
struct dwarf_unit {
	Dwarf_Die die;   /* with its ranges and lines */
	Dwarf_Die inner; /* with its entries: the same, unless they are split off */
	uint64_t id;
	bool split;
};

struct split;
struct dwarf {
	Dwarf *dbg, *alt;          /* alt: what it has in common with other files; NULL: none */
	const struct split *split; /* lent; NULL: nothing was handed over */
	const uint64_t *addrs;     /* ascending */
	uint32_t count;
	uint32_t *unit_of;  /* [count]: index into units + 1; 0: none */
	uint32_t *scope_of; /* [count]: the innermost scope, or DWARF_NO_SCOPE */
	struct dwarf_unit *units;
	uint32_t unit_count, unit_room;
	struct dwarf_scope *scopes;
	uint32_t scope_count, scope_room;
	uint64_t steps;
	bool any_unit; /* there is at least one that libdw can read */
	bool missing;  /* the split part of a unit was not to be had */
	struct deadline scopes_until, lines_until;
	bool cut; /* a deadline or a cap was reached: some scopes or lines are missing */
	bool lines_over;
};

/* elf: of the file with the debug sections, lent. Without deadlines and split, which may be set
 * before the other calls. -EBADMSG: libdw refuses them. */
int dwarf_open(struct dwarf *d, Elf *elf, const uint64_t *addrs, uint32_t count);
/* The common file that its strings and entries refer to, lent. */
int dwarf_use_alt(struct dwarf *d, Elf *elf);
void dwarf_done(struct dwarf *d);
/* Fills in units and unit_of. */
int dwarf_find_units(struct dwarf *d);
/* After that, scope_of. */
int dwarf_find_scopes(struct dwarf *d);
/* The file that a split unit's entries are in, as its compiler named it. False: it does not say. */
bool dwarf_split_name(struct dwarf_unit *u, const char **ret_dir, const char **ret_name);

/* The name of the scope as in the file: a linkage name, which wants demangling, or a plain one;
 * NULL. */
const char *dwarf_scope_name(struct dwarf_scope *s);
/* Where the scope was called from, for an inlined one. File "" and line 0: not known. */
void dwarf_scope_call(
	struct dwarf *d, struct dwarf_scope *s, const char **ret_file, uint32_t *ret_line);
/* The line that address i belongs to. */
void dwarf_line(struct dwarf *d, uint32_t i, const char **ret_file, uint32_t *ret_line);

#endif
