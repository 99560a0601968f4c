/* Levelled log to stderr. Any thread. Under a service manager (JOURNAL_STREAM set) lines carry the
 * <N> priority prefix; else the time and the level. Control bytes are escaped, long lines cut. */
#ifndef PFL_BASE_LOG_H
#define PFL_BASE_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* name: which process speaks ("engine"); kept, not copied. */
void log_init(const char *name, enum log_level level);
void log_set_level(enum log_level level);
/* "error", "warning", "info", "debug"; -EINVAL otherwise. */
int log_level_parse(const char *text, enum log_level *ret_level);

/* At most 20 lines a second and call site; what was left out is said with the next line. */
void log_line(enum log_level level, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#define log_error(...)   log_line(LOG_LEVEL_ERROR, __FILE__, __LINE__, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __FILE__, __LINE__, __VA_ARGS__)
#define log_info(...)    log_line(LOG_LEVEL_INFO, __FILE__, __LINE__, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_LEVEL_DEBUG, __FILE__, __LINE__, __VA_ARGS__)

#endif
