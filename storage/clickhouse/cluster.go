package clickhouse

import (
	"regexp"
	"strings"
)

// With a cluster every shard is a group of replicas. Definitions go to all of them, and the servers replicate the
// tables. An insert is acknowledged once most replicas have it, and a read finds every acknowledged insert. Engines
// have their default path in Keeper, which is derived from the table's UUID.

// definitions converts the statements of migrations into statements for the replicas of a cluster.
type definitions struct {
	cluster              string
	name, engine, window *regexp.Regexp
}

// newDefinitions returns nil without a cluster: statements then stay unchanged.
func newDefinitions(cluster string) *definitions {
	if cluster == "" {
		return nil
	}
	return &definitions{
		cluster: cluster,
		name:    regexp.MustCompile(`(?m)^((?:CREATE|ALTER|DROP)(?: OR REPLACE)?(?: MATERIALIZED)? (?:TABLE|VIEW|DATABASE)(?: IF (?:NOT )?EXISTS)?) (\{\w+:Identifier\}|\w+)`),
		engine:  regexp.MustCompile(`(?m)^(\s*ENGINE = )(\w*MergeTree)\b`),
		window:  regexp.MustCompile(`\bnon_replicated_deduplication_window = (\d+)`),
	}
}

// of returns a statement for the replicas. A statement that defines nothing stays unchanged, because the servers
// replicate its effect. A deduplication token is remembered for a week, in addition to the limit on their number. No
// block is repeated for that long.
func (d *definitions) of(statement string) string {
	if d == nil {
		return statement
	}
	statement = d.name.ReplaceAllString(statement, "$1 $2 ON CLUSTER '"+d.cluster+"'")
	statement = d.engine.ReplaceAllString(statement, "${1}Replicated$2")
	return d.window.ReplaceAllString(statement, "replicated_deduplication_window = $1, replicated_deduplication_window_seconds = 604800")
}

// replicaSettings returns the settings of every connection to replicas. Inserts into one table wait for each other.
// Only then can a read know which rows most replicas have.
func replicaSettings() Settings {
	return Settings{"insert_quorum": "auto", "insert_quorum_parallel": 0, "select_sequential_consistency": 1}
}

// ValidCluster reports whether a word is a valid name of a cluster.
func ValidCluster(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	return name != "" && len(name) <= 100 && strings.Trim(name, letters) == ""
}
