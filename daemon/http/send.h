/* An answer that is ready, to the library. */
#ifndef PFL_HTTP_SEND_H
#define PFL_HTTP_SEND_H

#include "daemon/http/request.h"

struct MHD_Connection;
/* Moves body and stream out of the answer. Negative errno: nothing was sent, close the connection.
 */
int send_answer(struct req *r, struct MHD_Connection *connection);

#endif
