package owned

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc"
	"svc/storage/clickhouse/state"
	log "svc/storage/kafka/state"
)

// Kinds of keys, by their first byte.
const (
	entityKey = "e"
	wakeupKey = "w"
	ledgerKey = "l"
	auditKey  = "a"
)

// separator stands between the parts of a key. The parts before the last do not hold it.
const separator = "\x00"

// encode returns the records of the log that a write becomes: one for each thing, with the
// version in front of its value.
func encode(r *state.Record) ([]log.Record, error) {
	records := make([]log.Record, 0, len(r.Entities)+len(r.Wakeups)+1)
	kind, version := entityKey, svc.Version{}
	if r.Ledger {
		kind = ledgerKey
	}
	for i := range r.Entities {
		e := &r.Entities[i]
		if e.Version.Number() > version.Number() {
			version = e.Version
		}
		key, err := keyOf(kind, e.Owner, e.Kind, e.ID)
		if err != nil {
			return nil, err
		}
		value := binary.BigEndian.AppendUint64(make([]byte, 0, 9+len(e.Payload)), e.Version.Number())
		if e.Deleted {
			value = append(value, 1)
		} else {
			value = append(value, 0)
		}
		records = append(records, log.Record{Key: key, Value: append(value, e.Payload...)})
	}
	for _, w := range r.Wakeups {
		key, err := keyOf(wakeupKey, w.Kind, w.Identity, w.Name)
		if err != nil {
			return nil, err
		}
		due := int64(0)
		if !w.Due.IsZero() {
			due = w.Due.UnixMilli()
		}
		value := binary.BigEndian.AppendUint64(make([]byte, 0, 16), version.Number())
		records = append(records, log.Record{Key: key, Value: binary.BigEndian.AppendUint64(value, uint64(due))})
	}
	if r.Audit != nil {
		value, err := json.Marshal(r.Audit)
		if err != nil {
			return nil, fmt.Errorf("encoding an audit row: %w", err)
		}
		records = append(records, log.Record{Key: auditKey + separator + r.Key, Value: value})
	}
	return records, nil
}

// keyOf joins the parts of a key.
func keyOf(kind string, parts ...string) (string, error) {
	for _, part := range parts[:len(parts)-1] {
		if strings.Contains(part, separator) {
			return "", fmt.Errorf("the name %q holds a zero byte", part)
		}
	}
	return kind + separator + strings.Join(parts, separator), nil
}

// errMalformed is why a record of the log is left out.
var errMalformed = errors.New("the record is malformed")

// decode returns what a record of the log is in the tables, and the version by which later
// records of its key replace earlier ones.
func decode(r log.Record) (out *state.Record, version uint64, err error) {
	kind, rest, _ := strings.Cut(r.Key, separator)
	switch kind {
	case entityKey, ledgerKey:
		parts := strings.SplitN(rest, separator, 3)
		if len(parts) != 3 || len(r.Value) < 9 {
			return nil, 0, errMalformed
		}
		version = binary.BigEndian.Uint64(r.Value)
		entity := svc.Entity{Owner: parts[0], Kind: parts[1], ID: parts[2], Version: svc.VersionOf(version), Deleted: r.Value[8] == 1}
		if len(r.Value) > 9 {
			entity.Payload = r.Value[9:]
		}
		return &state.Record{Entities: []svc.Entity{entity}, Ledger: kind == ledgerKey}, version, nil
	case wakeupKey:
		parts := strings.SplitN(rest, separator, 3)
		if len(parts) != 3 || len(r.Value) != 16 {
			return nil, 0, errMalformed
		}
		version = binary.BigEndian.Uint64(r.Value)
		wakeup := svc.Wakeup{Kind: parts[0], Identity: parts[1], Name: parts[2]}
		if due := int64(binary.BigEndian.Uint64(r.Value[8:])); due != 0 {
			wakeup.Due = time.UnixMilli(due).UTC()
		}
		return &state.Record{Wakeups: []svc.Wakeup{wakeup}, Version: svc.VersionOf(version)}, version, nil
	case auditKey:
		var row svc.AuditRow
		if err := json.Unmarshal(r.Value, &row); err != nil {
			return nil, 0, fmt.Errorf("decoding an audit row: %w", err)
		}
		return &state.Record{Key: rest, Audit: &row}, 0, nil
	}
	return nil, 0, errMalformed
}
