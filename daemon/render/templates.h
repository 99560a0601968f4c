/* Names without their template arguments, for views: std::map<int, long>::find() becomes
 * std::map<...>::find(). */
#ifndef PFL_RENDER_TEMPLATES_H
#define PFL_RENDER_TEMPLATES_H

#include <stddef.h>

/* Room for the longest that a name of len bytes can become. */
#define TEMPLATES_ROOM(len) (2 * (len) + 1)

/* Writes name to out, with "<...>" for each list of template arguments. Operators, lambdas and
 * Rust's <T as Trait> stay. A name that does not balance is left as it is from there on. Returns
 * the length. */
size_t templates_fold(const char *name, char *out);

#endif
