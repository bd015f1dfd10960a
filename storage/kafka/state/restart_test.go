package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"svc/storage/kafka/broker"
)

// lossy makes connections that lose the next answer once lose is set. By then the broker has executed the request. lost
// is called before the client learns of the failure.
type lossy struct {
	lose atomic.Bool
	lost func()
}

// Dial connects over the network.
func (l *lossy) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return lossyConn{conn, l}, nil
}

type lossyConn struct {
	net.Conn
	lossy *lossy
}

func (c lossyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.lossy.lose.CompareAndSwap(true, false) {
		c.lossy.lost()
		return 0, errors.Join(io.ErrUnexpectedEOF, c.Close())
	}
	return n, err
}

// TestABrokerEndsBeforeItAnswers ends the embedded broker between an append and its answer: by a stop, by a kill, and
// by a kill that also loses the producer state. The owner continues, its saves are in the log once, and its predecessor
// is still refused.
func TestABrokerEndsBeforeItAnswers(t *testing.T) {
	t.Parallel()
	stop := func(_ string, b *broker.Broker) error { return b.Close() }
	kill := func(dir string, b *broker.Broker) error {
		image := filepath.Join(filepath.Dir(dir), "image")
		return errors.Join(os.CopyFS(image, os.DirFS(dir)), b.Close(), os.RemoveAll(dir), os.Rename(image, dir))
	}
	for name, end := range map[string]func(dir string, b *broker.Broker) error{
		"stopped": stop,
		"killed":  kill,
		"killed and without its notes": func(dir string, b *broker.Broker) error {
			return errors.Join(kill(dir, b), os.Remove(filepath.Join(dir, "pids.log")))
		},
	} {
		for _, sync := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " forced=", sync), func(t *testing.T) {
				t.Parallel()
				cfg := broker.Config{
					Dir: filepath.Join(t.TempDir(), "log"), Sync: sync, Partitions: 1, Topics: []string{testTopic}, Logger: slog.New(slog.DiscardHandler),
				}
				b, err := broker.Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Addr = b.Addrs()[0]
				c := ensured(t, &cluster{brokers: b.Addrs(), topic: testTopic, partitions: 1})
				wire := lossy{lost: func() {
					if err := end(cfg.Dir, b); err != nil {
						t.Error(err)
					}
					b = startBroker(t, cfg)
				}}
				before, _ := take(t, c.open(t, "before"), Position{})
				l := c.openOver(t, "one", wire.Dial)
				o, _ := take(t, l, Position{})
				want := map[string]int{}
				for n := range 7 {
					put(t, o, "a", fmt.Sprint(n))
					want[fmt.Sprint("a=", n)] = 1
				}
				wire.lose.Store(true)
				put(t, o, "a", "in doubt")
				put(t, o, "a", "after")
				want["a=in doubt"], want["a=after"] = 1, 1
				if err := before.Save(t.Context(), []Record{{"a", []byte("late")}}); !errors.Is(err, ErrLost) {
					t.Errorf("the predecessor saved, %v", err)
				}
				put(t, o, "a", "last")
				want["a=last"] = 1
				if found := counted(t, l); fmt.Sprint(found) != fmt.Sprint(want) {
					t.Errorf("the log has %v, want %v", found, want)
				}
			})
		}
	}
}
