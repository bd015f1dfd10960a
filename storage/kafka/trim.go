package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

const (
	// deleteRecordsKey and deleteRecordsVersion select the request in the
	// Kafka protocol. The client library has no form of it.
	deleteRecordsKey     = 21
	deleteRecordsVersion = 1

	// deleteRecordsTime bounds the request at both ends.
	deleteRecordsTime = 10 * time.Second

	// deleteRecordsAnswer bounds the answer, which names one partition.
	deleteRecordsAnswer = 64 << 10
)

var errShortAnswer = errors.New("answer is too short")

// deleteRecords moves the start of a partition's log to the offset before.
func (t *Topic) deleteRecords(ctx context.Context, partition int, before int64) error {
	addr, err := t.leader(ctx, partition)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deleteRecordsTime)
	defer cancel()
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("dialing leader: %w", err)
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return fmt.Errorf("bounding the request: %w", err)
		}
	}
	if _, err := conn.Write(encodeDeleteRecords(t.cfg.Topic, partition, before)); err != nil {
		return fmt.Errorf("sending delete records: %w", err)
	}
	answer, err := readFrame(conn)
	if err != nil {
		return fmt.Errorf("reading delete records: %w", err)
	}
	return decodeDeleteRecords(answer)
}

// leader returns the address of the broker that leads the partition.
func (t *Topic) leader(ctx context.Context, partition int) (string, error) {
	meta, err := t.link.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{t.cfg.Topic}})
	if err != nil {
		return "", fmt.Errorf("finding leader: %w", err)
	}
	for _, topic := range meta.Topics {
		for _, p := range topic.Partitions {
			if p.ID == partition && p.Leader.Host != "" {
				return net.JoinHostPort(p.Leader.Host, strconv.Itoa(p.Leader.Port)), nil
			}
		}
	}
	return "", fmt.Errorf("finding leader of partition %d: %w", partition, kafkago.LeaderNotAvailable)
}

// encodeDeleteRecords returns the framed request for one partition.
func encodeDeleteRecords(topic string, partition int, before int64) []byte {
	be := binary.BigEndian
	b := make([]byte, 4, 64+len(topic))
	b = be.AppendUint16(b, deleteRecordsKey)
	b = be.AppendUint16(b, deleteRecordsVersion)
	b = be.AppendUint32(b, 0) // correlation: one request per connection
	b = be.AppendUint16(b, 3)
	b = append(b, "svc"...)
	b = be.AppendUint32(b, 1)
	b = be.AppendUint16(b, uint16(len(topic)))
	b = append(b, topic...)
	b = be.AppendUint32(b, 1)
	b = be.AppendUint32(b, uint32(partition))
	b = be.AppendUint64(b, uint64(before))
	b = be.AppendUint32(b, uint32(deleteRecordsTime/time.Millisecond))
	be.PutUint32(b, uint32(len(b)-4))
	return b
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > deleteRecordsAnswer {
		return nil, fmt.Errorf("answer of %d bytes is too long", n)
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// decodeDeleteRecords returns the error code of the one partition that an
// answer names. Its layout is correlation, throttle, topics with a name and
// partitions with an index, a low watermark and a code.
func decodeDeleteRecords(b []byte) error {
	const head, name, tail = 4 + 4 + 4, 2, 4 + 4 + 8 + 2
	if len(b) < head+name {
		return errShortAnswer
	}
	n := int(binary.BigEndian.Uint16(b[head:]))
	if len(b) < head+name+n+tail {
		return errShortAnswer
	}
	code := int16(binary.BigEndian.Uint16(b[head+name+n+tail-2:]))
	if code != 0 {
		return kafkago.Error(code)
	}
	return nil
}
