package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

const (
	// groupSessionMin is the shortest session that group members may request. The members of an embedded broker are few
	// and close to it.
	groupSessionMin = 100 * time.Millisecond

	// groupLogBytes is the size at which the broker rewrites the log of committed positions. All requests wait for the
	// rewrite, so it happens often to stay short.
	groupLogBytes = 1 << 20

	// positionMinutes is the retention of the positions of a group without members. It is as long as the retention of
	// any log.
	positionMinutes = 10 * 365 * 24 * 60

	// producerMillis is how long the broker remembers an idle producer with a name. It is the longest time that the
	// broker can express.
	producerMillis = math.MaxInt32
)

// Config describes the embedded broker.
type Config struct {
	// Dir holds the log and the group's state. It is created if missing and belongs to one broker at a time.
	Dir string

	// Sync makes the broker sync everything to disk before it acknowledges it, so that acknowledged data survives a
	// loss of power. Without Sync, acknowledged data survives the death of the process only.
	Sync bool

	// Topics are the topics that Sync covers, with Partitions partitions each.
	Topics     []string
	Partitions int
	// Wider maps topics with more than Partitions partitions to their partition count.
	Wider map[string]int

	// Addr is the address to listen on and to advertise to clients: a host that clients can reach, and a port. The
	// default is 127.0.0.1 with a free port.
	Addr string

	Logger *slog.Logger
}

// Broker is a Kafka broker inside this process.
type Broker struct {
	cluster  *kfake.Cluster
	lock     *os.File
	forcer   *forcer
	listener *listener

	dir     string
	blanked blanked
}

// Open starts a broker on the log in cfg.Dir. It cuts off a torn tail that a killed process left. It drops the members
// of the consumer group that were alive at the last stop, so that new members need not wait for them. Committed
// positions, the generation number and the newest records of each producer remain. If the broker would take a folder
// with records for an empty one, Open returns a [Damage].
func Open(cfg Config) (*Broker, error) {
	if cfg.Dir == "" || len(cfg.Topics) == 0 || cfg.Partitions < 1 {
		return nil, errors.New("broker needs a directory, topics and partitions")
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("creating broker directory: %w", err)
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	b := &Broker{lock: lock, dir: cfg.Dir}
	if err := inspect(cfg.Dir); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := b.open(cfg); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return b, nil
}

func (b *Broker) open(cfg Config) error {
	sessions := filepath.Join(cfg.Dir, "session_state.json")
	if err := os.Remove(sessions); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forgetting group members: %w", err)
	}
	if err := takeUp(cfg.Dir); err != nil {
		return err
	}
	id, err := identity(cfg.Dir)
	if err != nil {
		return err
	}
	if cfg.Sync {
		if b.forcer, err = newForcer(cfg.Dir, cfg.Topics, func(topic string) int { return max(cfg.Partitions, cfg.Wider[topic]) }); err != nil {
			return err
		}
	}
	addr := cmp.Or(cfg.Addr, "127.0.0.1:0")
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ClusterID(id),
		kfake.DataDir(cfg.Dir),
		kfake.GroupMinSessionTimeout(groupSessionMin),
		kfake.BrokerConfigs(map[string]string{
			"offsets.retention.minutes": strconv.Itoa(positionMinutes),
			"state.log.compact.bytes":   strconv.Itoa(groupLogBytes),

			"transactional.id.expiration.ms": strconv.Itoa(producerMillis),
		}),
		kfake.WithLogger(brokerLogger{cmp.Or(cfg.Logger, slog.Default()), b.forcer}),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			ln, err := new(net.ListenConfig).Listen(context.Background(), network, addr)
			if err != nil {
				return nil, err
			}
			b.listener = newListener(ln)
			if b.forcer == nil {
				return b.listener, nil
			}
			return forcedListener{b.listener, b.forcer}, nil
		}),
	)
	if err != nil {
		return fmt.Errorf("opening broker: %w", err)
	}
	b.cluster = cluster
	return nil
}

// takeUp finishes the writes of a killed process to a folder. Only after it are the files complete.
func takeUp(dir string) error {
	if err := replayJournal(dir); err != nil {
		return err
	}
	if err := finishBlanks(dir); err != nil {
		return err
	}
	return rememberProducers(dir)
}

// Addrs returns the addresses for producers and consumers.
func (b *Broker) Addrs() []string {
	return b.cluster.ListenAddrs()
}

// Dial connects to the broker in memory if the address is the broker's own, and over the network otherwise. It is a
// kafka.DialFunc. After the log could not be synced to disk, it returns that error, so that clients log the cause and
// not only the end of their connections.
func (b *Broker) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if address != b.listener.Addr().String() {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	if err := b.Failure(); err != nil {
		return nil, err
	}
	return b.listener.dial(ctx)
}

// Failure returns the error after which the broker acknowledges nothing: a write of the log could not be synced to
// disk. The operating system may have dropped the pages. Only a new start, which reads the disk, knows which records
// the log holds.
func (b *Broker) Failure() error {
	if b.forcer == nil {
		return nil
	}
	return b.forcer.failure()
}

// Run returns the first [Broker.Failure], or nil once ctx ends.
func (b *Broker) Run(ctx context.Context) error {
	var broken <-chan struct{}
	if b.forcer != nil {
		broken = b.forcer.broken
	}
	select {
	case <-ctx.Done():
		return nil
	case <-broken:
		return b.Failure()
	}
}

// Close stops the broker and writes the files that speed up the next start. Producers and consumers must stop first,
// because they need the broker to drain.
func (b *Broker) Close() error {
	b.cluster.Close()
	var err error
	if b.forcer != nil {
		err = b.forcer.close()
	}
	if err := errors.Join(err, b.lock.Close()); err != nil {
		return fmt.Errorf("closing broker: %w", err)
	}
	return nil
}

// lockDir locks the directory for this process. The lock ends with the process, even if the process is killed.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening broker lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("locking broker directory %s: %w", dir, err), f.Close())
	}
	return f, nil
}

// brokerLogger forwards the broker's warnings and errors. If there is a forcer, it also reports failed writes of the
// broker to the forcer.
type brokerLogger struct {
	log    *slog.Logger
	forcer *forcer
}

func (l brokerLogger) Logf(level kfake.LogLevel, format string, args ...any) {
	if l.forcer != nil && strings.HasPrefix(format, "persist batch") {
		l.forcer.distrust()
	}
	at := slog.LevelWarn
	switch level {
	case kfake.LogLevelError:
		at = slog.LevelError
	case kfake.LogLevelWarn:
	default:
		return
	}
	l.log.Log(context.Background(), at, "embedded broker", "detail", fmt.Sprintf(format, args...))
}
