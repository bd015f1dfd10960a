package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"svc/actors/identity"
	"svc/cluster"
	"svc/domain"
	"svc/storage/clickhouse"
	"svc/storage/kafka"
)

// clustered holds the parts that only a node with peers needs; on a single node all of it is nil.
type clustered struct {
	wire      *cluster.Remote
	directory *kafka.Directory
}

// openWire listens for other nodes. Until the actors exist, it answers their calls with a redirect to another node.
func (n *node) openWire(context.Context) (err error) {
	if n.config.NodeAddr == "" {
		return nil
	}
	n.clustered.wire, err = cluster.OpenRemote(cluster.RemoteConfig{
		Addr: n.config.NodeAddr, Secret: n.config.ClusterSecret.Reveal(), Logger: n.logger,
	})
	return err
}

// heard receives changed entities from any node.
func (n *node) heard(entities []domain.Entity) {
	if changes := n.listening.Load(); changes != nil {
		changes.Apply(entities)
	}
}

// maxSnapshotLag is how long a node may not know the end of the state log before it stops answering from its snapshots.
// A node that was suspended reaches the limit before it serves again.
const maxSnapshotLag = 2 * time.Second

// current reports whether the snapshots are up to date. On a single node they always are, because no other node makes
// changes.
func (n *node) current() bool { return n.clustered.wire == nil || n.owned.Lag() <= maxSnapshotLag }

// missed reloads the snapshots after changes were missed. Before their first load there is nothing to do.
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

// loadSnapshots loads the snapshots. They receive changes from before the load, so that none is missed.
func (n *node) loadSnapshots(ctx context.Context) error {
	n.listening.Store(n.snapshots)
	return n.snapshots.LoadAll(ctx, n.db)
}

// syncSnapshot waits until this node's snapshots include a change by another node's actor.
func (n *node) syncSnapshot(ctx context.Context, kind, identity string) error {
	if n.cluster.Owns(kind, identity) {
		return nil
	}
	return n.owned.Await(ctx)
}

// fence asks the coordinator whether a generation is the present one.
func (n *node) fence(ctx context.Context, generation uint32) error {
	err := n.consumer.Confirm(ctx, int32(generation))
	if errors.Is(err, domain.ErrFenced) {
		return cluster.ErrMoved
	}
	return err
}

// unsettled reports whether a generation may end at any time.
func (n *node) unsettled(generation uint32) bool {
	return n.clustered.wire != nil && !n.consumer.Settled(int32(generation))
}

// membership returns an error if this node does not take part in the cluster, and otherwise nil.
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

// keepWire is a part of the node; on a single node it does nothing.
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

// nodeAddr identifies this node in the group: by its address, or by its folder if it has no address and cannot be
// called.
func (n *node) nodeAddr() string {
	if n.clustered.wire != nil {
		return n.clustered.wire.Self()
	}
	return kafka.LoneNode(n.dir.Join("") + "#" + n.dir.ID())
}

// partitionOf returns the partition of an owner's actor.
func (n *node) partitionOf(owner string) int {
	kind, identity, _ := strings.Cut(owner, "/")
	return n.cluster.PartitionOf(kind, identity)
}

// tenantOf returns the tenant of an owner: the organization, person or environment at the beginning of its name.
// Idempotency keys, whose names contain no tenant, are one tenant.
func tenantOf(owner string) string {
	kind, name, _ := strings.Cut(owner, "/")
	if kind == identity.KindReplay {
		return kind
	}
	tenant, _, _ := strings.Cut(name, "/")
	return tenant
}

// newClaims returns the component that claims the partitions that the coordinator assigns to this node.
func (n *node) newClaims() *cluster.Claims {
	return cluster.NewClaims(cluster.ClaimsConfig{
		Take:  func(ctx context.Context, partition int) (cluster.Claim, error) { return n.owned.Take(ctx, partition) },
		Evict: n.cluster.Evict, Vacated: n.cluster.Vacated, Confirm: n.fence, Logger: n.logger,
	})
}

// awaitClaim returns once this node may write to an owner's partition.
func (n *node) awaitClaim(ctx context.Context, owner string) error {
	return n.claims.Await(ctx, n.partitionOf(owner))
}
