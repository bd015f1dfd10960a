#!/bin/sh
# Puts the ClickHouse engine library (libchdb) into the cache folder.
#
# The folder is ${SVC_CACHE_DIR:-<user cache>/svc}/chdb/<version>, the place where
# chdb.FindLibrary looks. The library is taken from the engine's npm package, whose
# tarball must have the recorded checksum. When the library is already there, the
# script does nothing and needs no network.
set -eu

# The version is the one in storage/chdb/library.go.
version=26.7.3-stable.1

say() { printf 'chdb: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# checksum PACKAGE prints the recorded SHA-512 of the package's tarball, in hex.
# A platform without a record is fetched only when SVC_CHDB_SHA512 states one.
checksum() {
    case "$1" in
    lib-linux-x64-gnu) echo 5cff7b98caa7739b59a4a432c11f0dedc2d3b073624e61ebdf4a42e66ce8de35a6ba48ca9f62016bad1cd81fe059435cb858ce3235a8a2b408082a81563e70a7 ;;
    *) echo "${SVC_CHDB_SHA512:-}" ;;
    esac
}

platform() {
    case "$(uname -s)/$(uname -m)" in
    Linux/x86_64) echo lib-linux-x64-gnu ;;
    Linux/aarch64 | Linux/arm64) echo lib-linux-arm64-gnu ;;
    Darwin/arm64) echo lib-darwin-arm64 ;;
    Darwin/x86_64) echo lib-darwin-x64 ;;
    *) fail "no library is published for $(uname -s) $(uname -m); build libchdb yourself and name it in SVC_CHDB_LIB" ;;
    esac
}

cache_dir() {
    if [ -n "${SVC_CACHE_DIR:-}" ]; then
        echo "$SVC_CACHE_DIR"
    elif [ "$(uname -s)" = Darwin ]; then
        echo "$HOME/Library/Caches/svc"
    else
        echo "${XDG_CACHE_HOME:-$HOME/.cache}/svc"
    fi
}

sha512() {
    if command -v sha512sum >/dev/null 2>&1; then
        sha512sum "$1" | cut -d' ' -f1
    else
        shasum -a 512 "$1" | cut -d' ' -f1
    fi
}

package=$(platform)
target="$(cache_dir)/chdb/$version"
if [ -f "$target/libchdb.so" ]; then
    say "$version is present in $target"
    exit 0
fi

want=$(checksum "$package")
[ -n "$want" ] || fail "no checksum is recorded for @chdb/$package@$version; state the tarball's SHA-512 in SVC_CHDB_SHA512 to accept it"
command -v npm >/dev/null 2>&1 || fail "npm is needed to fetch @chdb/$package@$version; install Node.js, or name an existing libchdb.so in SVC_CHDB_LIB"

mkdir -p "$(dirname "$target")"
work=$(mktemp -d "$(dirname "$target")/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

say "fetching @chdb/$package@$version (178 MB)"
(cd "$work" && npm pack --silent "@chdb/$package@$version" >/dev/null) ||
    fail "npm could not fetch @chdb/$package@$version; check the network and the npm configuration (npm ping), then run the script again"
tarball=$(find "$work" -name '*.tgz')
[ -f "$tarball" ] || fail "npm pack left no tarball for @chdb/$package@$version"

say "checking the checksum"
got=$(sha512 "$tarball")
[ "$got" = "$want" ] || fail "the tarball of @chdb/$package@$version has SHA-512 $got, recorded is $want; nothing was installed"

say "unpacking (566 MB)"
mkdir "$work/unpacked"
members=$(tar -tzf "$tarball" | grep -E '^package/(libchdb\.so|LICENSE.*)$') || true
case "$members" in
*package/libchdb.so*) ;;
*) fail "the tarball of @chdb/$package@$version holds no libchdb.so" ;;
esac
# The member names hold no spaces, so they are split into arguments on purpose.
# shellcheck disable=SC2086
tar -xzf "$tarball" -C "$work/unpacked" $members

# A concurrent run may have finished first; its folder has the same content.
if ! mv -T "$work/unpacked/package" "$target" 2>/dev/null; then
    [ -f "$target/libchdb.so" ] || mv "$work/unpacked/package" "$target"
fi
say "installed $target/libchdb.so"
