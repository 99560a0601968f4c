/* What answers the routes: each makes the answer of r ready. Handler threads. */
#ifndef PFL_HTTP_API_H
#define PFL_HTTP_API_H

#include "daemon/http/request.h"

void api_sessions_list(struct req *r);
void api_sessions_start(struct req *r);
void api_import(struct req *r);
void api_session_get(struct req *r);
void api_session_stop(struct req *r);
void api_session_change(struct req *r);
void api_session_delete(struct req *r);
void api_diff(struct req *r);
void api_events(struct req *r);
void api_profile(struct req *r);
void api_flamegraph(struct req *r);
void api_source(struct req *r);
void api_heatmap(struct req *r);
void api_timeline(struct req *r);
void api_pprof_index(struct req *r);
void api_pprof_profile(struct req *r);
void api_pprof_symbol(struct req *r);
void api_pprof_cmdline(struct req *r);
void api_targets(struct req *r);
void api_perfmap(struct req *r);
void api_status(struct req *r);
void api_healthz(struct req *r);
void api_readyz(struct req *r);
void api_metrics(struct req *r);
void page_index(struct req *r);
void page_script(struct req *r);
void page_style(struct req *r);
void page_icon(struct req *r);
void page_openapi(struct req *r);

struct profile;
/* A session as the API shows it, out of its head. */
void session_json(const struct profile *head, struct buf *into);

#endif
