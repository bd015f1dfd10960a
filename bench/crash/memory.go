package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc/bench/harness"
)

const (
	// memoryClients send batches of memoryBatch events at the same time.
	memoryClients, memoryBatch = 24, 500
	// catchUpTime limits the time that the server may take to store the accepted events.
	catchUpTime = 5 * time.Minute
)

// limited is a server with a limit on the memory of its process.
type limited struct {
	*harness.Server
	group group
	// next numbers the batches. acknowledged counts the accepted events. broken counts the requests without an answer.
	next, acknowledged, broken atomic.Int64
	busy                       atomic.Int64
}

// runMemory lets clients send more than a small server stores. It kills the server in the middle, and stops the
// clients. In the same memory, every accepted event must be stored exactly once, and the kernel must kill nothing.
func runMemory(ctx context.Context, o *options) (err error) {
	control, reason := newGroup(o.memory << 20)
	if reason != nil {
		fmt.Printf("skipped: this kernel gives no control group with a limit of memory: %v\n", reason)
		return nil
	}
	dir, err := os.MkdirTemp("", "svc-memory-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	binary, err := control.entering(dir, o.binary)
	if err != nil {
		return err
	}
	server, err := harness.NewServer(ctx, harness.Settings{Binary: binary, Dir: dir, Sync: o.sync, CPU: harness.Unpinned})
	if err != nil {
		return err
	}
	defer func() {
		server.Kill()
		err = errors.Join(err, control.remove())
		if err == nil && !o.keep {
			err = os.RemoveAll(dir)
		}
	}()
	l := &limited{Server: server, group: control}
	if _, err := l.Open(ctx); err != nil {
		return err
	}
	for _, events := range []int{o.events / 2, o.events - o.events/2} {
		if err := l.load(ctx, events); err != nil {
			return err
		}
		server.Kill()
		if _, err := l.Open(ctx); err != nil {
			return fmt.Errorf("after a kill with a backlog: %w", err)
		}
	}
	if err := l.settled(ctx); err != nil {
		return err
	}
	most, kills := control.most(), control.kills()
	fmt.Printf("%d MiB: %d events accepted and stored, %d requests without an answer, at most %d MiB, %d kills for memory\n",
		o.memory, l.acknowledged.Load(), l.broken.Load(), most>>20, kills)
	if kills > 0 {
		return fmt.Errorf("the kernel killed %d times", kills)
	}
	return server.Stop()
}

// load sends events as fast as the server accepts them. It repeats each request until the server accepts it.
func (l *limited) load(ctx context.Context, events int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	until := l.acknowledged.Load() + int64(events)
	failed := make(chan error, memoryClients)
	var sending sync.WaitGroup
	for range memoryClients {
		sending.Go(func() { failed <- l.client(ctx, until) })
	}
	ended := make(chan struct{})
	go func() { sending.Wait(); close(ended) }()
	if err := harness.Poll(ctx, "the clients' last answers", catchUpTime, 100*time.Millisecond, func(context.Context) (bool, string) {
		select {
		case <-ended:
			return true, ""
		default:
			return false, fmt.Sprintf("%d of %d accepted, %d killed", l.acknowledged.Load(), until, l.group.kills())
		}
	}); err != nil {
		return err
	}
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// client sends batches until the given number of events is accepted.
func (l *limited) client(ctx context.Context, until int64) error {
	conn := harness.NewConn(l.Address, "/api/v1/batch", l.Keys["production"].Secret, harness.UserAgents()[0])
	defer conn.Close()
	for l.acknowledged.Load()+l.busy.Load() < until {
		l.busy.Add(memoryBatch)
		if err := l.deliver(ctx, conn, batchOf(l.next.Add(1))); err != nil {
			return err
		}
		l.busy.Add(-memoryBatch)
		l.acknowledged.Add(memoryBatch)
	}
	return nil
}

// deliver sends a batch until it is accepted.
func (l *limited) deliver(ctx context.Context, conn *harness.Conn, body []byte) error {
	for {
		reply, err := conn.Post(body)
		switch {
		case err != nil:
			l.broken.Add(1)
		case reply.Status == http.StatusAccepted:
			return nil
		case reply.Status != http.StatusServiceUnavailable:
			return fmt.Errorf("a batch was answered %d: %.300s", reply.Status, reply.Body)
		}
		if err := harness.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// batchOf returns the body of a batch. No other batch has the same events.
func batchOf(number int64) []byte {
	at := time.Now().UTC().Format(time.RFC3339Nano)
	var body bytes.Buffer
	body.WriteString(`{"items":[`)
	for n := range memoryBatch {
		if n > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"type":"event","name":"loaded","id":"m-%d-%d","ts":"%s","distinctId":"user-%d","url":"https://shop.example.com/products/%d?utm_source=news","title":"A product of the shop","properties":{"plan":"pro","price":%d.5,"note":"%s"}}`,
			number, n, at, number*memoryBatch+int64(n), n, n, strings.Repeat("words of a note ", 12))
	}
	body.WriteString(`]}`)
	return body.Bytes()
}

// settled waits until every accepted event is stored exactly once.
func (l *limited) settled(ctx context.Context) error {
	err := harness.Poll(ctx, "all events", catchUpTime, time.Second, func(ctx context.Context) (bool, string) {
		names, err := l.NameCounts(ctx, "production")
		return err == nil && names["loaded"] >= uint64(l.acknowledged.Load()), fmt.Sprintf("%d of %d stored, %d killed: %v", names["loaded"], l.acknowledged.Load(), l.group.kills(), err)
	})
	if err != nil {
		return err
	}
	names, err := l.NameCounts(ctx, "production")
	if err != nil {
		return err
	}
	if stored := names["loaded"]; stored != uint64(l.acknowledged.Load()) {
		return fmt.Errorf("%d events are stored, %d were accepted", stored, l.acknowledged.Load())
	}
	return nil
}

// group is a control group with a limit on memory. It uses version 1 or 2 of the kernel's interface.
type group struct {
	folder string
	second bool
}

// newGroup makes a control group. If that is impossible, the error gives the reason.
func newGroup(limit int64) (group, error) {
	name := fmt.Sprintf("svc-memory-%d", os.Getpid())
	g := group{folder: filepath.Join("/sys/fs/cgroup/memory", name)}
	files := map[string]string{"memory.limit_in_bytes": strconv.FormatInt(limit, 10)}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		g = group{folder: filepath.Join("/sys/fs/cgroup", name), second: true}
		files = map[string]string{"memory.max": strconv.FormatInt(limit, 10), "memory.swap.max": "0"}
	}
	if err := os.Mkdir(g.folder, 0o755); err != nil {
		return g, err
	}
	for file, text := range files {
		err := os.WriteFile(filepath.Join(g.folder, file), []byte(text), 0o600)
		if err != nil && file != "memory.swap.max" {
			return g, errors.Join(err, g.remove())
		}
	}
	return g, nil
}

// entering returns a program that enters the group and then becomes another program.
func (g group) entering(dir, program string) (string, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return "", fmt.Errorf("finding the server: %w", err)
	}
	entering := filepath.Join(dir, "entering")
	text := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs && exec %s \"$@\"\n", g.folder, program)
	if err := os.WriteFile(entering, []byte(text), 0o755); err != nil {
		return "", fmt.Errorf("writing the program that enters the group: %w", err)
	}
	return entering, nil
}

func (g group) remove() error { return os.Remove(g.folder) }

// most returns the largest memory that the group had.
func (g group) most() int64 {
	file := map[bool]string{false: "memory.max_usage_in_bytes", true: "memory.peak"}[g.second]
	text, _ := os.ReadFile(filepath.Join(g.folder, file)) // old kernels have no peak
	most, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return most
}

// kills returns the number of times that the kernel killed a process of the group.
func (g group) kills() (kills int) {
	file := map[bool]string{false: "memory.oom_control", true: "memory.events"}[g.second]
	text, _ := os.ReadFile(filepath.Join(g.folder, file)) // if the file is missing, the end of the server is detected
	for line := range strings.Lines(string(text)) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			kills, _ = strconv.Atoi(strings.TrimSpace(count))
		}
	}
	return kills
}
