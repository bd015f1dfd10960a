package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"syscall"
	"time"

	"svc/domain"
)

const (
	// diskEvery is the interval of disk checks, partsEvery the interval of checks of the store's parts: less than the
	// eight minutes for which the engine retains merged parts.
	diskEvery, partsEvery = 500 * time.Millisecond, time.Minute
	// diskRetry is the delay that clients are asked for when the disk is almost full.
	diskRetry = 30 * time.Second
	// mostFloor limits the automatic floor if none is configured.
	mostFloor = 1 << 30
	// ReserveBytes is the size of the reserve file. Below fullBytes of free space the file is deleted, which leaves
	// enough room to commit offsets, trim the log and record removals.
	ReserveBytes, fullBytes = 16 << 20, 4 << 20
)

// Disk monitors the disk of the data folder. Below a floor of free space, the node accepts nothing, and its embedded
// store writes and merges nothing. Both continue from a quarter above the floor on. If the disk still fills up, because
// other processes write to it, the reserve is released. Disk also looks for parts of the store that a merge has
// damaged.
type Disk struct {
	config DiskConfig
	store  Store // nil if the store is not embedded

	low     atomic.Bool
	damaged atomic.Pointer[string]
	// unread is the first error of a read that found damaged data; it does not block writes.
	unread atomic.Pointer[string]
}

// DiskConfig configures a Disk.
type DiskConfig struct {
	// Free returns the free and the total space of the disk in bytes; see [SpaceOf].
	Free func() (free, whole uint64, err error)
	// Floor is in bytes; 0 chooses a twentieth of the disk.
	Floor   uint64
	Reserve Reserve
	Logger  *slog.Logger
}

// NewDisk returns the monitor of a disk. It does not check the disk yet.
func NewDisk(config DiskConfig) *Disk { return &Disk{config: config} }

// Reserve is disk space that is occupied until the disk is full.
type Reserve interface {
	Size() uint64
	Held() bool
	Hold() error
	Release() error
}

// Store is the embedded engine.
type Store interface {
	HoldWrites(hold bool) error
	KeepSources() error
	CheckParts() error
}

// SpaceOf returns a function that reads the space of the disk with a folder.
func SpaceOf(dir string) func() (free, whole uint64, err error) {
	return func() (free, whole uint64, err error) {
		var disk syscall.Statfs_t
		if err := syscall.Statfs(dir, &disk); err != nil {
			return 0, 0, fmt.Errorf("asking for the free space of the disk: %w", err)
		}
		size := uint64(disk.Bsize) //nolint:unconvert // a size is positive; its type differs between systems
		return disk.Bavail * size, disk.Blocks * size, nil
	}
}

// Hold lets the monitor block the writes of a store. It is called before Run.
func (d *Disk) Hold(store Store) { d.store = store }

// Run checks the disk until ctx ends.
func (d *Disk) Run(ctx context.Context) error {
	looks, checks := time.NewTicker(diskEvery), time.NewTicker(partsEvery)
	defer looks.Stop()
	defer checks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-looks.C:
			d.Look()
		case <-checks.C:
			d.check()
		}
	}
}

// Look compares the free space with the floor.
func (d *Disk) Look() {
	free, whole, err := d.config.Free()
	if err != nil {
		d.config.Logger.Error("the free space of the disk is not known", "error", err)
		return
	}
	floor := d.config.Floor
	if floor == 0 {
		const share = 20
		floor = min(whole/share, mostFloor)
	}
	d.keepReserve(free, floor+floor/4)
	low := d.low.Load()
	switch {
	case !low && free < floor:
		d.low.Store(true)
		d.config.Logger.Error("the disk is almost full: nothing is taken in, stored or merged until space is made", "free", free, "floor", floor)
		d.hold(true)
	case low && free >= floor+floor/4:
		d.hold(false)
		d.low.Store(false)
		d.config.Logger.Info("the disk has space again", "free", free, "floor", floor)
	}
}

// keepReserve releases the reserve on a full disk, and takes it again when enough space is free in addition.
func (d *Disk) keepReserve(free, enough uint64) {
	held := d.config.Reserve.Held()
	switch {
	case held && free < fullBytes:
		d.config.Logger.Error("the disk is full: the reserve is given up, so that there is room to make space", "free", free, "reserve", d.config.Reserve.Size())
		if err := d.config.Reserve.Release(); err != nil {
			d.config.Logger.Error("the reserve was not given up", "error", err)
		}
	case !held && free >= enough+d.config.Reserve.Size():
		if err := d.config.Reserve.Hold(); err != nil {
			d.config.Logger.Warn("no space was reserved for a full disk", "error", err)
		}
	}
}

// hold blocks or resumes the writes of the store; a damaged store stays blocked.
func (d *Disk) hold(hold bool) {
	if d.store == nil || !hold && d.damaged.Load() != nil {
		return
	}
	if err := d.store.HoldWrites(hold); err != nil {
		d.config.Logger.Error("the store was not told of the free space", "error", err)
	}
}

// check looks for damaged parts. If there are any, the store retains the parts from which they were merged and merges
// nothing more.
func (d *Disk) check() {
	if d.store == nil || d.damaged.Load() != nil {
		return
	}
	err := d.store.CheckParts()
	if err == nil {
		return
	}
	reason := err.Error()
	d.damaged.Store(&reason)
	d.config.Logger.Error("the store is damaged", "error", err)
	if err := errors.Join(d.store.KeepSources(), d.store.HoldWrites(true)); err != nil {
		d.config.Logger.Error("the store was not stopped", "error", err)
	}
}

// NoteDamage records that a read found files of the store that do not match their checksums.
func (d *Disk) NoteDamage(err error) {
	const most = 500
	reason := fmt.Sprintf("a read of the store met damaged data; stop the server and run `svc repair`, or restore a backup: %.*s", most, err.Error())
	if d.unread.CompareAndSwap(nil, &reason) {
		d.config.Logger.Error("the store is damaged", "error", err)
	}
}

// Ready returns an error while the disk is almost full or the store damaged.
func (d *Disk) Ready(context.Context) error {
	if reason := d.damaged.Load(); reason != nil {
		return errors.New(*reason)
	}
	if reason := d.unread.Load(); reason != nil {
		return errors.New(*reason)
	}
	if d.low.Load() {
		return errors.New("the disk is almost full: nothing is taken in, stored or merged until space is made")
	}
	return nil
}

// Admit refuses appends to a full disk.
func (d *Disk) Admit() error {
	if !d.low.Load() {
		return nil
	}
	return &domain.Error{
		Code: domain.CodeUnavailable, Accepted: domain.AcceptedNone, RetryAfter: diskRetry,
		Message: "The disk of the server is almost full; nothing was accepted.",
	}
}
