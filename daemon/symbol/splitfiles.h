/* Files with further parts of a module's DWARF: split units (.dwp, .dwo), and what several files
 * have in common (dwz). */
#ifndef PFL_SYMBOL_SPLITFILES_H
#define PFL_SYMBOL_SPLITFILES_H

#include "daemon/broker/client.h"
#include "daemon/reader/wire.h"
#include "daemon/symbol/module.h"
#include "daemon/symbol/readerclient.h"

/* file: the path of the file with the DWARF, the module's or its debug file's. All return a
 * descriptor, the caller's, or a negative errno, -ENOENT where nothing was found. */

/* The package beside it: FILE.dwp. */
int splitfiles_package(struct broker *b, const struct module *m, const char *file);
/* The units' own files, in one, as READER_WITH_DWO has it; at most 256 MiB. */
int splitfiles_gather(struct broker *b, const struct module *m, const char *file,
	const struct reader_split_list *wanted);
/* The common file, by build id and by name. It is not checked whether it is of that build. number:
 * the how many-th, from 0 on. */
int splitfiles_common(struct broker *b, const struct module *m, const char *file,
	const struct reader_debuglink *link, unsigned number);

#endif
