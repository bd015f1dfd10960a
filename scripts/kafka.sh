#!/usr/bin/env bash
# Runs Apache Kafka in KRaft mode on loopback: one process that is broker and
# controller. DATA is its folder (./data-kafka), PORT its port (9092), the next one
# the controller's.
set -euo pipefail
cd "$(dirname "$0")/.."

jars=$(scripts/fetch-kafka.sh)
data=${DATA:-./data-kafka}
port=${PORT:-9092}
mkdir -p "$data"
data=$(cd "$data" && pwd)

cat >"$data/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs=$data/log
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
PROPERTIES

run() { java -Xms128m -Xmx512m -cp "$jars/*" "$@"; }
if [ ! -s "$data/log/meta.properties" ]; then
	run kafka.tools.StorageTool format --cluster-id "$(head -c 16 /dev/urandom | base64 | tr '+/' '-_' | cut -c1-22)" --config "$data/server.properties" >&2
fi
echo "Apache Kafka on 127.0.0.1:$port, data in $data" >&2
exec java -Xms128m -Xmx512m -cp "$jars/*" kafka.Kafka "$data/server.properties"
