#!/bin/sh
# Downloads the country database into the cache folder, once. After that it does nothing and needs no network.
#
# The database is the npm package @ip-location-db/geo-whois-asn-country-mmdb (CC0). It is built from data of the Number
# Resource Organization, nro.net; the licence notice of that data is stored in the same folder. storage/geo/find.go
# looks for the same version. To change the version, change it here and there, together with the checksum.
#
# SVC_CACHE_DIR names the cache folder. The default is svc in the user's cache.
set -eu

name=@ip-location-db/geo-whois-asn-country-mmdb
version=2.3.2026061719
sha512=c5e9810cd425e260980ee55ba9ede32862ac543ca464691fbde6e1b4e87fdd518b69dabcbeca7bb7ba27b69314b77847eec0064f478b0f227df5257ed306b166
file=geo-whois-asn-country.mmdb

fail() {
	echo "fetch-geo: $1" >&2
	exit 1
}

cache_folder() {
	if [ -n "${SVC_CACHE_DIR:-}" ]; then
		echo "$SVC_CACHE_DIR"
	elif [ "$(uname -s)" = Darwin ]; then
		echo "${HOME:?fetch-geo: set HOME or SVC_CACHE_DIR}/Library/Caches/svc"
	else
		echo "${XDG_CACHE_HOME:-${HOME:?fetch-geo: set HOME or SVC_CACHE_DIR}/.cache}/svc"
	fi
}

checksum() {
	if command -v sha512sum >/dev/null 2>&1; then
		sha512sum "$1" | cut -d ' ' -f 1
	else
		shasum -a 512 "$1" | cut -d ' ' -f 1
	fi
}

target="$(cache_folder)/geo/$version"
if [ -s "$target/$file" ]; then
	exit 0
fi
command -v npm >/dev/null 2>&1 ||
	fail "npm is needed to fetch the country database; install Node.js, or copy $file into $target"
mkdir -p "$target" || fail "cannot create $target; let SVC_CACHE_DIR name a folder that can be written to"

# The work is done in a folder inside the target, so that a file can be moved to its place in one step.
work="$(mktemp -d "$target/.fetch.XXXXXX")" || fail "cannot write to $target"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

(cd "$work" && npm pack --loglevel=error --ignore-scripts "$name@$version" >/dev/null) ||
	fail "npm could not fetch $name@$version; see its message above, check the network and the npm configuration"
set -- "$work"/*.tgz
[ -f "$1" ] || fail "npm wrote no archive of $name@$version"
found="$(checksum "$1")"
[ "$found" = "$sha512" ] ||
	fail "the archive of $name@$version has checksum $found instead of $sha512; nothing was installed"
tar -xzf "$1" -C "$work" package || fail "cannot unpack the archive of $name@$version; is the disk full?"
mv -f "$work/package/NRO_LICENSE" "$work/package/README.md" "$target/"
mv -f "$work/package/$file" "$target/$file"
echo "fetch-geo: country database $version is in $target" >&2
