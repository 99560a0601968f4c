/* Who asks. On the Unix socket the kernel says so; on TCP whoever has the token sees all. */
#ifndef PFL_HTTP_AUTH_H
#define PFL_HTTP_AUTH_H

#include <stdbool.h>
#include "daemon/http/request.h"

#define AUTH_TOKEN_DIGITS 64

/* The peer of a Unix socket: root, self_uid and members of group see all, others what is theirs. */
int auth_peer(int fd, uid_t self_uid, gid_t group, struct caller *ret_who);

/* In time that does not depend on where the two differ. */
bool auth_token_equal(const char *token, const char *given, size_t given_len);

/* True: the request brings the token, in Authorization (Bearer, or Basic as the password, or as the
 * name without one) or as a cookie. port names the cookie, as
 * cookies of one host are shared by all its ports. Sets by_bearer. */
bool auth_has_token(struct req *r, const char *token, unsigned port);
/* Answers a request that brings it as ?token= with a redirect that sets the cookie. False: it does
 * not, or a wrong one. */
bool auth_take_query_token(struct req *r, const char *token, unsigned port);
/* The 401. */
void auth_refuse(struct req *r);

#endif
