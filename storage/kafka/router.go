package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// routeTime is the minimum pause between two look-ups of the leaders.
const routeTime = 20 * time.Millisecond

// router moves the partitions of a producer to the lanes of their leaders. It looks up the leaders only on request: a
// broker refuses records of a partition that it does not lead, and the refusal triggers the request.
type router struct {
	producer *Producer
	begin    func(*lane)
	lanes    map[int32]*lane
	brokers  []string
	found    []string
}

// newRouter returns a router that calls begin once for every new lane.
func newRouter(p *Producer, begin func(*lane)) *router {
	r := &router{producer: p, begin: begin, lanes: make(map[int32]*lane)}
	for _, addr := range p.cfg.Brokers {
		r.brokers = append(r.brokers, kafkago.TCP(addr).String())
	}
	return r
}

// run looks up the leaders at once and whenever they are stale, until idle is closed.
func (r *router) run(ctx context.Context, idle <-chan struct{}) {
	for {
		if err := r.refresh(ctx); err != nil {
			r.producer.cfg.Logger.Debug("looking for leaders", "error", err)
		}
		pause(ctx, routeTime)
		select {
		case <-r.producer.stale:
		case <-idle:
			return
		}
	}
}

// refresh asks the configured brokers, then the brokers of the last answer, until one answers.
func (r *router) refresh(ctx context.Context) error {
	var failed []error
	for _, addr := range slices.Concat(r.brokers, r.found) {
		answer, err := r.ask(ctx, addr)
		if err == nil {
			r.apply(answer)
			return nil
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func (r *router) ask(ctx context.Context, addr string) (*metadata.Response, error) {
	c, err := connect(ctx, r.producer.cfg.Dial, addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	answer, err := c.exchange(ctx, time.Now().Add(dialTime), &metadata.Request{TopicNames: []string{r.producer.cfg.Topic}})
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", addr, err)
	}
	return answer.(*metadata.Response), nil
}

// apply moves every partition to the lane of its leader, or to the lost lane if it has no leader.
func (r *router) apply(answer *metadata.Response) {
	addrs := make(map[int32]string, len(answer.Brokers))
	r.found = r.found[:0]
	for _, b := range answer.Brokers {
		addr := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		addrs[b.NodeID] = addr
		r.found = append(r.found, addr)
	}
	leaders := make([]*lane, len(r.producer.partitions))
	for _, topic := range answer.Topics {
		for _, p := range topic.Partitions {
			addr, ok := addrs[p.LeaderID]
			if ok && topic.Name == r.producer.cfg.Topic && int(p.PartitionIndex) < len(leaders) {
				leaders[p.PartitionIndex] = r.lane(p.LeaderID, addr)
			}
		}
	}
	for i, p := range r.producer.partitions {
		if leaders[i] == nil {
			leaders[i] = r.producer.lost
		}
		p.move(leaders[i])
	}
}

// lane returns the lane of a broker, creates it if needed, and sets its address to addr.
func (r *router) lane(broker int32, addr string) *lane {
	l := r.lanes[broker]
	if l == nil {
		l = newLane(r.producer, broker)
		l.locate(addr)
		r.lanes[broker] = l
		r.begin(l)
		return l
	}
	l.locate(addr)
	return l
}
