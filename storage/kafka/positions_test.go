package kafka

import (
	"testing"
	"time"

	"svc/storage/kafka/broker"
)

// TestABrokerSaysHowLongItKeepsPositions asks the embedded broker, which retains positions for ten years.
func TestABrokerSaysHowLongItKeepsPositions(t *testing.T) {
	b := startBroker(t, broker.Config{Dir: t.TempDir(), Topics: []string{"kept"}, Partitions: 1})
	f := &fixture{t: t, topic: "kept", group: "g-kept", partitions: 1, brokers: b.Addrs(), dial: b.Dial}
	f.prepare()
	const years = 10 * 365 * 24 * time.Hour
	if kept, err := f.admin.PositionsKept(t.Context()); err != nil || kept != years {
		t.Errorf("positions are kept for %v, %v; want %v", kept, err, years)
	}
}
