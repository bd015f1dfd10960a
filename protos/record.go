package protos

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Field is a field of a Record. Each field holds one kind of items.
type Field protowire.Number

// The kinds of items.
const (
	EventField      Field = 1
	OccurrenceField Field = 2
	PointField      Field = 3
	TallyField      Field = 4
	BillingField    Field = 5
)

// Items returns the maximum number of items in the bytes of a Record, without decoding them. It counts the items before
// the first byte that does not belong to a Record.
func Items(record []byte) (items int) {
	for len(record) > 0 {
		_, _, n := protowire.ConsumeField(record)
		if n < 0 {
			break
		}
		record = record[n:]
		items++
	}
	return items
}

// ItemOf returns the n-th item of a kind of a Record, as the bytes of a Record with only this item. It returns nil if
// there is no such item.
func ItemOf(record []byte, kind Field, n int) []byte {
	for len(record) > 0 {
		number, _, size := protowire.ConsumeField(record)
		if size < 0 {
			return nil
		}
		if Field(number) == kind {
			if n == 0 {
				return record[:size]
			}
			n--
		}
		record = record[size:]
	}
	return nil
}

// EnvironmentOf returns the environment of the first item of a Record, or 0 if it cannot be read.
func EnvironmentOf(record []byte) uint64 {
	var r Record
	if r.UnmarshalVTUnsafe(record) != nil {
		return 0
	}
	switch {
	case len(r.Events) > 0:
		return r.Events[0].Environment
	case len(r.Occurrences) > 0:
		return r.Occurrences[0].Environment
	case len(r.Points) > 0:
		return r.Points[0].Environment
	case len(r.Billings) > 0:
		return r.Billings[0].Environment
	}
	return 0
}

// Readdressed returns a Record with items that are identified by a dead letter instead of their own ids. A Record that
// does not decode stays unchanged.
func Readdressed(record []byte, letter string) ([]byte, error) {
	var r Record
	if r.UnmarshalVTUnsafe(record) != nil {
		return record, nil //nolint:nilerr // what could not be read is sent as it was
	}
	for _, event := range r.Events {
		event.Letter = letter
	}
	for _, occurrence := range r.Occurrences {
		occurrence.Letter = letter
	}
	for _, point := range r.Points {
		point.Letter = letter
	}
	for _, billing := range r.Billings {
		billing.Letter = letter
	}
	return r.MarshalVT()
}
