# What the integration tests in shell share: a daemon of their own, requests to it, targets, and reports.
# For bash, by:  . "$(dirname "$0")/lib.sh"
#
# A test says ok NAME, not_ok NAME REASON or skip NAME REASON for each thing that it checked, and ends
# with finish. Whatever it started is ended with it. Shares and chains are percents of samples.

set -u
SOURCE=${PROFILED_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
BUILD=${PROFILED_BUILD:-$SOURCE/build}
TMP=${TEST_TMP:-$(mktemp -d "${TMPDIR:-/tmp}/profiled-test.XXXXXX")}
TARGETS=$TMP/targets
PYTHON=/usr/bin/python3
[ -x "$PYTHON" ] || PYTHON=python3
LC_ALL=C
export LC_ALL

children=()
passed=0 failed=0
daemon= socket= log= PID= SESSION=

# ---- reports ----

ok()
{
	passed=$((passed + 1))
	echo "ok $1"
}

not_ok()
{
	failed=$((failed + 1))
	echo "not ok $*" | tr '\n' ' '
	echo
}

skip()
{
	echo "skip $*"
}

# check NAME COMMAND...: the command succeeds.
check()
{
	local name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name" "failed: $*"; fi
}

# check_that NAME VALUE TEST NUMBER, as: check_that main_is_there "$(share_of main)" '>=' 95
check_that()
{
	if awk -v a="$2" -v b="$4" "BEGIN { exit !(a != \"\" && a + 0 $3 b + 0) }"; then
		ok "$1"
	else
		not_ok "$1" "is ${2:-nothing}, not $3 $4"
	fi
}

# check_near NAME VALUE WANTED MARGIN
check_near()
{
	if awk -v a="$2" -v b="$3" -v m="$4" 'BEGIN { d = a - b; exit !(a != "" && d <= m && d >= -m) }'; then
		ok "$1"
	else
		not_ok "$1" "is ${2:-nothing}, not $3 within $4"
	fi
}

check_equal()
{
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "is '$2', not '$3'"; fi
}

# Ends the test: 77 when nothing could be checked.
finish()
{
	[ "$failed" = 0 ] || exit 1
	[ "$passed" != 0 ] || exit 77
	exit 0
}

# ---- processes ----

# spawn COMMAND...: in the background, with its pid in PID.
spawn()
{
	"$@" </dev/null >/dev/null 2>>"$TMP/targets.log" &
	PID=$!
	children+=("$PID")
}

# end PID...: kills and waits.
end()
{
	local pid
	for pid; do
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
}

cleanup()
{
	[ -z "$daemon" ] || stop_daemon
	[ ${#children[@]} = 0 ] || end "${children[@]}"
	[ -n "${TEST_TMP:-}" ] || rm -rf "$TMP"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# wait_for SECONDS COMMAND...: until it succeeds, else 1.
wait_for()
{
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.1
	done
}

# cpu_of PID: the CPU seconds that it has used. The name may hold anything: parse behind it.
cpu_of()
{
	local stat
	{ read -r -d '' stat <"/proc/$1/stat"; } 2>/dev/null
	set -- ${stat##*)}
	awk -v t="$((${12:-0} + ${13:-0}))" -v hz="$(getconf CLK_TCK)" 'BEGIN { print t / hz }'
}

# need_targets NAME...: builds them; says what is skipped. Ends the test when one does not build.
need_targets()
{
	if ! "$SOURCE/tests/targets/build" "$TARGETS" "$@"; then
		not_ok targets "do not build"
		finish
	fi
}

has_target()
{
	[ -e "$TARGETS/$1" ]
}

# ---- the daemon ----

# start_daemon [ARGUMENT...]: a fresh one, without TCP unless told otherwise, and waits until it is ready.
# LAUNCH may hold a command to start it with. Sessions get the rate that they ask for, whatever that costs.
start_daemon()
{
	local folder path
	folder=$(mktemp -d "$TMP/daemon.XXXXXX")
	# The engine's user must be able to reach its folders.
	path=$folder
	while [ "$path" != / ]; do
		[ ! -O "$path" ] || chmod go+x "$path"
		path=$(dirname "$path")
	done
	log=$folder/log
	socket=$folder/run/profiled.sock
	${LAUNCH:-} "$BUILD/profiled" --runtime-dir "$folder/run" --state-dir "$folder/state" --listen off \
		--set sessions.cpu_percent=100 "$@" </dev/null >/dev/null 2>"$log" &
	daemon=$!
	wait_for 60 is_ready_or_gone
	if ! is_ready; then
		sed 's/^/# /' "$log"
		not_ok daemon_starts "$(tail -n 1 "$log")"
		finish
	fi
}

is_ready()
{
	[ "$(status GET /readyz)" = 200 ]
}

is_ready_or_gone()
{
	! kill -0 "$daemon" 2>/dev/null || is_ready
}

stop_daemon()
{
	kill -TERM "$daemon" 2>/dev/null
	wait "$daemon" 2>/dev/null
	daemon=
}

# alive: answers within a second.
alive()
{
	[ "$(curl -s -m 1 --unix-socket "$socket" -o /dev/null -w '%{http_code}' http://localhost/healthz)" = 200 ]
}

# api METHOD PATH [JSON]: the answer's body; fails when it is no success.
api()
{
	curl -sS -m 120 --fail-with-body --unix-socket "$socket" -X "$1" \
		${3+-H 'Content-Type: application/json' --data-binary "$3"} "http://localhost$2"
}

# status METHOD PATH [JSON]: the answer's status; its body is in $TMP/body.
status()
{
	curl -s -m 120 --unix-socket "$socket" -X "$1" -o "$TMP/body" -w '%{http_code}' \
		${3+-H 'Content-Type: application/json' --data-binary "$3"} "http://localhost$2"
}

# json PATH: a value out of the JSON on standard input, as: json ledger.unwind_ends.root
json()
{
	"$PYTHON" -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split(".") if sys.argv[1] else []:
    value = value[int(key)] if isinstance(value, list) else value[key]
print(value if isinstance(value, str) else json.dumps(value))' "$1"
}

# ---- sessions ----

# start_session JSON: its id in SESSION.
start_session()
{
	local answer
	if ! answer=$(api POST /v1/sessions "$1"); then
		not_ok start_session "$answer"
		finish
	fi
	SESSION=$(json id <<<"$answer")
}

# stop_session [ID]
stop_session()
{
	api POST "/v1/sessions/${1:-$SESSION}/stop" >/dev/null
}

# session PATH [ID]: a value of it, as: session ledger.samples
session()
{
	api GET "/v1/sessions/${2:-$SESSION}" | json "$1"
}

has_samples()
{
	[ "$(session ledger.samples)" -ge "$1" ]
}

has_ended()
{
	[ "$(session state)" != running ]
}

# profile FORMAT [QUERY] [ID]: a dump on standard output.
profile()
{
	api GET "/v1/sessions/${3:-$SESSION}/profile?format=$1${2:+&$2}"
}

# sample PID SECONDS [MEMBERS]: a session on PID for so long, dumped into $FOLDED; MEMBERS are further
# members of the request, as '"frequency_hz": 997'.
FOLDED=$TMP/folded
sample()
{
	start_session "{\"pid\": $1, \"duration_s\": $2${3:+, $3}}"
	wait_for $(($2 + 60)) has_ended
	dump
}

# fewer COUNT: how many samples, or whatever else takes time: a sanitizer looks for errors of memory and threads, for
# which a third of them is enough.
fewer()
{
	if [ -n "${PROFILED_SANITIZED:-}" ]; then echo $((($1 + 2) / 3)); else echo "$1"; fi
}

# sample_many PID COUNT FREQUENCY: until so many samples have come, however busy the machine is.
sample_many()
{
	set -- "$1" "$(fewer "$2")" "$3"
	start_session "{\"pid\": $1, \"frequency_hz\": $3}"
	wait_for 90 has_samples "$2"
	stop_session
	dump
}

# dump [QUERY]: the session's folded stacks into $FOLDED.
dump()
{
	profile folded "${1:-}" >"$FOLDED"
}

# ---- folded stacks: in $FOLDED, or in a file named last ----

total_of()
{
	awk '{ n += $NF } END { print n + 0 }' "${1:-$FOLDED}"
}

# share_of FRAME [FILE]: percent of the samples that have it, once or more.
share_of()
{
	chain_share "$1" "${2:-$FOLDED}"
}

# chain_share 'a;b;c' [FILE]: percent of the samples that have these frames next to each other, root first.
chain_share()
{
	CHAIN=$1 awk '
		{ n = $NF; line = $0; sub(/ [0-9]+$/, "", line); all += n }
		index(";" line ";", ";" ENVIRON["CHAIN"] ";") { some += n }
		END { printf "%.2f\n", all ? 100 * some / all : 0 }' "${2:-$FOLDED}"
}

# leaf_share FRAME [FILE]: percent of the samples taken in it itself.
leaf_share()
{
	CHAIN=$1 awk '
		{ n = $NF; line = $0; sub(/ [0-9]+$/, "", line); all += n; sub(/.*;/, "", line) }
		line == ENVIRON["CHAIN"] { some += n }
		END { printf "%.2f\n", all ? 100 * some / all : 0 }' "${2:-$FOLDED}"
}

# match_share REGEX [FILE]: percent of the samples whose stack matches an extended regular expression;
# frames have a ";" on both sides.
match_share()
{
	PATTERN=$1 awk '
		{ n = $NF; line = $0; sub(/ [0-9]+$/, "", line); all += n }
		(";" line ";") ~ ENVIRON["PATTERN"] { some += n }
		END { printf "%.2f\n", all ? 100 * some / all : 0 }' "${2:-$FOLDED}"
}
