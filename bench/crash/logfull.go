package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"svc/bench/harness"
)

const (
	// diskSize has room for the engine's own tables and some seconds of load.
	diskSize = "size=256m"
	// fullTime limits the wait for the first refusal and for the recovery.
	fullTime = 2 * time.Minute
)

// runLogFull fills the disk under load: ingest answers 503 with Retry-After, and accepts events again when there is
// space. No acknowledged event is lost.
func runLogFull(ctx context.Context, o *options) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("-log-full mounts a tmpfs, which only root may")
	}
	dir, err := os.MkdirTemp("", "svc-full-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	server, err := harness.NewServer(ctx, harness.Settings{
		Binary: o.binary, Dir: dir, Sync: o.sync, Flush: flushInterval.String(), CPU: harness.Unpinned,
	})
	if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", server.DataDir(), "tmpfs", 0, diskSize); err != nil {
		return fmt.Errorf("mounting a small disk: %w", err)
	}
	defer func() {
		server.Kill()
		err = errors.Join(err, unix.Unmount(server.DataDir(), 0))
		if err == nil && !o.keep {
			err = os.RemoveAll(dir)
		}
	}()
	result := harness.NewResult(ctx, "crash-log-full", o.binary, false)
	result.Seed = o.seed
	first, err := server.Open(ctx)
	if err != nil {
		return err
	}
	run := newRun(o, server, first)
	if err := run.fillDisk(ctx); err != nil {
		return err
	}
	found, err := run.settle(ctx)
	if err != nil {
		return err
	}
	if run.load.statuses[http.StatusServiceUnavailable] == 0 {
		found.violate(answered, "the disk was full and no request was answered 503")
	}
	return run.publish(o, result, found)
}

// fillDisk lets load through, fills the rest of the disk, waits for the refusal, and frees the space.
func (r *run) fillDisk(ctx context.Context) error {
	r.kinds = nil
	r.load.start(ctx, r.seed)
	r.load.allow(r.budget)
	if err := r.reach(ctx, int64(r.budget)/2); err != nil {
		return err
	}
	ballast := filepath.Join(r.server.DataDir(), "ballast")
	if err := fillUp(ballast); err != nil {
		return err
	}
	r.load.allow(10 * r.budget)
	err := harness.Poll(ctx, "a refusal", fullTime, 5*time.Millisecond, func(context.Context) (bool, string) {
		// Space that other writers freed is filled again.
		return r.load.status(http.StatusServiceUnavailable) > 0, fmt.Sprintf("%d acknowledged, %v", r.load.acked.Load(), fillUp(ballast))
	})
	if err != nil {
		return err
	}
	if err := os.Remove(ballast); err != nil {
		return fmt.Errorf("freeing space: %w", err)
	}
	refused := r.load.acked.Load()
	if err := r.reach(ctx, refused+int64(r.budget)/10); err != nil {
		return fmt.Errorf("after space was freed: %w", err)
	}
	return r.load.finish(ctx, fullTime)
}

// status returns the number of answers with a status.
func (l *load) status(status int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.statuses[status]
}

// fillUp appends to a file until the disk is full.
func fillUp(name string) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("filling the disk: %w", err)
	}
	defer func() { _ = file.Close() }() // its content is irrelevant
	for _, size := range []int{1 << 20, 4 << 10} {
		block := make([]byte, size)
		for err == nil {
			_, err = file.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("filling the disk: %w", err)
		}
		err = nil
	}
	return nil
}
