#!/usr/bin/env bash
# Downloads Apache Kafka from Maven Central with the machine's Maven, once, into the cache folder. It checks the files
# against the recorded checksums and prints the folder.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${SVC_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/svc}
folder=$cache/kafka-4.1.0
sums=$PWD/deploy/kafka/jars.sha256

check() { (cd "$folder" && sha256sum --quiet --check "$sums" >&2); }

if [ -d "$folder" ] && check; then
	echo "$folder"
	exit 0
fi
for tool in java mvn; do
	command -v "$tool" >/dev/null || { echo "$tool is needed to fetch and run Apache Kafka (JDK 17 or later, Maven)" >&2; exit 1; }
done
echo "fetching Apache Kafka into $folder" >&2
rm -rf "$folder"
mkdir -p "$folder"
mvn -q -B -f deploy/kafka/pom.xml dependency:copy-dependencies -DoutputDirectory="$folder" >&2
check
echo "$folder"
