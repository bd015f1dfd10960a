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

// heartbeater is a connection to the group's coordinator that carries only heartbeats, so that they never wait for
// another request.
//
// It speaks version 0 of the request. In later versions the client library reads the error from the position of the
// throttle time, and takes every refusal for success.
type heartbeater struct {
	link  *link
	group string
	dial  DialFunc // nil means the network

	mu   sync.Mutex
	conn *conn
}

// beat sends one heartbeat and returns the coordinator's error.
func (h *heartbeater) beat(ctx context.Context, s session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn == nil || !h.conn.usable(h.conn.addr) {
		h.close()
		if err := h.connect(ctx); err != nil {
			return err
		}
	}
	deadline, _ := ctx.Deadline()
	answer, err := h.conn.exchange(ctx, deadline, &heartbeat.Request{
		GroupID: h.group, GenerationID: s.generation, MemberID: s.member,
	})
	if err != nil {
		h.close()
		return fmt.Errorf("sending a heartbeat: %w", err)
	}
	code := kafkago.Error(answer.(*heartbeat.Response).ErrorCode)
	switch {
	case code == 0:
		return nil
	case errors.Is(code, kafkago.NotCoordinatorForGroup) || errors.Is(code, kafkago.GroupCoordinatorNotAvailable):
		h.close()
	}
	return code
}

func (h *heartbeater) connect(ctx context.Context) error {
	found, err := h.link.client.FindCoordinator(ctx, &kafkago.FindCoordinatorRequest{
		Key: h.group, KeyType: kafkago.CoordinatorKeyTypeConsumer,
	})
	if err == nil {
		err = found.Error
	}
	if err != nil {
		return fmt.Errorf("looking for the coordinator: %w", err)
	}
	dial := h.dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c, err := connect(ctx, dial, net.JoinHostPort(found.Coordinator.Host, strconv.Itoa(found.Coordinator.Port)))
	if err != nil {
		return err
	}
	c.wire.SetVersions(map[protocol.ApiKey]int16{protocol.Heartbeat: 0})
	h.conn = c
	return nil
}

// close closes the connection. The caller holds the lock.
func (h *heartbeater) close() {
	if h.conn != nil {
		h.conn.close()
		h.conn = nil
	}
}
