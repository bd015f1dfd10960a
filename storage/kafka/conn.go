package kafka

import (
	"context"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
)

// connIdle is the idle time after which a connection is replaced instead of reused. Networks and brokers drop idle
// connections.
const connIdle = 30 * time.Second

// conn is a connection to one broker for one request at a time. It must not be used after an error.
type conn struct {
	wire *protocol.Conn
	addr string
	used time.Time
}

// connect opens a connection to the broker at addr within dialTime.
func connect(ctx context.Context, dial DialFunc, addr string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	raw, err := dial(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	c := &conn{wire: protocol.NewConn(raw, clientID), addr: addr}
	if err := c.negotiate(ctx); err != nil {
		c.close()
		return nil, fmt.Errorf("connecting to %s: %w", addr, err)
	}
	return c, nil
}

// negotiate chooses the version of every request.
func (c *conn) negotiate(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	answer, err := c.exchange(ctx, deadline, new(apiversions.Request))
	if err != nil {
		return err
	}
	known := answer.(*apiversions.Response)
	if known.ErrorCode != 0 {
		return kafkago.Error(known.ErrorCode)
	}
	versions := make(map[protocol.ApiKey]int16, len(known.ApiKeys))
	for _, k := range known.ApiKeys {
		key := protocol.ApiKey(k.ApiKey)
		versions[key] = key.SelectVersion(k.MinVersion, k.MaxVersion)
	}
	c.wire.SetVersions(versions)
	return nil
}

// usable reports whether the connection leads to addr and was used within connIdle.
func (c *conn) usable(addr string) bool {
	return c.addr == addr && time.Since(c.used) < connIdle
}

// exchange sends a request and returns its answer. It returns an error at the deadline or when ctx ends. The caller
// must not use the request afterwards.
func (c *conn) exchange(ctx context.Context, deadline time.Time, request protocol.Message) (protocol.Message, error) {
	if err := c.wire.SetDeadline(deadline); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.wire.SetDeadline(time.Unix(0, 0)) })
	defer stop()
	answer, err := c.wire.RoundTrip(request)
	c.used = time.Now()
	return answer, err
}

// close ends the connection. Outstanding answers are lost, so there is no error to report.
func (c *conn) close() {
	_ = c.wire.Close()
}
