/* The commands, and their help. */
#include <string.h>

#include "cli/cli.h"
#include "cli/words.h"

static const struct opt no_options[] = {{NULL, 0, NULL, NULL, WORDS_NONE}};

const struct command commands[] = {
	{"record", "TARGET [-d TIME] [-o FILE] [-- COMMAND...]",
		"profile for a while, or a command, and save it",
		"The end of the file's name chooses the format. Ctrl-C ends the recording early, "
		"and\n"
		"what there is is saved. A command is profiled from its first instruction, to its\n"
		"end; its exit status is that of record. Where no daemon answers, one of our own "
		"is\n"
		"started for this recording alone.\n"
		"\n"
		"  profilectl record --pid 4242 -d 10 -o fg.svg\n"
		"  profilectl record -F 999 -o build.pb.gz -- make -j8\n",
		{target_options, record_options}, WORDS_COMMAND, cmd_record},
	{"start", "TARGET [OPTION...]", "start a session and return",
		"It samples until it is stopped, or for the time that -d gives.\n"
		"\n"
		"  profilectl start --unit nginx.service -F 199 --name before\n",
		{target_options}, WORDS_NONE, cmd_start},
	{"stop", "ID...", "stop sessions; their profiles stay", "", {no_options}, WORDS_SESSION,
		cmd_stop},
	{"list", "", "the sessions", "", {no_options}, WORDS_NONE, cmd_list},
	{"show", "ID", "one session and its ledger", "", {no_options}, WORDS_SESSION, cmd_show},
	{"dump", "ID [-f FORMAT] [-o FILE]", "a profile in one of the formats",
		"Of a running session as well.\n"
		"\n"
		"  profilectl dump 3 -f folded --last 5 | sort -rn -k2 | head\n",
		{dump_options, view_options}, WORDS_SESSION, cmd_dump},
	{"report", "PERF.DATA [-o FILE]", "a recording of perf, or folded stacks, as a profile",
		"  perf record -g -o - -- ./program | profilectl report - -o fg.svg\n",
		{dump_options, view_options, report_options}, WORDS_FILE, cmd_report},
	{"top", "[ID | TARGET]", "the functions that use most, live",
		"On a terminal it fills the screen: q quits, s changes the order, p pauses, / "
		"filters,\n"
		"arrows scroll. Elsewhere a table is printed each time, --count of them. Without "
		"a\n"
		"session or target it is of the whole machine.\n"
		"\n"
		"  profilectl top --command nginx\n"
		"  profilectl top 3 --count 1 -n 5\n",
		{top_options, target_options}, WORDS_SESSION, cmd_top},
	{"flame", "ID", "the flame graph, in the browser or in the terminal",
		"Where there is a graphical session the page is opened, elsewhere it is drawn as "
		"wide\n"
		"as the terminal, with 256 colours unless NO_COLOR is set.\n"
		"\n"
		"  profilectl flame 3 --terminal --icicle\n",
		{flame_options, view_options}, WORDS_SESSION, cmd_flame},
	{"diff", "A B", "what two profiles differ in, function by function",
		"A and B are sessions, or files that dump -f json has written. A change that "
		"chance\n"
		"hardly explains has a *, others are grey.\n"
		"\n"
		"  profilectl diff 3 4 --significant\n"
		"  profilectl diff before.json 4 -s total\n"
		"  profilectl diff 3 4 -o changes.svg\n",
		{diff_options, view_options}, WORDS_SESSION, cmd_diff},
	{"export", "ID [FORMAT...]", "a profile in all formats, as files",
		"  profilectl export 3 -o ticket-4711\n"
		"  profilectl export 3 svg pprof --last 10\n",
		{export_options, view_options}, WORDS_SESSION, cmd_export},
	{"watch", "ID", "how a session goes on, and what changes in it",
		"Each look is of the time since the one before; Change is that of Self.\n"
		"\n"
		"  profilectl watch 3 -i 5s\n",
		{watch_options}, WORDS_SESSION, cmd_watch},
	{"targets", "[TEXT]", "what could be profiled, by CPU use", "", {no_options},
		WORDS_PROCESS_NAME, cmd_targets},
	{"perfmap", "PID", "have a Java process write the names of its code", "", {no_options},
		WORDS_PID, cmd_perfmap},
	{"status", "", "what the daemon can do here, and what is missing", "", {no_options},
		WORDS_NONE, cmd_status},
	{"open", "[ID]", "the page in the browser", "", {no_options}, WORDS_SESSION, cmd_open},
	{"rename", "ID NAME", "give a session another name", "", {no_options}, WORDS_SESSION,
		cmd_rename},
	{"delete", "ID...", "stop and forget sessions", "", {no_options}, WORDS_SESSION,
		cmd_delete},
	{"help", "[COMMAND]", "this list, or all about one command", "", {no_options},
		WORDS_COMMAND, cmd_help},
	{"complete", "-- WORD...", "", "For the completion of shells.\n", {no_options}, WORDS_NONE,
		cmd_complete},
	{NULL, NULL, NULL, NULL, {NULL}, WORDS_NONE, NULL},
};

const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}
