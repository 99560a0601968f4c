#include "cli/libcurl.h"

#include <config.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	size_t at;
} functions[] = {
	{"curl_easy_init", offsetof(struct libcurl, easy_init)},
	{"curl_easy_cleanup", offsetof(struct libcurl, easy_cleanup)},
	{"curl_easy_reset", offsetof(struct libcurl, easy_reset)},
	{"curl_easy_perform", offsetof(struct libcurl, easy_perform)},
	{"curl_easy_strerror", offsetof(struct libcurl, easy_strerror)},
	{"curl_slist_append", offsetof(struct libcurl, slist_append)},
	{"curl_slist_free_all", offsetof(struct libcurl, slist_free_all)},
	{"curl_easy_setopt", offsetof(struct libcurl, set)},
	{"curl_easy_getinfo", offsetof(struct libcurl, get)},
};

static bool load(struct libcurl *c)
{
	void *lib = dlopen(PFL_LIBCURL, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; lib && i < sizeof(functions) / sizeof(*functions); i++) {
		void *f = dlsym(lib, functions[i].name);

		if (!f)
			return false;
		memcpy((char *)c + functions[i].at, &f, sizeof(f));
	}
	return lib;
}

const struct libcurl *libcurl_get(void)
{
	static struct libcurl all;

	if (all.get)
		return &all;
	if (load(&all))
		return &all;
	fprintf(stderr, "profilectl: %s; install libcurl (Debian: libcurl4) to talk to a daemon\n",
		dlerror());
	return NULL;
}
