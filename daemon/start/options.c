#include "daemon/start/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define OVERRIDES_MAX ((size_t)16 << 10)

void options_done(struct options *o)
{
	buf_done(&o->overrides);
}

const char *options_usage(void)
{
	return "usage: profiled [OPTION]...\n"
	       "Samples running programs and serves their profiles over HTTP.\n"
	       "\n"
	       "  --config FILE            settings; default " PFL_SYSCONFDIR
	       "/profiled/profiled.conf\n"
	       "  --check-config           say whether they are fine, and end\n"
	       "  --runtime-dir DIR        for socket, token and address\n"
	       "  --state-dir DIR          for finished profiles\n"
	       "  --listen ADDR:PORT|off   for HTTP; port 0: any that is free\n"
	       "  --user NAME              whom to run as when started by root\n"
	       "  --log-level LEVEL        error, warning, info or debug\n"
	       "  --set SECTION.KEY=VALUE  any setting; may be repeated\n"
	       "  --report QUERY           for profilectl report: one recording to one profile\n"
	       "  --version, --help\n"
	       "\n"
	       "See profiled(8).\n";
}

static int set_config_path(struct options *o, const char *path, struct buf *message)
{
	char here[PATH_MAX] = "";
	int n;

	if (path[0] != '/' && !getcwd(here, sizeof(here))) {
		buf_printf(message, "--config %s: the current folder has no name: %s", path,
			strerror(errno));
		return -EINVAL;
	}
	n = snprintf(
		o->config_path, sizeof(o->config_path), "%s%s%s", here, here[0] ? "/" : "", path);
	if (n < 0 || (size_t)n >= sizeof(o->config_path)) {
		buf_append_str(message, "--config: the path is too long");
		return -EINVAL;
	}
	return 0;
}

/* An option that stands for a setting. */
static int add_override(struct options *o, const char *setting, const char *value)
{
	buf_append_str(&o->overrides, setting);
	if (value) {
		buf_append_char(&o->overrides, '=');
		buf_append_str(&o->overrides, value);
	}
	return buf_append(&o->overrides, "", 1);
}

/* A folder may be told relative to the current one here, as on any command line. */
static int add_folder(struct options *o, const char *setting, const char *value)
{
	char here[PATH_MAX], absolute[2 * PATH_MAX];

	if (value[0] == '/' || value[0] == 0 || !getcwd(here, sizeof(here)))
		return add_override(o, setting, value);
	snprintf(absolute, sizeof(absolute), "%s/%s", here, value);
	return add_override(o, setting, absolute);
}

static int take_option(struct options *o, int c, struct buf *message)
{
	switch (c) {
	case 'c': o->config_named = true; return set_config_path(o, optarg, message);
	case 'k': o->todo = OPTIONS_CHECK; return 0;
	case 'r': return add_folder(o, "daemon.runtime_dir", optarg);
	case 's': return add_folder(o, "daemon.state_dir", optarg);
	case 'l': return add_override(o, "http.listen", optarg);
	case 'u': return add_override(o, "daemon.user", optarg);
	case 'g': return add_override(o, "daemon.log_level", optarg);
	case 'S': return add_override(o, optarg, NULL);
	case 'R':
		o->todo = OPTIONS_REPORT;
		o->report = optarg;
		return 0;
	case 'V': o->todo = OPTIONS_VERSION; return 0;
	case 'h': o->todo = OPTIONS_HELP; return 0;
	default: return -EINVAL;
	}
}

static void say_bad_option(char **argv, int c, int index, struct buf *message)
{
	const char *word = argv[index];

	if (c == ':')
		buf_printf(message, "%s wants a value", word);
	else if (strchr(word, '=') && optopt)
		buf_printf(message, "%s: this option has no value", word);
	else
		buf_printf(message, "there is no option %s", word);
}

int options_parse(int argc, char **argv, struct options *ret_options, struct buf *message)
{
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'},
		{"check-config", no_argument, NULL, 'k'},
		{"runtime-dir", required_argument, NULL, 'r'},
		{"state-dir", required_argument, NULL, 's'},
		{"listen", required_argument, NULL, 'l'},
		{"user", required_argument, NULL, 'u'},
		{"log-level", required_argument, NULL, 'g'},
		{"set", required_argument, NULL, 'S'},
		{"report", required_argument, NULL, 'R'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct options o = {.overrides = {.max_bytes = OVERRIDES_MAX}};
	int c, r = set_config_path(&o, PFL_SYSCONFDIR "/profiled/profiled.conf", message);

	opterr = 0;
	optind = 0; /* may be called again in one process, by its tests */
	while (r == 0) {
		int at = optind > 0 ? optind : 1;

		c = getopt_long(argc, argv, "+:", longs, NULL);
		if (c == -1)
			break;
		if (c == '?' || c == ':') {
			say_bad_option(argv, c, at, message);
			r = -EINVAL;
		} else {
			r = take_option(&o, c, message);
		}
	}
	if (r == 0 && optind < argc) {
		buf_printf(message, "'%s' is no option", argv[optind]);
		r = -EINVAL;
	}
	if (r == -EFBIG)
		buf_append_str(message, "the settings on the command line are too long");
	if (r < 0) {
		options_done(&o);
		return -EINVAL;
	}
	*ret_options = o;
	return 0;
}

int options_override(const char *overrides, size_t len, struct config *config, struct buf *message)
{
	const char *at = overrides, *end = overrides + len;
	int worst = 0;

	for (; at < end; at += strlen(at) + 1) {
		AUTO(buf_done) struct buf why = BUF_INIT;
		int r = config_set_text(config, at, &why);

		if (r < 0) {
			buf_printf(message, "%s%s", message->len ? "\n" : "",
				why.data ? why.data : strerror(-r));
			worst = r;
		}
	}
	return worst;
}

static int parse_file(const struct options *o, struct config *config, struct buf *message)
{
	AUTO(buf_done) struct buf text = BUF_INIT;
	AUTO(buf_done) struct buf why = BUF_INIT;
	char *next = NULL;
	int r = io_read_file(o->config_path, CONFIG_FILE_MAX, &text);

	if (r == -ENOENT && !o->config_named)
		return 0;
	if (r < 0) {
		buf_printf(message, "%s: %s", o->config_path, strerror(-r));
		return r;
	}
	r = config_parse(config, text.data ? text.data : "", text.len, &why);
	for (char *line = why.data ? strtok_r(why.data, "\n", &next) : NULL; line;
		line = strtok_r(NULL, "\n", &next))
		buf_printf(message, "%s%s: %s", message->len ? "\n" : "", o->config_path, line);
	return r;
}

int options_config(const struct options *o, const struct config *builtin, struct config *ret_config,
	struct buf *message)
{
	struct config config = *builtin;
	int r = parse_file(o, &config, message);
	int later = options_override(o->overrides.data, o->overrides.len, &config, message);

	if (r == 0)
		r = later;
	if (r == 0)
		r = config_check(&config, message);
	if (r == 0)
		*ret_config = config;
	return r;
}
