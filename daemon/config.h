/* Settings: built-in values, then the INI file, then the command line. Plain data. */
#ifndef PFL_CONFIG_H
#define PFL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/log.h"

/* Sections of the file in comments; a key is named as its field, but that sizes and times are given
 * with their unit ("64M", "30d") and so lack it: max_duration, max_bytes, max_age, save_interval,
 * …; see systemd/profiled.conf for all. */
struct config {
	/* [daemon] */
	char runtime_dir[256]; /* /run/profiled; an ordinary user: $XDG_RUNTIME_DIR/profiled. Holds
				* profiled.sock, token, http (the base URL), lock */
	char state_dir[256];   /* /var/lib/profiled; an ordinary user: $XDG_STATE_HOME/profiled */
	char user[64];         /* of all processes when started by root: profiled; a number too */
	char group[64];        /* whose members see all over the Unix socket: profiled */
	enum log_level log_level;
	/* [http] */
	char listen[128];        /* 127.0.0.1:9611; "off" */
	bool allow_remote;       /* listen beyond loopback */
	char allowed_hosts[512]; /* Host names accepted besides localhost, 127.0.0.1, [::1]; blanks
				  * between */
	unsigned max_connections;
	bool source_text; /* true: show the text of source files */
	/* [sessions] */
	unsigned max_sessions;    /* 16 */
	unsigned default_freq_hz; /* 99 */
	unsigned max_freq_hz;     /* 10000 */
	uint64_t max_duration_ns; /* 0: none */
	unsigned stack_bytes;     /* 16384 */
	unsigned max_frames;      /* 512 */
	bool arguments;           /* true: of commands, in profiles */
	char unwinder[16];        /* table; libunwind, libdw: hidden, for comparison */
	uint64_t ring_bytes;      /* per CPU and session; 0: by rate */
	uint64_t log_entries;     /* sample log of a session */
	uint64_t import_bytes;    /* the largest perf.data file; 0: none */
	uint64_t max_nodes;
	double cpu_percent;  /* of the machine, of all sessions together, and of each: 1 */
	unsigned memory_mib; /* the same of trees and logs: 128 */
	/* [store] */
	uint64_t store_max_bytes, store_max_age_ns, store_free_floor_bytes;
	uint64_t save_interval_ns; /* 30 s, at most 60 s */
	/* [symbols] */
	uint64_t reader_memory_bytes; /* RLIMIT_AS, 512 MiB */
	unsigned reader_cpu_seconds;
	uint64_t names_cache_bytes;
};

#define CONFIG_PERCENT_MIN 0.01
#define CONFIG_FILE_MAX    ((size_t)64 << 10) /* bytes of the file; more is refused */

/* as_root false: directories of the calling user, from the environment. Those that a service
 * manager made ($RUNTIME_DIRECTORY, $STATE_DIRECTORY) go before either. */
void config_defaults(struct config *c, bool as_root);
/* Reads INI text. On failure -EINVAL and in message a line for each thing that is wrong ("line 3:
 * …"): unknown sections and keys are refused. c may be half-filled then: parse into a copy. */
int config_parse(struct config *c, const char *text, size_t len, struct buf *message);
/* One "section.key" = value, for the command line. */
int config_set(struct config *c, const char *section, const char *key, const char *value,
	struct buf *message);
/* The same out of one text: "section.key=value". */
int config_set_text(struct config *c, const char *text, struct buf *message);
/* What single values cannot tell: to be asked when all are set. -EINVAL and a sentence. */
int config_check(const struct config *c, struct buf *message);
/* The settings by number, from 0; false: there are no more. */
bool config_setting(unsigned i, const char **ret_section, const char **ret_key);
/* Appends the names ("daemon.user") of settings that differ but are only read at the start. */
void config_changed_fixed(const struct config *old, const struct config *now, struct buf *names);

#endif
