/* Why a capture could not start, in a sentence that says what to change. */
#ifndef PFL_SAMPLE_EXPLAIN_H
#define PFL_SAMPLE_EXPLAIN_H

#include "base/buf.h"
#include "daemon/broker/client.h"
#include "daemon/sample/target.h"

/* The options cannot be had: -EINVAL, with a sentence; else 0. Looks at the kernel's highest rate.
 */
int explain_options(struct broker *b, const struct target_spec *target,
	const struct capture_options *options, struct buf *message);
/* The opening of options->events[event] (EVENTS_MAX: of the sideband) ended in error. */
void explain_open(struct broker *b, const struct capture_options *options, enum capture_plan plan,
	unsigned event, int error, struct buf *message);
/* The rings could not be mapped. */
void explain_rings(
	struct broker *b, const struct capture_options *options, int error, struct buf *message);

#endif
