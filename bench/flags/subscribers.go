package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"svc/bench/harness"
)

// Rows of subscribers.
const (
	subscribersRow = "subscribers, at rest"
	toldRow        = "subscribers are told of a change"
)

// spare is the number of connections that the server needs in addition to the subscribers.
const spare = 50

// room returns the number of possible subscribers: the server permits client connections for half of its files.
func (b *bench) room() (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("reading the limit of open files: %w", err)
	}
	room := int(limit.Max)/2 - spare
	if room < b.subscribers {
		b.result.Notes = append(b.result.Notes, fmt.Sprintf("the machine lets a process open %d files, of which the server gives half to clients: %d subscribers instead of %d", limit.Max, room, b.subscribers))
	}
	return min(room, b.subscribers), nil
}

// heard is a subscriber that has read a revision.
type heard struct {
	revision uint64
	at       time.Time
	err      error
}

// subscribe opens streams, measures their memory, and notifies all of them of changes.
func (b *bench) subscribe(ctx context.Context) error {
	count, err := b.room()
	if err != nil {
		return err
	}
	if err := b.put(ctx, 0, nil); err != nil { // the connection of changes must open before the connections of subscribers
		return err
	}
	before, err := b.server.Weigh(ctx)
	if err != nil {
		return err
	}
	told := make(chan heard, count)
	var reading sync.WaitGroup
	conns := make([]net.Conn, 0, count)
	defer func() {
		for _, conn := range conns {
			_ = conn.Close() // this ends the reader
		}
		reading.Wait()
	}()
	for range count {
		conn, reader, err := b.open(ctx)
		if err != nil {
			return fmt.Errorf("after %d subscribers: %w", len(conns), err)
		}
		conns = append(conns, conn)
		reading.Go(func() { listen(ctx, reader, told) })
	}
	after, err := b.server.Weigh(ctx)
	if err != nil {
		return err
	}
	rss, _, err := harness.ProcessRSS(b.server.PID())
	if err != nil {
		return err
	}
	b.add(harness.Measurement{Name: subscribersRow, Kind: harness.KindService, RSSBytes: rss, Extra: map[string]float64{
		"subscribers": float64(count), "liveBytesEach": (after.Live - before.Live) / float64(count), "residentBytesEach": (after.Anonymous - before.Anonymous) / float64(count),
	}})
	return b.tell(ctx, count, told)
}

// open opens a stream whose subscriber has seen the present revision.
func (b *bench) open(ctx context.Context) (net.Conn, *bufio.Reader, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", b.server.Address)
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(b.Limit))
	if _, err = fmt.Fprintf(conn, "GET /api/v1/flags/stream?key=%s HTTP/1.1\r\nHost: svc\r\nAccept: text/event-stream\r\nLast-Event-Id: %d\r\n\r\n", b.small.key, b.seen()); err != nil {
		return nil, nil, err
	}
	reader := bufio.NewReaderSize(conn, 1024)
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return nil, nil, fmt.Errorf("opening a stream: %w", err)
		}
		if strings.HasPrefix(line, ": connected") {
			return conn, reader, nil
		}
	}
}

// listen reads a stream to its end.
func listen(ctx context.Context, reader *bufio.Reader, told chan<- heard) {
	for {
		line, err := reader.ReadString('\n')
		text, is := strings.CutPrefix(line, "id: ")
		if err == nil && !is {
			continue
		}
		one := heard{at: time.Now(), err: err}
		if err == nil {
			one.revision, one.err = strconv.ParseUint(strings.TrimSpace(text), 10, 64)
		}
		select {
		case told <- one:
		case <-ctx.Done():
		}
		if err != nil {
			return
		}
	}
}

// put changes the first flag of the small application.
func (b *bench) put(ctx context.Context, n int, answered *time.Time) error {
	var flag struct{ Version uint64 }
	if err := b.call(ctx, http.MethodPut, b.small.path+"/flags/flag-0", flagOf(n, false, float64(100-n%2)), &flag); err != nil {
		return err
	}
	if answered != nil {
		*answered = time.Now()
	}
	b.version = flag.Version
	return nil
}

// seen is the revision of the small application: the sum of the versions of its flags.
func (b *bench) seen() uint64 { return b.version + twenty - 1 }

// tell changes a flag repeatedly, each time until all subscribers have read the change.
func (b *bench) tell(ctx context.Context, count int, told <-chan heard) error {
	var each, last harness.Latency
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	for n := range b.changes {
		var answered time.Time
		if err := b.put(ctx, n+1, &answered); err != nil {
			return err
		}
		var latest time.Duration
		for range count {
			select {
			case one := <-told:
				if one.err != nil || one.revision != b.seen() {
					return fmt.Errorf("change %d: a subscriber hears of revision %d, %d is the present one: %w", n, one.revision, b.seen(), one.err)
				}
				latest = max(latest, one.at.Sub(answered))
				each.Record(one.at.Sub(answered))
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		last.Record(latest)
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	spread, messages := each.Spread(), each.Count()
	b.add(harness.Measurement{
		Name: toldRow, Kind: harness.KindService, Events: messages, Latency: &spread, CPUPerEvent: float64(usage.Server.Microseconds()) / float64(messages), Foreign: usage.Foreign,
		Extra: map[string]float64{"changes": float64(b.changes), "lastP50Ms": last.Spread().P50, "lastMaxMs": last.Spread().Max},
	})
	return nil
}
