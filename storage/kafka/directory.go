package kafka

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Directory caches the owner of each partition, as the group's coordinator last reported it. After [Directory.Refresh]
// it asks the coordinator again, at most once per lookPause.
type Directory struct {
	consumer *Consumer
	looks    singleflight.Group

	mu     sync.Mutex
	owners map[int]Owner
	looked time.Time
	stale  bool
}

// lookPause is the minimum time between two requests to the coordinator.
const lookPause = 20 * time.Millisecond

// errUnowned reports a partition without a known owner.
var errUnowned = errors.New("nobody owns the partition")

// NewDirectory returns a directory of a consumer's group.
func NewDirectory(c *Consumer) *Directory { return &Directory{consumer: c, stale: true} }

// Owner returns the user data of the member that owns a partition. It asks the
// coordinator if the owner is unknown or the directory is stale.
func (d *Directory) Owner(ctx context.Context, partition int) (address string, err error) {
	d.mu.Lock()
	owner, known := d.owners[partition]
	look := (d.stale || !known) && time.Since(d.looked) >= lookPause
	d.mu.Unlock()
	if look {
		// During a rebalance the coordinator names no owners. The known owner stays in use: it checks its own lease
		// before it serves anything.
		if err := d.look(ctx); err != nil && !known {
			return "", err
		}
		d.mu.Lock()
		owner, known = d.owners[partition]
		d.mu.Unlock()
	}
	if !known {
		return "", errUnowned
	}
	return string(owner.UserData), nil
}

// Refresh marks the directory as stale: the next call of Owner asks the coordinator.
func (d *Directory) Refresh() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stale = true
}

// look asks the coordinator. Concurrent callers share one request.
func (d *Directory) look(ctx context.Context) error {
	result := d.looks.DoChan("owners", func() (any, error) {
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), coordinatorTime)
		defer cancel()
		owners, err := d.consumer.Owners(asking)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.looked = time.Now()
		if err != nil {
			return nil, err
		}
		d.owners, d.stale = owners, false
		return nil, nil
	})
	select {
	case r := <-result:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}
