package clickhouse

import (
	"regexp"
	"strings"
)

// With a cluster every shard is a group of replicas: definitions go to all of them, tables are replicated by the
// servers, an insert is acknowledged once most replicas have it, and a read finds every insert that was
// acknowledged. Engines have their default path in Keeper, which is made of the table's own id.

// definitions makes of the statements of migrations what the replicas of a cluster take.
type definitions struct {
	cluster              string
	name, engine, window *regexp.Regexp
}

// newDefinitions returns nil without a cluster: statements stay as they are.
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

// of returns a statement for the replicas. One that defines nothing stays as it is: the servers replicate what it does.
// A token is known for a week, longer than any block is repeated, beside the number of tokens.
func (d *definitions) of(statement string) string {
	if d == nil {
		return statement
	}
	statement = d.name.ReplaceAllString(statement, "$1 $2 ON CLUSTER '"+d.cluster+"'")
	statement = d.engine.ReplaceAllString(statement, "${1}Replicated$2")
	return d.window.ReplaceAllString(statement, "replicated_deduplication_window = $1, replicated_deduplication_window_seconds = 604800")
}

// replicaSettings are the settings of every connection to replicas. Inserts into one table wait for each other, since
// only then a read can know what most replicas have.
func replicaSettings() Settings {
	return Settings{"insert_quorum": "auto", "insert_quorum_parallel": 0, "select_sequential_consistency": 1}
}

// ValidCluster reports whether a word can be the name of a cluster.
func ValidCluster(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	return name != "" && len(name) <= 100 && strings.Trim(name, letters) == ""
}
