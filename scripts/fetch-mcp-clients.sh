#!/bin/sh
# Downloads the published clients of the Model Context Protocol for `make sdk`, once, into the cache folder. After that
# it does nothing and needs no network. The versions and checksums are in cmd/svc/testdata/mcp/package-lock.json. Each
# different lock file gets a separate folder.
#
# SVC_CACHE_DIR names the cache folder. The default is svc in the user's cache.
set -eu

fail() {
	echo "fetch-mcp-clients: $1" >&2
	exit 1
}

cache_folder() {
	if [ -n "${SVC_CACHE_DIR:-}" ]; then
		echo "$SVC_CACHE_DIR"
	elif [ "$(uname -s)" = Darwin ]; then
		echo "${HOME:?fetch-mcp-clients: set HOME or SVC_CACHE_DIR}/Library/Caches/svc"
	else
		echo "${XDG_CACHE_HOME:-${HOME:?fetch-mcp-clients: set HOME or SVC_CACHE_DIR}/.cache}/svc"
	fi
}

checksum() {
	if command -v sha256sum >/dev/null 2>&1; then
		sha256sum "$1" | cut -c 1-16
	else
		shasum -a 256 "$1" | cut -c 1-16
	fi
}

source="$(dirname "$0")/../cmd/svc/testdata/mcp"
target="$(cache_folder)/mcp-clients/$(checksum "$source/package-lock.json")"
[ -d "$target/node_modules" ] && exit 0
command -v npm >/dev/null 2>&1 || fail "npm is needed to fetch the clients; install Node.js"
mkdir -p "$target" || fail "cannot create $target; let SVC_CACHE_DIR name a folder that can be written to"

# The work is done in a folder inside the target, so that the packages can be moved to their place in one step.
work="$(mktemp -d "$target/.fetch.XXXXXX")" || fail "cannot write to $target"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cp "$source/package.json" "$source/package-lock.json" "$work/"
npm ci --prefix "$work" --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null ||
	fail "npm could not fetch the clients; see its message above, check the network and the npm configuration"
mv "$work/node_modules" "$target/node_modules" 2>/dev/null || [ -d "$target/node_modules" ] || fail "cannot move the clients into $target"
echo "fetch-mcp-clients: the clients are in $target" >&2
