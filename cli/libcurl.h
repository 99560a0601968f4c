/* libcurl, loaded when the first request goes out: it brings thirty libraries along, whose start
 * takes longer than a report that asks no daemon. */
#ifndef PFL_CLI_LIBCURL_H
#define PFL_CLI_LIBCURL_H

#include <curl/curl.h>

struct libcurl {
	__typeof__(curl_easy_init) *easy_init;
	__typeof__(curl_easy_cleanup) *easy_cleanup;
	__typeof__(curl_easy_reset) *easy_reset;
	__typeof__(curl_easy_perform) *easy_perform;
	__typeof__(curl_easy_strerror) *easy_strerror;
	__typeof__(curl_slist_append) *slist_append;
	__typeof__(curl_slist_free_all) *slist_free_all;
	/* Each option and answer takes an argument of its own type. */
	CURLcode (*set)(CURL *curl, CURLoption option, ...);
	CURLcode (*get)(CURL *curl, CURLINFO info, ...);
};

/* NULL: it cannot be loaded, which has been said. */
const struct libcurl *libcurl_get(void);

#endif
