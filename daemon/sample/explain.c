#include "daemon/sample/explain.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/parse.h"
#include "daemon/sample/events.h"

/* A number out of a file of one line, like those of /proc/sys. */
static int read_number(struct broker *b, enum broker_host what, int *ret_value)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(close_auto) int fd = -1;
	bool negative;
	uint64_t value;
	int r = broker_open_host(b, what, &fd);

	if (r == 0)
		r = io_read_fd(fd, 64, &text);
	if (r < 0)
		return r;
	if (text.len > 0 && text.data[text.len - 1] == '\n')
		text.data[text.len - 1] = '\0';
	negative = text.len > 0 && text.data[0] == '-';
	r = parse_u64(text.data ? text.data + negative : "", INT32_MAX, &value);
	if (r == 0)
		*ret_value = negative ? -(int)value : (int)value;
	return r;
}

static int explain_rate(struct broker *b, const struct capture_options *o, struct buf *message)
{
	int limit = 0;

	if ((o->freq_hz == 0) == (o->period == 0)) {
		buf_append_str(message, "Ask for either a rate or a period.");
		return -EINVAL;
	}
	/* Without the file the kernel will tell, less well. */
	if (o->freq_hz == 0 || read_number(b, BROKER_HOST_MAX_RATE, &limit) < 0 || limit <= 0 ||
		o->freq_hz <= (uint64_t)limit)
		return 0;
	buf_printf(message,
		"%llu Hz is above the kernel's limit of %d Hz: ask for at most that, or raise "
		"kernel.perf_event_max_sample_rate.",
		(unsigned long long)o->freq_hz, limit);
	return -EINVAL;
}

static bool has_twice(const struct capture_options *o, const char **ret_name)
{
	for (unsigned i = 0; i < o->event_count; i++) {
		*ret_name = o->events[i].name;
		for (unsigned k = 0; k < i; k++)
			if (o->events[k].type == o->events[i].type &&
				o->events[k].config == o->events[i].config &&
				o->events[k].deep == o->events[i].deep)
				return true;
	}
	return false;
}

static int explain_sizes(const struct capture_options *o, struct buf *message)
{
	size_t bytes;
	int r;

	if (o->stack == STACK_DWARF &&
		(o->stack_bytes == 0 || o->stack_bytes % 8 != 0 ||
			o->stack_bytes > STACK_BYTES_MAX)) {
		buf_printf(message,
			"%u bytes of stack cannot be copied: ask for a multiple of 8 up to %u.",
			o->stack_bytes, STACK_BYTES_MAX);
		return -EINVAL;
	}
	r = events_ring_bytes(o, &bytes);
	if (r == -EMSGSIZE)
		buf_printf(message,
			"A sample with %u bytes of stack does not fit a ring of %zu bytes: ask for "
			"a "
			"smaller copy or a larger ring.",
			o->stack_bytes, o->ring_bytes);
	else if (r < 0)
		buf_printf(message,
			"A ring of %zu bytes cannot be had: ask for a power of two from %d on.",
			o->ring_bytes, (int)sysconf(_SC_PAGESIZE));
	return r < 0 ? -EINVAL : 0;
}

int explain_options(struct broker *b, const struct target_spec *target,
	const struct capture_options *options, struct buf *message)
{
	const char *what = NULL;
	int r;

	if (options->event_count == 0 || options->event_count > EVENTS_MAX)
		what = "Ask for one event at least and eight at most.";
	else if (target->kind == TARGET_PIDS && target->pid_count == 0)
		what = "Ask for one process at least.";
	else if (target->kind == TARGET_COMMAND && target->command[0] == '\0')
		what = "The name of the command is empty.";
	else if (target->kind == TARGET_CGROUP && target->cgroup[0] != '/')
		what = "The path of a cgroup begins with a slash, at the root of the hierarchy.";
	if (what) {
		buf_append_str(message, what);
		return -EINVAL;
	}
	if (has_twice(options, &what)) {
		buf_printf(message, "The event %s is asked for twice.", what);
		return -EINVAL;
	}
	r = explain_rate(b, options, message);
	return r < 0 ? r : explain_sizes(options, message);
}

/* kernel.perf_event_paranoid: above 2 (a patch of some distributions) nothing is allowed, above 1
 * not the kernel, above 0 not the whole of a CPU. */
static void explain_refusal(struct broker *b, const struct capture_options *o,
	enum capture_plan plan, unsigned event, struct buf *message)
{
	bool kernel = event < EVENTS_MAX && (o->kernel || o->events[event].in_kernel);
	int level = plan != CAPTURE_TASK ? 0 : kernel ? 1 : 2;
	int now = 0;

	buf_append_str(message, "The kernel refuses to sample ");
	if (plan != CAPTURE_TASK)
		buf_append_str(message, "whole CPUs");
	else if (kernel)
		buf_append_str(message, "the kernel's side");
	else
		buf_append_str(message, "this process");
	if (read_number(b, BROKER_HOST_PARANOID, &now) < 0 || now > level)
		buf_printf(message,
			": give the daemon CAP_PERFMON, or set kernel.perf_event_paranoid to %d or "
			"lower",
			level);
	else
		buf_append_str(
			message, ", which belongs to another user: give the daemon CAP_PERFMON");
	if (plan == CAPTURE_TASK && o->kernel &&
		!(event < EVENTS_MAX && o->events[event].in_kernel))
		buf_append_str(message, ", or ask for a session without the kernel");
	buf_append_char(message, '.');
}

void explain_open(struct broker *b, const struct capture_options *options, enum capture_plan plan,
	unsigned event, int error, struct buf *message)
{
	const char *name = event < EVENTS_MAX ? options->events[event].name : "sideband";

	switch (error) {
	case -EACCES:
	case -EPERM: explain_refusal(b, options, plan, event, message); break;
	case -EMFILE:
	case -ENFILE:
		buf_append_str(message,
			"There are no file descriptors left for the events: raise the limit "
			"(RLIMIT_NOFILE), or end other sessions.");
		break;
	case -ESRCH: buf_append_str(message, "The process has just ended."); break;
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		buf_printf(message, "The event %s is not there on this machine%s.", name,
			event < EVENTS_MAX && options->events[event].hardware
				? ", which has no such hardware counter: cpu-clock always works"
				: "");
		break;
	case -EINVAL:
		buf_printf(message, "The kernel does not take the event %s with these settings.",
			name);
		break;
	default:
		buf_printf(message, "The event %s cannot be opened: %s.", name, strerror(-error));
		break;
	}
}

void explain_rings(
	struct broker *b, const struct capture_options *options, int error, struct buf *message)
{
	if (error == -EPERM)
		buf_append_str(message,
			"The memory for the rings may not be locked: raise RLIMIT_MEMLOCK or "
			"kernel.perf_event_mlock_kb, or give the daemon CAP_IPC_LOCK.");
	else
		explain_open(b, options, CAPTURE_TASK, EVENTS_MAX, error, message);
}
