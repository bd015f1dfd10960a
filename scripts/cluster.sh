#!/usr/bin/env bash
# Starts three nodes on this machine that share one log and one store. These are the embedded log and store of the first
# node, served on loopback. With SVC_KAFKA_BROKERS and SVC_CLICKHOUSE_DSN, the nodes use the given log and store
# instead. Ctrl-C stops the nodes. The data stays in DATA (./data-cluster).
set -euo pipefail
cd "$(dirname "$0")/.."

data=${DATA:-./data-cluster}
nodes=${NODES:-3}
http=${HTTP_PORT:-8080} admin=${ADMIN_PORT:-9080} peer=${PEER_PORT:-7070}
kafka=127.0.0.1:${KAFKA_PORT:-19092} store=127.0.0.1:${STORE_PORT:-18123}
mkdir -p "$data"

# The secrets are created once and stored in the data folder.
secret() {
	[ -s "$data/$1" ] || (umask 077 && head -c 24 /dev/urandom | base64 >"$data/$1")
	cat "$data/$1"
}
SVC_CLUSTER_SECRET=$(secret cluster.secret) SVC_MASTER_KEY=$(secret master.key)
export SVC_CLUSTER_SECRET SVC_MASTER_KEY

pids=()
stop() {
	trap '' INT TERM
	# Stop the last node first, because the first node serves the log and the store to the others.
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
		kill -TERM "${pids[i]}" 2>/dev/null && wait "${pids[i]}" 2>/dev/null || true
	done
}
trap 'stop; exit 0' INT TERM
trap stop EXIT

ready() {
	for _ in $(seq 300); do
		if curl -sf -o /dev/null "http://127.0.0.1:$1/readyz"; then return 0; fi
		kill -0 "$2" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

for ((n = 0; n < nodes; n++)); do
	(
		export SVC_HTTP_ADDR=127.0.0.1:$((http + n)) SVC_ADMIN_ADDR=127.0.0.1:$((admin + n)) SVC_NODE_ADDR=127.0.0.1:$((peer + n))
		export SVC_DATA_DIR="$data/node$((n + 1))"
		if [ -z "${SVC_KAFKA_BROKERS:-}" ]; then
			if [ "$n" = 0 ]; then export SVC_KAFKA_LISTEN=$kafka; else export SVC_KAFKA_BROKERS=$kafka; fi
		fi
		if [ -z "${SVC_CLICKHOUSE_DSN:-}" ]; then
			if [ "$n" = 0 ]; then export SVC_CLICKHOUSE_LISTEN=$store; else export SVC_CLICKHOUSE_DSN=http://$store/svc; fi
		fi
		exec bin/svc serve 2>>"$data/node$((n + 1)).log"
	) &
	pids+=($!)
	if ! ready $((admin + n)) "${pids[n]}"; then
		echo "cluster: node $((n + 1)) did not get ready; see $data/node$((n + 1)).log" >&2
		tail -n 5 "$data/node$((n + 1)).log" >&2
		exit 1
	fi
done
echo
for ((n = 0; n < nodes; n++)); do
	echo "node $((n + 1)): http://127.0.0.1:$((http + n))  (operator: http://127.0.0.1:$((admin + n)), log: $data/node$((n + 1)).log)"
done
wait
