package ingest

import (
	"errors"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/telemetry"
	"svc/protos"
)

// emit appends an accepted event to the payload of its partition.
func (sub *submission) emit(event *protos.Event) error {
	thread := protos.Thread(event.Environment, event.SessionId, event.AnonymousId, event.DistinctId)
	partition := sub.collect.Shape.Of(event.Environment, protos.PartitionOfThread(thread, sub.collect.Shape.Partitions))
	return sub.put(partition, event.SizeVT(), func(payload []byte) ([]byte, error) { return protos.AppendRecord(payload, event) })
}

// errItemTooLong refuses an item that is longer than a record of the log.
var errItemTooLong = errors.New("the item is over the limit of a record")

// itemHead bounds the bytes that precede an item in a record.
const itemHead = 8

// put appends an accepted item of size bytes to the payload of a partition. A payload that becomes longer than a record
// is later divided between items.
func (sub *submission) put(partition, size int, appendTo func(payload []byte) ([]byte, error)) error {
	if size+itemHead > event.MaxRecordBytes {
		return errItemTooLong
	}
	if len(sub.payloads[partition]) == 0 {
		sub.touched = append(sub.touched, partition)
	}
	payload, err := appendTo(sub.payloads[partition])
	sub.payloads[partition] = payload
	if err != nil {
		return err
	}
	sub.accepted++
	return nil
}

// pendingParts returns the payloads of the accepted items, by partition.
func (sub *submission) pendingParts() []event.Part {
	sub.parts = sub.parts[:0]
	for _, partition := range sub.touched {
		sub.parts = append(sub.parts, event.Part{Partition: partition, Payload: sub.payloads[partition]})
	}
	return sub.parts
}

// produce appends the parts to the log and waits for its acknowledgement.
func (sub *submission) produce() error {
	parts := sub.pendingParts()
	sub.reserved.ReleaseProcessor()
	if len(parts) == 0 {
		return nil
	}
	size := 0
	for _, part := range parts {
		size += len(part.Payload)
	}
	err := sub.reserved.ForLog(sub.request.Context(), parts[0].Partition/sub.collect.Shape.Partitions, int64(size))
	if byApp, byAddress := sub.reserved.Held(); byApp || byAddress {
		sub.meet(func(met *telemetry.FairnessMet) {
			if met.Delayed++; err != nil {
				met.Refused++
			}
			if byAddress {
				met.ByAddress++
			}
		})
	}
	if err != nil {
		return err
	}
	if err := sub.collect.Log.Produce(sub.request.Context(), parts); err != nil {
		if known, ok := errors.AsType[*domain.Error](err); ok {
			return known
		}
		return domain.Unsure("The log", collectRetry)
	}
	return nil
}

// meet records that the request met a bound.
func (sub *submission) meet(add func(met *telemetry.FairnessMet)) {
	sub.collect.Admission.Meet(sub.collector, sub.remoteIP, sub.now, add)
}
