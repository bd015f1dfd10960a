package block

import (
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"svc/domain/metric"
	"svc/storage/clickhouse/columns"
)

const (
	// seriesNoteTime is the age at which a series is written to the catalogue again.
	seriesNoteTime = 5 * time.Minute
	// maxSeriesNotes bounds the notes in memory, which take about 100 bytes each.
	maxSeriesNotes = 1 << 18
)

// seriesNotes caches the series in the catalogue, with the time of the last write, so that a continuing series is not
// written with every block. It knows only the inserts of this process. Other series are written again, which changes
// nothing.
type seriesNotes struct {
	mu sync.Mutex
	of map[uint64]seriesNote
}

// seriesNote is the last row that this process wrote to the catalogue for a series.
type seriesNote struct {
	kind metric.Kind
	unit string
	tsMs int64
}

// has reports whether the catalogue already has the data of a point about its series.
func (n *seriesNotes) has(row *metric.Row, ts int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	told, known := n.of[row.Series]
	return known && told.kind == row.Kind && told.unit == row.Unit && ts < told.tsMs+seriesNoteTime.Milliseconds()
}

// put stores the notes of written series. If it is full, it drops everything first.
func (n *seriesNotes) put(series proto.ColUInt64, notes []seriesNote) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil || len(n.of) > maxSeriesNotes {
		n.of = map[uint64]seriesNote{}
	}
	for i, note := range notes {
		if told := n.of[series[i]]; told.kind == note.kind && told.unit == note.unit {
			told.tsMs = max(told.tsMs, note.tsMs)
			n.of[series[i]] = told
			continue
		}
		n.of[series[i]] = seriesNote{metric.Kind(strings.Clone(string(note.kind))), strings.Clone(note.unit), note.tsMs}
	}
}

// metricKey names a metric.
type metricKey struct {
	environment uint64
	name        string
}

// seriesBlock holds the columns of the series of a block. It has one row for each series that the catalogue lacks. It
// has at least one row for each metric, with the time of the metric's latest point.
type seriesBlock struct {
	stored *seriesNotes
	// at maps a series to its row. first maps a metric to its first row.
	at    map[uint64]int
	first map[metricKey]int
	// notes are the notes of the rows, as of the first point of each series in the block.
	notes []seriesNote

	environment, series     proto.ColUInt64
	name                    proto.ColStr
	lastSeen                proto.ColInt64
	kind, unit              columns.Dictionary
	labelKeys, labelValues  *proto.ColArr[string]
	expires                 proto.ColUInt16
	encoded                 proto.Buffer
	keysScratch, valScratch []string
}

func newSeriesBlock(stored *seriesNotes) seriesBlock {
	return seriesBlock{
		stored: stored, at: map[uint64]int{}, first: map[metricKey]int{},
		labelKeys: proto.NewArray[string](new(proto.ColStr)), labelValues: proto.NewArray[string](new(proto.ColStr)),
	}
}

// note adds a point to the row of its series.
func (s *seriesBlock) note(row *metric.Row, ts int64) {
	at, known := s.at[row.Series]
	if !known {
		at = s.place(row, ts)
		s.at[row.Series] = at
	}
	s.lastSeen[at] = max(s.lastSeen[at], ts)
	s.expires[at] = max(s.expires[at], expiry(ts, row.RetentionDays))
}

// place returns the row of a series: its own row, or the first row of the metric if the catalogue already has the
// series.
func (s *seriesBlock) place(row *metric.Row, ts int64) int {
	metric := metricKey{row.Environment, row.Name}
	if first, begun := s.first[metric]; !begun {
		s.first[metric] = len(s.series)
	} else if s.stored.has(row, ts) {
		return first
	}
	s.notes = append(s.notes, seriesNote{row.Kind, row.Unit, ts})
	s.environment = append(s.environment, row.Environment)
	s.series = append(s.series, row.Series)
	s.name.Append(row.Name)
	s.lastSeen = append(s.lastSeen, ts)
	s.kind.Append(string(row.Kind))
	s.unit.Append(row.Unit)
	s.keysScratch, s.valScratch = s.keysScratch[:0], s.valScratch[:0]
	for _, label := range row.Labels {
		s.keysScratch, s.valScratch = append(s.keysScratch, label.Key), append(s.valScratch, label.Value)
	}
	s.labelKeys.Append(s.keysScratch)
	s.labelValues.Append(s.valScratch)
	s.expires = append(s.expires, expiry(ts, row.RetentionDays))
	return len(s.series) - 1
}

// wasStored records that the catalogue has the rows.
func (s *seriesBlock) wasStored() { s.stored.put(s.series, s.notes) }

func (s *seriesBlock) reset() {
	columns.Reset(s.columns())
	clear(s.at)
	clear(s.first)
	clear(s.notes)
	s.notes = s.notes[:0]
	s.encoded.Reset()
}

// columns lists the columns in the order of metrics.AppendSeries.
func (s *seriesBlock) columns() []columns.Column {
	return []columns.Column{
		{Name: "environment", Type: proto.ColumnTypeUInt64, Data: &s.environment},
		{Name: "name", Type: columns.String, Data: &s.name},
		{Name: "series", Type: proto.ColumnTypeUInt64, Data: &s.series},
		{Name: "last_seen", Type: columns.Time, Data: &s.lastSeen},
		{Name: "kind", Type: columns.Word, Data: &s.kind},
		{Name: "unit", Type: columns.Word, Data: &s.unit},
		{Name: "label_keys", Type: "Array(String)", Data: s.labelKeys},
		{Name: "label_values", Type: "Array(String)", Data: s.labelValues},
		{Name: "expires", Type: proto.ColumnTypeDate, Data: &s.expires},
	}
}

// encode returns the series as one Native block of revision 0, valid until the next call.
func (s *seriesBlock) encode() []byte { return columns.Encode(&s.encoded, s.columns(), len(s.series)) }
