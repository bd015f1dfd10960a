package owned

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/storage/clickhouse/state"
	log "svc/storage/kafka/state"
)

// The first byte of a key names its kind.
const (
	entityKey = "e"
	wakeupKey = "w"
	ledgerKey = "l"
	auditKey  = "a"
	leftKey   = "p"
)

// separator separates the parts of a key. Only the last part may contain it.
const separator = "\x00"

// encode returns the log records of a write: one for each thing, with the version in front of its value.
func encode(r *state.Record) ([]log.Record, error) {
	records := make([]log.Record, 0, len(r.Entities)+len(r.Wakeups)+len(r.Sealed)+len(r.Left)+1)
	version := r.Version
	for _, some := range []struct {
		kind     string
		entities []domain.Entity
	}{{entityKey, r.Entities}, {ledgerKey, r.Sealed}} {
		for i := range some.entities {
			e := &some.entities[i]
			if e.Version.Number() > version.Number() {
				version = e.Version
			}
			record, err := encodeEntity(some.kind, e)
			if err != nil {
				return nil, err
			}
			records = append(records, record)
		}
	}
	for _, w := range r.Wakeups {
		record, err := encodeWakeup(w, version)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return encodeTrail(records, r)
}

func encodeEntity(kind string, e *domain.Entity) (log.Record, error) {
	key, err := keyOf(kind, e.Owner, e.Kind, e.ID)
	value := binary.BigEndian.AppendUint64(make([]byte, 0, 9+len(e.Payload)), e.Version.Number())
	if e.Deleted {
		value = append(value, 1)
	} else {
		value = append(value, 0)
	}
	return log.Record{Key: key, Value: append(value, e.Payload...)}, err
}

func encodeWakeup(w domain.Wakeup, version domain.Version) (log.Record, error) {
	key, err := keyOf(wakeupKey, w.Kind, w.Identity, w.Name)
	due := int64(0)
	if !w.Due.IsZero() {
		due = w.Due.UnixMilli()
	}
	value := binary.BigEndian.AppendUint64(make([]byte, 0, 16), version.Number())
	return log.Record{Key: key, Value: binary.BigEndian.AppendUint64(value, uint64(due))}, err
}

// encodeTrail appends the ledger entries and the audit row of a write.
func encodeTrail(records []log.Record, r *state.Record) ([]log.Record, error) {
	for n, entry := range r.Left {
		entry.ID = r.Key
		if n > 0 {
			entry.ID += "/" + strconv.Itoa(n)
		}
		key, err := keyOf(leftKey, entry.Org, entry.ID)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(entry)
		if err != nil {
			return nil, fmt.Errorf("encoding an entry of a ledger: %w", err)
		}
		records = append(records, log.Record{Key: key, Value: value})
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

// errMalformed is the reason why a record of the log is skipped.
var errMalformed = errors.New("the record is malformed")

// decode returns a record of the log in the form of the tables, and its version. A record with a higher version
// replaces earlier records of the same key.
func decode(r log.Record) (out *state.Record, version uint64, err error) {
	kind, rest, _ := strings.Cut(r.Key, separator)
	switch kind {
	case entityKey, ledgerKey:
		parts := strings.SplitN(rest, separator, 3)
		if len(parts) != 3 || len(r.Value) < 9 {
			return nil, 0, errMalformed
		}
		version = binary.BigEndian.Uint64(r.Value)
		entity := domain.Entity{Owner: parts[0], Kind: parts[1], ID: parts[2], Version: domain.VersionOf(version), Deleted: r.Value[8] == 1}
		if len(r.Value) > 9 {
			entity.Payload = r.Value[9:]
		}
		if kind == ledgerKey {
			return &state.Record{Sealed: []domain.Entity{entity}}, version, nil
		}
		return &state.Record{Entities: []domain.Entity{entity}}, version, nil
	case wakeupKey:
		parts := strings.SplitN(rest, separator, 3)
		if len(parts) != 3 || len(r.Value) != 16 {
			return nil, 0, errMalformed
		}
		version = binary.BigEndian.Uint64(r.Value)
		wakeup := domain.Wakeup{Kind: parts[0], Identity: parts[1], Name: parts[2]}
		if due := int64(binary.BigEndian.Uint64(r.Value[8:])); due != 0 {
			wakeup.Due = time.UnixMilli(due).UTC()
		}
		return &state.Record{Wakeups: []domain.Wakeup{wakeup}, Version: domain.VersionOf(version)}, version, nil
	case leftKey:
		var entry domain.LedgerEntry
		if err := json.Unmarshal(r.Value, &entry); err != nil {
			return nil, 0, fmt.Errorf("decoding an entry of a ledger: %w", err)
		}
		return &state.Record{Left: []domain.LedgerEntry{entry}}, 0, nil
	case auditKey:
		var row domain.AuditRow
		if err := json.Unmarshal(r.Value, &row); err != nil {
			return nil, 0, fmt.Errorf("decoding an audit row: %w", err)
		}
		return &state.Record{Key: rest, Audit: &row}, 0, nil
	}
	return nil, 0, errMalformed
}
