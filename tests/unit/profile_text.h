/* A profile as the daemon writes it in JSON: main calls work (60 %) and, by way of itself, idle. */
#ifndef PFL_TESTS_PROFILE_TEXT_H
#define PFL_TESTS_PROFILE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "cli/tree.h"

#define PROFILE_TEXT(work, main, idle)                                                          \
	"{\"event\":\"cpu-clock\",\"unit\":\"nanoseconds\",\"total\":1000,\"samples\":100,"     \
	"\"kinds\":[\"root\",\"process\",\"thread\",\"user\",\"kernel\"],\"modules\":[\"\","    \
	"\"prog\",\"[kernel]\"],\"names\":[\"all\",\"main\",\"work\",\"idle\"],"                \
	"\"name_module\":[0,1,1,2],\"name_kind\":[0,3,3,4],"                                    \
	"\"depth\":[0,1,2,2,3],\"name\":[0,1,2,1,3],\"self\":[0," main "," work ",0," idle "]," \
	"\"samples_total\":[100,100,60,30,30]}"
#define PROFILE PROFILE_TEXT("600", "100", "300")

static inline struct tree *parsed(const char *text)
{
	struct tree *t = NULL;

	assert_int_equal(tree_parse(text, strlen(text), &t), 0);
	return t;
}

#endif
