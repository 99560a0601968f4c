/* One capture: the events of a target, their rings, and the rounds that read them. Sampler thread.
 *
 * A round takes the heads of the sample rings, then drains the sideband, and hands all records out
 * in the order of their time, so that an address space is neither older nor newer than the sample.
 */
#ifndef PFL_SAMPLE_COLLECT_H
#define PFL_SAMPLE_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/cleanup.h"
#include "daemon/sample/record.h"
#include "daemon/sample/target.h"

struct capture;

struct capture_stats {
	enum capture_plan plan;
	unsigned fds, rings, cpus;
	size_t ring_bytes;     /* per CPU, as granted */
	size_t ring_bytes_all; /* of all rings, sideband too; the kernel has them locked in memory
				*/
	double ring_peak;      /* share of the fullest ring at its fullest, since the start */
	uint64_t records, samples, lost, throttled, unknown, malformed_bytes;
	uint64_t sideband_lost;
	uint64_t filtered; /* samples of processes outside the target */
	/* The kernel's own counts of the events (occurrences or ns), as of the last
	 * capture_refresh() or capture_stop(). After the last round of an event that counts
	 * occurrences by a period of 1: samples + filtered + lost + malformed == counted, summed
	 * over such events. */
	uint64_t counted[EVENTS_MAX];
	uint64_t malformed; /* records that could not be decoded */
	unsigned
		task_errors; /* threads that could not be opened (gone meanwhile are not counted) */
};

struct capture_sink {
	/* sample->pid is a process of the target. event: index into options.events. The weight is
	 * always there. */
	void (*sample)(void *arg, const struct sample *s, unsigned event);
	/* Of processes of the target, those that join or leave it included. The same mapping may
	 * come more than once. */
	void (*sideband)(void *arg, const struct sideband *s);
	void *arg;
};

/* Opens all, started. message gets a sentence on failure. -ESRCH: no such process; -ENOENT: no such
 * cgroup, or event; -EACCES/-EPERM: may not; -EMFILE: too many threads for the descriptors;
 * -EINVAL: rate above the kernel's, or settings that make no sense. Everything is closed again
 * then. */
int capture_new(struct broker *b, const struct target_spec *target,
	const struct capture_options *options, struct capture **ret_capture, struct buf *message);
/* Other options, of the same events, between two rounds: new ones take the place of the old, for
 * all that belongs to the target by now, and no sample is missed or counted twice but for some
 * milliseconds. -EBUSY: no round has taken place since the last change; else as capture_new(), and
 * the old ones go on. */
int capture_change(struct capture *c, const struct capture_options *options, struct buf *message);
/* Stops and closes the events; the last records are still there for one more capture_round(). */
void capture_stop(struct capture *c);
void capture_free(struct capture *c);
AUTO_FREE_FN(struct capture, capture_free)

/* Adds its descriptors, and those that come later, to an epoll set with the given data, EPOLLIN. */
int capture_watch(struct capture *c, int epoll_fd, void *data);
/* Reads and hands out what is there, up to a millisecond ago (after capture_stop(): all). Returns
 * the records, or a negative errno. To be called every 100 ms at least. */
int capture_round(struct capture *c, const struct capture_sink *sink);
/* Every second or so: new processes of a command, CPUs that came back, whether the target is gone.
 */
int capture_refresh(struct capture *c);
/* TARGET_PIDS: all of the processes named have ended (what they started may go on). TARGET_CGROUP:
 * it was removed. As of the last capture_refresh(). */
bool capture_target_gone(const struct capture *c);
void capture_get_stats(struct capture *c, struct capture_stats *ret_stats);

#endif
