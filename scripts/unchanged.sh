#!/usr/bin/env bash
# Runs a command and fails if the command changed a file of the source tree.
#
#   scripts/unchanged.sh make gen
#
# It compares the tree before and after the command, so uncommitted changes cause no failure.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

snapshot() {
	git ls-files -z --cached --others --exclude-standard |
		while IFS= read -r -d '' file; do [ -f "$file" ] && cksum "$file"; done | sort
}

snapshot >"$work/before"
"$@"
snapshot >"$work/after"

if ! diff "$work/before" "$work/after" >"$work/diff"; then
	echo "unchanged: \`$*\` changed these files; commit them with the change that caused it:" >&2
	sed -n 's/^[<>] [0-9]* [0-9]* /  /p' "$work/diff" | sort -u >&2
	exit 1
fi
