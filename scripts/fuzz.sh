#!/usr/bin/env bash
# Runs every fuzz target of the given packages for a fixed number of inputs.
#
#   scripts/fuzz.sh 200000x ./...
#
# The limit is a number of inputs, not a time. With -fuzztime 30s the go command may end with "context deadline
# exceeded" although nothing failed.
set -euo pipefail

count=$1
shift
go=${GO:-go}
failed=0
found=0

for package in $("$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "$@"); do
	dir=$("$go" list -f '{{.Dir}}' "$package")
	targets=$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$dir"/*_test.go | sort)
	for target in $targets; do
		found=$((found + 1))
		echo "== $package $target"
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$count" -fuzzminimizetime 10x "$package" || failed=$((failed + 1))
	done
done

echo "fuzz: $found targets, $failed failed"
[ "$found" -gt 0 ] && [ "$failed" -eq 0 ]
