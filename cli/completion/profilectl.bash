# bash completion for profilectl, which itself knows what may stand where.

_profilectl()
{
	local IFS=$'\n' line words=("${COMP_WORDS[@]:1:COMP_CWORD}")
	COMPREPLY=()
	while read -r line; do
		case $line in
		:file) compopt -o filenames; COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")) ;;
		:folder) compopt -o filenames; COMPREPLY+=($(compgen -d -- "${COMP_WORDS[COMP_CWORD]}")) ;;
		:command) COMPREPLY+=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")) ;;
		*) COMPREPLY+=("$(printf %q "${line%%$'\t'*}")") ;;
		esac
	done < <("${COMP_WORDS[0]}" complete -- "${words[@]}" 2>/dev/null)
}
complete -F _profilectl profilectl
