#!/usr/bin/env python3
"""Counts a web server's log without any code of this project.

    scripts/recount_access_log.py access.log.gz > cmd/svc/accesslog/testdata/whole.json

The tests compare these numbers with what `svc import access-log` counts. The
rules are those of docs/importing.md: a GET answered 200 or 304 whose path has no
static extension is a page view, every other line is skipped, and a line that is
not in the combined format is malformed.
"""

import collections
import datetime
import gzip
import hashlib
import json
import re
import sys

COMBINED = re.compile(
    r'^(\S+) .*? ?\[(\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] '
    r'"((?:[^"\\]|\\.)*)" (\d{3}) (\d+|-) '
    r'"((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"(?: .*)?$'
)
STATIC = (
    ".png .jpg .jpeg .gif .ico .svg .webp .css .js .map .woff .woff2 .ttf .eot .mp4 .webm .pdf "
    ".zip .gz .tar .tgz .rpm .deb .jar .exe .dmg .xml .txt .json .rss .atom"
).split()


def recount(name):
    opened = gzip.open(name, "rb") if name.endswith(".gz") else open(name, "rb")
    counts = dict(lines=0, sent=0, skipped=0, malformed=0)
    visitors, paths, days, referrers = set(), collections.Counter(), collections.Counter(), collections.Counter()
    visitor_sum = 0
    last = None
    with opened as log:
        for raw in log:
            counts["lines"] += 1
            match = COMBINED.match(raw.decode("utf-8", "surrogateescape").rstrip("\n"))
            if not match:
                counts["malformed"] += 1
                continue
            address, stamp, request, status, _, referrer, agent = match.groups()
            at = datetime.datetime.strptime(stamp, "%d/%b/%Y:%H:%M:%S %z").astimezone(datetime.timezone.utc)
            last = at
            words = request.split(" ")
            path = words[1].split("?")[0] if len(words) > 1 else ""
            if words[0] != "GET" or status not in ("200", "304") or path.endswith(tuple(STATIC)):
                counts["skipped"] += 1
                continue
            counts["sent"] += 1
            digest = hashlib.sha256((address + "\n" + agent).encode("utf-8", "surrogateescape")).hexdigest()[:16]
            visitors.add(digest)
            visitor_sum = (visitor_sum + int(digest, 16)) % 2**64
            paths[path] += 1
            days[at.strftime("%Y-%m-%d")] += 1
            if referrer != "-":
                referrers[referrer] += 1
    return counts | {
        "visitors": len(visitors),
        "visitorSum": "%016x" % visitor_sum,
        "paths": len(paths),
        "topPaths": dict(sorted(paths.items(), key=lambda item: (-item[1], item[0]))[:10]),
        "days": dict(sorted(days.items())),
        "withReferrer": sum(referrers.values()),
        "lastLine": last.strftime("%Y-%m-%dT%H:%M:%SZ") if last else None,
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(recount(sys.argv[1]), sys.stdout, indent=2, sort_keys=True)
    print()
