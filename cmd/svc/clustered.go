package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"svc"
	"svc/actors/identity"
	"svc/cluster"
	"svc/storage/clickhouse"
	"svc/storage/kafka"
)

// clustered holds what only a node with peers needs; all of it is nil in a node alone.
type clustered struct {
	wire      *cluster.Remote
	directory *kafka.Directory
}

// openWire listens for other nodes. Until the actors are there, the answer to
// their calls is to ask elsewhere.
func (n *node) openWire(context.Context) (err error) {
	if n.config.NodeAddr == "" {
		return nil
	}
	n.clustered.wire, err = cluster.OpenRemote(cluster.RemoteConfig{
		Addr: n.config.NodeAddr, Secret: n.config.ClusterSecret.Reveal(), Logger: n.logger,
	})
	return err
}

// heard takes entities that changed, on whatever node.
func (n *node) heard(entities []svc.Entity) {
	if changes := n.listening.Load(); changes != nil {
		changes.Apply(entities)
	}
}

// maxSnapshotLag is for how long a node may not know the end of the log of state before it
// answers nothing by its snapshots. A node that stood still reaches it before it serves.
const maxSnapshotLag = 2 * time.Second

// current reports whether the snapshots say what is so now. Alone, nobody else changes anything.
func (n *node) current() bool { return n.clustered.wire == nil || n.owned.Lag() <= maxSnapshotLag }

// missed has the snapshots loaded again after changes were missed. Before they are loaded for the first time
// there is nothing to do.
func (n *node) missed() {
	if n.listening.Load() == nil {
		return
	}
	n.grains.Workers.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, clickhouse.QueryTime)
		defer cancel()
		if err := n.loadSnapshots(ctx); err != nil {
			n.logger.Error("loading the snapshots again failed", "error", err)
		}
	})
}

// loadSnapshots loads the snapshots, which hear of changes from before on, so that none is missed.
func (n *node) loadSnapshots(ctx context.Context) error {
	n.listening.Store(n.snapshots)
	return n.snapshots.LoadAll(ctx, n.db)
}

// syncSnapshot has this node's snapshots know a change that another node's actor made.
func (n *node) syncSnapshot(ctx context.Context, kind, identity string) error {
	if n.cluster.Owns(kind, identity) {
		return nil
	}
	return n.owned.Await(ctx)
}

// fence asks the coordinator whether a generation is the present one.
func (n *node) fence(ctx context.Context, generation uint32) error {
	err := n.consumer.Confirm(ctx, int32(generation))
	if errors.Is(err, svc.ErrFenced) {
		return cluster.ErrMoved
	}
	return err
}

// unsettled reports whether a generation may end at any time.
func (n *node) unsettled(generation uint32) bool {
	return n.clustered.wire != nil && !n.consumer.Settled(int32(generation))
}

// membership returns why this node has no part in the cluster, nil where it has one.
func (n *node) membership(context.Context) error {
	if err := n.consumer.Foreign(); err != nil {
		return err
	}
	if _, member := n.ownership.Generation(); !member {
		return errors.New("this node has no part in the group that reads the log, or lost touch with its coordinator")
	}
	return nil
}

// join completes the configuration of the actors' host.
func (c *clustered) join(config cluster.Config) cluster.Config {
	if c.wire != nil {
		return c.wire.Join(config, c.directory)
	}
	return config
}

// keepWire is a part of the node; alone it does nothing.
func (c *clustered) keepWire(ctx context.Context) error {
	if c.wire == nil {
		return nil
	}
	return c.wire.Run(ctx)
}

func (c *clustered) close() {
	if c.wire != nil {
		c.wire.Close()
	}
}

// nodeAddr names this node to the group: its address, or its folder where it has none and
// no other node can call it.
func (n *node) nodeAddr() string {
	if n.clustered.wire != nil {
		return n.clustered.wire.Self()
	}
	return kafka.LoneNode(n.dir.Join("") + "#" + n.dir.ID())
}

// partitionOf returns the partition in which an owner's actor lives.
func (n *node) partitionOf(owner string) int {
	kind, identity, _ := strings.Cut(owner, "/")
	return n.cluster.PartitionOf(kind, identity)
}

// tenantOf returns whose an owner is: the organization, person or environment that its name begins with.
// Keys of idempotency, whose names tell nothing, are one tenant.
func tenantOf(owner string) string {
	kind, name, _ := strings.Cut(owner, "/")
	if kind == identity.KindReplay {
		return kind
	}
	tenant, _, _ := strings.Cut(name, "/")
	return tenant
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
