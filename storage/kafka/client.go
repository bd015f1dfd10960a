package kafka

import (
	"context"
	"net"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

const (
	// clientID names this program in the logs of brokers.
	clientID = "svc"

	// dialTime limits one connection attempt, so that the client quickly moves on from a dead broker of a cluster.
	dialTime = 2 * time.Second

	// metadataTime is how stale the known partition leaders may be.
	metadataTime = 2 * time.Second
)

// DialFunc opens a connection to an address, as [net.Dialer.DialContext] does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// link is a pool of connections to one cluster, for the requests of one owner.
type link struct {
	addr      net.Addr
	transport *kafkago.Transport
	client    *kafkago.Client
}

// newLink returns a pool that knows the leaders of topic's partitions. It
// connects on first use.
func newLink(brokers []string, topic string) *link { return newLinkOver(nil, brokers, topic) }

// newLinkOver is newLink with connections from dial; if dial is nil, connections go over the network.
func newLinkOver(dial DialFunc, brokers []string, topic string) *link {
	addr := kafkago.TCP(brokers...)
	transport := &kafkago.Transport{
		Dial:           dial,
		ClientID:       clientID,
		DialTimeout:    dialTime,
		MetadataTTL:    metadataTime,
		MetadataTopics: []string{topic},
	}
	return &link{
		addr:      addr,
		transport: transport,
		client:    &kafkago.Client{Addr: addr, Transport: transport},
	}
}

// close closes the idle connections. Connections in use close when their request ends.
func (l *link) close() {
	l.transport.CloseIdleConnections()
}
