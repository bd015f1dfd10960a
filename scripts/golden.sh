#!/usr/bin/env bash
# Rewrites the golden files: it runs every test package that has an -update flag with that flag. Read the difference
# before you commit it.
set -euo pipefail

go=${GO:-go}
packages=()
while IFS= read -r dir; do
	packages+=("./$dir")
done < <(git grep -l --untracked 'flag.Bool("update"' -- '*_test.go' | xargs -r -n 1 dirname | sort -u)

[ "${#packages[@]}" -gt 0 ] || { echo "golden: no package has an -update flag" >&2; exit 1; }
echo "golden: ${packages[*]}"
"$go" test -count=1 "${packages[@]}" -update
