package kafka

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"svc/storage/kafka/broker"
)

// childEnv makes the test binary run a function of another test. Its value is the function's name and arguments.
const childEnv = "SVC_KAFKA_TEST_CHILD"

func TestMain(m *testing.M) {
	args := strings.Split(os.Getenv(childEnv), "|")
	var err error
	switch args[0] {
	case "":
		os.Exit(m.Run())
	case "ingest":
		err = childIngest(args[1])
	case "member":
		err = childMember(args[1], args[2], args[3])
	}
	fmt.Fprintln(os.Stderr, "child:", err)
	os.Exit(1)
}

// child is a process that a test may kill. Its output lines arrive in order.
type child struct {
	cmd   *exec.Cmd
	lines chan string
}

func spawn(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0]), lines: make(chan string, 1<<20)}
	c.cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(args, "|"))
	var stderr bytes.Buffer
	c.cmd.Stderr = &stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			c.lines <- in.Text()
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
		if t.Failed() {
			t.Logf("child said: %s", stderr.String())
		}
	})
	return c
}

// kill ends the process with SIGKILL and returns the lines that it wrote before.
func (c *child) kill(t *testing.T) []string {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	var rest []string
	for line := range c.lines {
		rest = append(rest, line)
	}
	return rest
}

const (
	childTopic      = "ingest"
	childGroup      = "intake"
	childPartitions = 4
)

// childIngest is a node that produces as fast as it can and prints the id of every acknowledged event. At the same time
// it consumes and commits. It prints each acknowledged commit as "commit partition offset".
func childIngest(dir string) error {
	ctx := context.Background()
	b, err := broker.Open(broker.Config{Dir: dir, Sync: true, Topics: []string{childTopic}, Partitions: childPartitions})
	if err != nil {
		return err
	}
	admin, err := NewTopic(TopicConfig{Brokers: b.Addrs(), Topic: childTopic, Partitions: childPartitions})
	if err != nil {
		return err
	}
	if err := admin.Ensure(ctx); err != nil {
		return err
	}
	p, err := NewProducer(ProducerConfig{Brokers: b.Addrs(), Topic: childTopic, Partitions: childPartitions})
	if err != nil {
		return err
	}
	go func() { _ = p.Run(ctx) }()
	r := new(recorder)
	var c *Consumer
	r.handle = func(ctx context.Context, partition int, records []Record) error {
		next := records[len(records)-1].Offset + 1
		at := Position{Partition: partition, Offset: next, Metadata: fmt.Sprintf("up to %d", next)}
		if err := c.Commit(ctx, r.assignment().Generation, []Position{at}); err != nil {
			return err
		}
		fmt.Printf("commit %d %d\n", partition, next)
		return nil
	}
	c, err = NewConsumer(ConsumerConfig{Brokers: b.Addrs(), Topic: childTopic, Group: childGroup, UserData: []byte("node"), Handler: r})
	if err != nil {
		return err
	}
	go func() { _ = c.Run(ctx) }()
	failed := make(chan error)
	for caller := range uint64(16) {
		go func() {
			for i := uint64(0); ; i++ {
				id := caller<<32 | i
				if err := p.Produce(ctx, []Part{{Partition: int(id % childPartitions), Payload: eventValue(id)}}); err != nil {
					failed <- err
					return
				}
				fmt.Printf("ack %d\n", id)
			}
		}()
	}
	return <-failed
}

// childMember is a member of a group that prints its assignment.
func childMember(broker, topic, group string) error {
	c, err := NewConsumer(ConsumerConfig{
		Brokers: []string{broker}, Topic: topic, Group: group, UserData: []byte("node"),
		Handler: announcer{}, Session: patience,
	})
	if err != nil {
		return err
	}
	return c.Run(context.Background())
}

// announcer prints its assignments.
type announcer struct{}

func (announcer) Assigned(_ context.Context, a Assignment) (map[int]int64, error) {
	fmt.Printf("assigned %d\n", len(a.Partitions))
	return nil, nil
}

func (announcer) Records(context.Context, int, []Record, int64) error { return nil }

func (announcer) Ending(context.Context, int32) {}

func (announcer) Revoked(int32) {}
