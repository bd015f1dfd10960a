#!/usr/bin/env bash
# Starts Apache Kafka with an empty folder and runs the contract suite of the log and
# the cluster test on it. Arguments go to the cluster test.
set -euo pipefail
cd "$(dirname "$0")/.."

port=${PORT:-39092}
work=$(mktemp -d)
DATA=$work PORT=$port scripts/kafka.sh >"$work/kafka.log" 2>&1 &
kafka=$!
trap 'kill "$kafka" 2>/dev/null; wait "$kafka" 2>/dev/null || true; rm -rf "$work"' EXIT

for _ in $(seq 600); do
	if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
	kill -0 "$kafka" 2>/dev/null || { cat "$work/kafka.log" >&2; exit 1; }
	sleep 0.2
done
SVC_TEST_KAFKA=127.0.0.1:$port "${GO:-go}" test -count=1 -run 'TestContractKafka' ./storage/kafka ./storage/kafka/state
"${GO:-go}" run ./bench/cluster -kafka "127.0.0.1:$port" "$@"
