package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/heartbeat"
)

// pulse is a connection to the group's coordinator for signs of life alone, so
// that nothing is ever in front of them.
//
// It speaks version 0 of the request. In later ones the client library reads the
// error from the place of the throttle time and takes every refusal for success.
type pulse struct {
	link  *link
	group string
	dial  DialFunc // nil is the network's

	mu   sync.Mutex
	conn *conn
}

// beat sends one sign of life and returns the coordinator's error.
func (p *pulse) beat(ctx context.Context, s session) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil || !p.conn.usable(p.conn.addr) {
		p.close()
		if err := p.connect(ctx); err != nil {
			return err
		}
	}
	deadline, _ := ctx.Deadline()
	answer, err := p.conn.exchange(ctx, deadline, &heartbeat.Request{
		GroupID: p.group, GenerationID: s.generation, MemberID: s.member,
	})
	if err != nil {
		p.close()
		return fmt.Errorf("sending a sign of life: %w", err)
	}
	code := kafkago.Error(answer.(*heartbeat.Response).ErrorCode)
	switch {
	case code == 0:
		return nil
	case errors.Is(code, kafkago.NotCoordinatorForGroup) || errors.Is(code, kafkago.GroupCoordinatorNotAvailable):
		p.close()
	}
	return code
}

func (p *pulse) connect(ctx context.Context) error {
	found, err := p.link.client.FindCoordinator(ctx, &kafkago.FindCoordinatorRequest{
		Key: p.group, KeyType: kafkago.CoordinatorKeyTypeConsumer,
	})
	if err == nil {
		err = found.Error
	}
	if err != nil {
		return fmt.Errorf("looking for the coordinator: %w", err)
	}
	dial := p.dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c, err := connect(ctx, dial, net.JoinHostPort(found.Coordinator.Host, strconv.Itoa(found.Coordinator.Port)))
	if err != nil {
		return err
	}
	c.wire.SetVersions(map[protocol.ApiKey]int16{protocol.Heartbeat: 0})
	p.conn = c
	return nil
}

// close drops the connection; the caller holds the lock.
func (p *pulse) close() {
	if p.conn != nil {
		p.conn.close()
		p.conn = nil
	}
}
