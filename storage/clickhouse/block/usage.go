package block

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ClickHouse/ch-go/proto"

	"svc/domain/ingest"
	"svc/storage/clickhouse/columns"
)

// usageBlock holds the counts of the items of a block by their fate, one for each key, and its tallies.
type usageBlock struct {
	counts  map[ingest.UsageKey]ingest.UsageCount
	tallies []ingest.TallyMark

	environment        proto.ColUInt64
	day                proto.ColUInt16
	signal, fate, code columns.Dictionary
	items, bytes, last proto.ColInt64
	expires            proto.ColUInt16
	encoded            proto.Buffer

	source  columns.Dictionary
	seq     proto.ColUInt64
	at      proto.ColInt64
	numbers proto.ColUInt64
}

// add adds the counts and the tallies of rows.
func (u *usageBlock) add(rows *ingest.Rows) {
	for _, one := range rows.Counts {
		u.count(one)
	}
	u.tallies = append(u.tallies, rows.Tallies...)
}

func (u *usageBlock) count(one ingest.UsageCount) {
	if u.counts == nil {
		u.counts = map[ingest.UsageKey]ingest.UsageCount{}
	}
	if known, there := u.counts[one.UsageKey]; there {
		one.Items += known.Items
		one.Bytes += known.Bytes
		one.Last = max(one.Last, known.Last)
	}
	u.counts[one.UsageKey] = one
}

// refuse moves rows that are about to leave the block from the stored items to the dead letters.
func (u *usageBlock) refuse(kind ingest.LetterKind, b *Block, rows []int) {
	environments, received := b.environment, b.receivedAt
	switch kind {
	case ingest.LetterError:
		environments, received = b.errors.environment, b.errors.receivedAt
	case ingest.LetterPoint:
		environments, received = b.metrics.environment, b.metrics.receivedAt
	case ingest.LetterBilling:
		environments, received = b.billing.environment, b.billing.receivedAt
	case ingest.LetterEvent, ingest.LetterRecord:
	}
	for _, row := range rows {
		one := ingest.UsageCount{UsageKey: ingest.UsageKey{
			Environment: environments[row], Day: ingest.DayOf(received[row]), Signal: ingest.LetterSignal(kind), Fate: ingest.FateStored,
		}, Items: -1}
		u.count(one)
		one.Fate, one.Items = ingest.FateDeadLetter, 1
		u.count(one)
	}
}

func (u *usageBlock) reset() {
	clear(u.counts)
	u.tallies = u.tallies[:0]
	columns.Reset(u.countColumns())
	columns.Reset(u.tallyColumns())
	u.encoded.Reset()
}

// usageKept is the retention of the counts of a day, in days. It covers the days that reads show and a whole month for
// budgets, with some reserve.
const usageKept = 65

// encodeCounts returns the counts as one Native block of revision 0, valid until the next call. Equal
// counts have equal bytes.
func (u *usageBlock) encodeCounts() []byte {
	columns.Reset(u.countColumns())
	for _, key := range slices.SortedFunc(maps.Keys(u.counts), compareUsage) {
		one := u.counts[key]
		u.environment = append(u.environment, key.Environment)
		u.day = append(u.day, dateOf(int64(key.Day)))
		u.signal.Append(string(key.Signal))
		u.fate.Append(string(key.Fate))
		u.code.Append(key.Code)
		u.items = append(u.items, one.Items)
		u.bytes = append(u.bytes, one.Bytes)
		u.last = append(u.last, one.Last)
		u.expires = append(u.expires, dateOf(int64(key.Day)+usageKept))
	}
	return columns.Encode(&u.encoded, u.countColumns(), len(u.environment))
}

func dateOf(day int64) uint16 { return uint16(min(max(day, 0), lastDate)) }

func compareUsage(a, b ingest.UsageKey) int {
	return cmp.Or(
		cmp.Compare(a.Environment, b.Environment), cmp.Compare(a.Day, b.Day), cmp.Compare(a.Signal, b.Signal),
		cmp.Compare(a.Fate, b.Fate), cmp.Compare(a.Code, b.Code),
	)
}

// encodeTallies returns the tallies as one Native block of revision 0, valid until the next call.
func (u *usageBlock) encodeTallies(block uint64) []byte {
	columns.Reset(u.tallyColumns())
	for _, mark := range u.tallies {
		u.source.Append(mark.Source)
		u.seq = append(u.seq, mark.Seq)
		u.at = append(u.at, mark.AtMs)
		u.numbers = append(u.numbers, block)
		u.expires = append(u.expires, dateOf(mark.AtMs/dayMs+tallyKept))
	}
	return columns.Encode(&u.encoded, u.tallyColumns(), len(u.seq))
}

// tallyKept is the retention of tallies, in days. A source repeats a tally for minutes at most.
const tallyKept = 3

// countColumns lists the columns in the order of usage.Append.
func (u *usageBlock) countColumns() []columns.Column {
	return []columns.Column{
		{Name: "environment", Type: proto.ColumnTypeUInt64, Data: &u.environment},
		{Name: "day", Type: proto.ColumnTypeDate, Data: &u.day},
		{Name: "signal", Type: columns.Word, Data: &u.signal},
		{Name: "fate", Type: columns.Word, Data: &u.fate},
		{Name: "code", Type: columns.Word, Data: &u.code},
		{Name: "items", Type: proto.ColumnTypeInt64, Data: &u.items},
		{Name: "bytes", Type: proto.ColumnTypeInt64, Data: &u.bytes},
		{Name: "last", Type: columns.Time, Data: &u.last},
		{Name: "expires", Type: proto.ColumnTypeDate, Data: &u.expires},
	}
}

// tallyColumns lists the columns in the order of usage.AppendTallies.
func (u *usageBlock) tallyColumns() []columns.Column {
	return []columns.Column{
		{Name: "source", Type: columns.Word, Data: &u.source},
		{Name: "seq", Type: proto.ColumnTypeUInt64, Data: &u.seq},
		{Name: "at", Type: columns.Time, Data: &u.at},
		{Name: "block", Type: proto.ColumnTypeUInt64, Data: &u.numbers},
		{Name: "expires", Type: proto.ColumnTypeDate, Data: &u.expires},
	}
}
