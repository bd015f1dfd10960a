package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"syscall"
	"time"

	"svc"
)

const (
	// spaceEvery is the time between two looks at the disk, partsEvery between two at the store's
	// parts: less than the eight minutes for which the engine keeps what it has merged.
	spaceEvery, partsEvery = 500 * time.Millisecond, time.Minute
	// spaceRetry is how long clients are asked to wait when the disk is almost full.
	spaceRetry = 30 * time.Second
	// mostFloor bounds the floor that is chosen where none is configured.
	mostFloor = 1 << 30
	// reserveBytes is the size of the reserve file. Below fullBytes of free space the file is deleted, which
	// leaves enough room to commit offsets, trim the log and record what is removed.
	reserveBytes, fullBytes = 16 << 20, 4 << 20
)

// space watches the disk of the data folder. Below a floor of free space the node takes nothing in,
// its embedded store writes nothing and merges nothing; above the floor and a quarter it goes on. On
// a disk that is full all the same, by what others write, it gives up its reserve. It also looks for parts of the store that a merge has left damaged.
type space struct {
	// free returns the free and the whole space of the disk in bytes.
	free func() (free, whole uint64, err error)
	// floor is in bytes; 0 chooses a twentieth of the disk.
	floor   uint64
	reserve reserve
	store   heldStore // nil where the store is elsewhere
	logger  *slog.Logger

	low     atomic.Bool
	damaged atomic.Pointer[string]
}

// reserve is space on the disk that is taken until the disk is full.
type reserve interface {
	Size() uint64
	Held() bool
	Hold() error
	Release() error
}

// heldStore is the embedded engine.
type heldStore interface {
	HoldWrites(hold bool) error
	KeepSources() error
	CheckParts() error
}

// diskOf returns what asks for the space of the disk that holds a folder.
func diskOf(dir string) func() (free, whole uint64, err error) {
	return func() (free, whole uint64, err error) {
		var disk syscall.Statfs_t
		if err := syscall.Statfs(dir, &disk); err != nil {
			return 0, 0, fmt.Errorf("asking for the free space of the disk: %w", err)
		}
		size := uint64(disk.Bsize) //nolint:unconvert // a size is positive; its type differs between systems
		return disk.Bavail * size, disk.Blocks * size, nil
	}
}

// run looks until ctx ends.
func (s *space) run(ctx context.Context) error {
	looks, checks := time.NewTicker(spaceEvery), time.NewTicker(partsEvery)
	defer looks.Stop()
	defer checks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-looks.C:
			s.look()
		case <-checks.C:
			s.check()
		}
	}
}

// look compares the free space with the floor.
func (s *space) look() {
	free, whole, err := s.free()
	if err != nil {
		s.logger.Error("the free space of the disk is not known", "error", err)
		return
	}
	floor := s.floor
	if floor == 0 {
		const share = 20
		floor = min(whole/share, mostFloor)
	}
	s.keepReserve(free, floor+floor/4)
	low := s.low.Load()
	switch {
	case !low && free < floor:
		s.low.Store(true)
		s.logger.Error("the disk is almost full: nothing is taken in, stored or merged until space is made", "free", free, "floor", floor)
		s.hold(true)
	case low && free >= floor+floor/4:
		s.hold(false)
		s.low.Store(false)
		s.logger.Info("the disk has space again", "free", free, "floor", floor)
	}
}

// keepReserve gives up the reserve on a full disk, and takes it again where enough is free beside it.
func (s *space) keepReserve(free, enough uint64) {
	held := s.reserve.Held()
	switch {
	case held && free < fullBytes:
		s.logger.Error("the disk is full: the reserve is given up, so that there is room to make space", "free", free, "reserve", s.reserve.Size())
		if err := s.reserve.Release(); err != nil {
			s.logger.Error("the reserve was not given up", "error", err)
		}
	case !held && free >= enough+s.reserve.Size():
		if err := s.reserve.Hold(); err != nil {
			s.logger.Warn("no space was reserved for a full disk", "error", err)
		}
	}
}

// hold tells the store; a damaged one stays held.
func (s *space) hold(hold bool) {
	if s.store == nil || !hold && s.damaged.Load() != nil {
		return
	}
	if err := s.store.HoldWrites(hold); err != nil {
		s.logger.Error("the store was not told of the free space", "error", err)
	}
}

// check looks for damaged parts. Where there are any, the store keeps the parts that they were merged
// from and merges nothing more.
func (s *space) check() {
	if s.store == nil || s.damaged.Load() != nil {
		return
	}
	err := s.store.CheckParts()
	if err == nil {
		return
	}
	reason := err.Error()
	s.damaged.Store(&reason)
	s.logger.Error("the store is damaged", "error", err)
	if err := errors.Join(s.store.KeepSources(), s.store.HoldWrites(true)); err != nil {
		s.logger.Error("the store was not stopped", "error", err)
	}
}

// ready fails while the disk is almost full or the store damaged.
func (s *space) ready(context.Context) error {
	if reason := s.damaged.Load(); reason != nil {
		return errors.New(*reason)
	}
	if s.low.Load() {
		return errors.New("the disk is almost full: nothing is taken in, stored or merged until space is made")
	}
	return nil
}

// admit refuses what would be appended to a full disk.
func (s *space) admit() error {
	if !s.low.Load() {
		return nil
	}
	return &svc.Error{
		Code: svc.CodeUnavailable, Accepted: svc.AcceptedNone, RetryAfter: spaceRetry,
		Message: "The disk of the server is almost full; nothing was accepted.",
	}
}
