/* A module's compiled unwind rules, made at once in this process: what the engine has the reader
 * do. */
#ifndef PFL_TESTS_MAKE_TABLE_H
#define PFL_TESTS_MAKE_TABLE_H

#include "daemon/symbol/module.h"

/* As unwinder_ask_tables() wants it. A module whose rules are refused stays without. */
void make_table(void *arg, struct module *m);

#endif
