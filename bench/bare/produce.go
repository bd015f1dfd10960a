package bare

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"svc/bench/harness"
)

const (
	producePartitions = 16
	produceTime       = 2 * time.Second
	// eventBytes is the approximate size of a reference event in the log.
	eventBytes = 420
	topic      = "ingest"
)

// measureProduce measures blocks of several sizes with and without syncing to disk. Sixteen lanes produce one block
// after another, like the service's.
func measureProduce() ([]harness.Measurement, error) {
	var rows []harness.Measurement
	for _, forced := range []bool{false, true} {
		for _, events := range []int{1, 4, 100, 1000} {
			row, err := produce(forced, events)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func produce(forced bool, events int) (harness.Measurement, error) {
	dir, err := os.MkdirTemp("", "svc-bench-produce-")
	if err != nil {
		return harness.Measurement{}, fmt.Errorf("making a directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is below the system's temporary folder
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.DataDir(dir), kfake.SeedTopics(producePartitions, topic)}
	name := "produce unforced"
	if forced {
		options, name = append(options, kfake.SyncWrites()), "produce forced"
	}
	broker, err := kfake.NewCluster(options...)
	if err != nil {
		return harness.Measurement{}, fmt.Errorf("opening the broker: %w", err)
	}
	defer broker.Close()
	return produceTo(broker.ListenAddrs()[0], fmt.Sprintf("%s, blocks of %d", name, events), events)
}

// produceTo drives all lanes and accounts for the whole process.
func produceTo(address, name string, events int) (harness.Measurement, error) {
	ctx, cancel := context.WithTimeout(context.Background(), produceTime)
	defer cancel()
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafkago.Client{Addr: kafkago.TCP(address), Transport: transport}
	var blocks atomic.Uint64
	failures := make(chan error, producePartitions)
	latencies := make([]harness.Latency, producePartitions)
	meter, err := harness.StartMeter(os.Getpid())
	if err != nil {
		return harness.Measurement{}, err
	}
	var wg sync.WaitGroup
	for partition := range producePartitions {
		wg.Go(func() {
			if err := lane(ctx, client, partition, events, &blocks, &latencies[partition]); err != nil {
				failures <- err
			}
		})
	}
	wg.Wait()
	usage, err := meter.Read()
	if err != nil {
		return harness.Measurement{}, err
	}
	close(failures)
	outcome := harness.Outcome{Requests: blocks.Load(), Events: blocks.Load() * uint64(events), Elapsed: usage.Elapsed}
	for n := range latencies {
		outcome.Latency.Merge(&latencies[n])
	}
	usage.Foreign += float64(usage.Generator) / float64(usage.Elapsed) // server and generator are the same process here
	return outcome.Fill(name, harness.KindLimit, usage), <-failures
}

// lane produces one block after another until ctx ends.
func lane(ctx context.Context, client *kafkago.Client, partition, events int, blocks *atomic.Uint64, latency *harness.Latency) error {
	value := make([]byte, events*eventBytes)
	for n := range value {
		value[n] = byte(n * 31)
	}
	for {
		began := time.Now()
		err := block(ctx, client, partition, value)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of the time interrupts the last block
		}
		if err != nil {
			return err
		}
		latency.Record(time.Since(began))
		blocks.Add(1)
	}
}

// block produces one record and waits for its acknowledgement.
func block(ctx context.Context, client *kafkago.Client, partition int, value []byte) error {
	answer, err := client.Produce(ctx, &kafkago.ProduceRequest{
		Topic: topic, Partition: partition, RequiredAcks: kafkago.RequireAll,
		Records: kafkago.NewRecordReader(kafkago.Record{Value: kafkago.NewBytes(value)}),
	})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		return fmt.Errorf("producing: %w", err)
	}
	return nil
}
