package main

import (
	"context"
	"strings"

	"svc/cluster"
	"svc/storage/kafka"
	statelog "svc/storage/kafka/state"
	"svc/storage/owned"
)

// openStateLog opens the log of what actors own.
func (n *node) openStateLog(ctx context.Context, brokers []string, dial kafka.DialFunc) (err error) {
	n.stateLog, err = statelog.Open(statelog.Config{
		Brokers: brokers, Dial: dial, Topic: stateTopic, Partitions: n.config.Partitions, Name: n.nodeAddr(), Logger: n.logger,
	})
	if err != nil {
		return err
	}
	n.owned = owned.New(owned.Config{
		Log: n.stateLog, Partitions: n.config.Partitions, PartitionOf: n.partitionOf, Changed: n.heard, Gap: n.missed, Logger: n.logger,
	})
	return n.stateLog.Ensure(ctx)
}

// followState begins to follow the log of what actors own.
func (n *node) followState(ctx context.Context) error { return n.owned.Begin(ctx, n.db.StateStore) }

// closeState moves what was saved last to the store and ends the log.
func (n *node) closeState() error {
	n.owned.Close()
	n.stateLog.Close()
	return nil
}

// partitionOf returns the partition in which an owner's actor lives.
func (n *node) partitionOf(owner string) int {
	kind, identity, _ := strings.Cut(owner, "/")
	return n.cluster.PartitionOf(kind, identity)
}

// newClaims returns what claims the partitions that the coordinator gives to this node.
func (n *node) newClaims() *cluster.Claims {
	return cluster.NewClaims(cluster.ClaimsConfig{
		Take:  func(ctx context.Context, partition int) (cluster.Claim, error) { return n.owned.Take(ctx, partition) },
		Evict: n.cluster.Evict, Vacated: n.cluster.Vacated, Confirm: n.fence, Logger: n.logger,
	})
}

// awaitClaim returns once this node may write what an owner's partition holds.
func (n *node) awaitClaim(ctx context.Context, owner string) error {
	return n.claims.Await(ctx, n.partitionOf(owner))
}
