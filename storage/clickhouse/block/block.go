package block

import (
	"encoding/json"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/go-faster/city"

	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/domain/occurrence"
	"svc/domain/revenue"
	"svc/storage/clickhouse/columns"
)

// Block holds the columns of events, occurrences, metric points and billing items that are inserted together. Only one
// goroutine may use it at a time. After Reset it is filled again without allocating.
//
// It stores strings of low cardinality by reference: the strings of appended events must not change until Reset.
type Block struct {
	environment, block                proto.ColUInt64
	ts, receivedAt, started           proto.ColInt64
	duration, engaged                 proto.ColInt64
	before, after, sessionEngaged     proto.ColInt64
	deeds                             proto.ColUInt8
	bounce                            proto.ColInt8
	expires                           proto.ColUInt16
	life, otherLife                   proto.ColUInt64
	thread, session, guest, ousted    proto.ColUInt64
	bot, inside                       proto.ColBool
	ownOrigin                         proto.ColStr
	value                             proto.ColNullable[float64]
	id, url, title, referrer          proto.ColStr
	distinctID, anonymousID, personID proto.ColStr
	sessionID, clickIDs, properties   proto.ColStr
	name, path, referrerDomain        columns.Dictionary
	source, medium                    columns.Dictionary
	utmSource, utmMedium, utmCampaign columns.Dictionary
	utmTerm, utmContent               columns.Dictionary
	country, region, city             columns.Dictionary
	device, browser, browserVersion   columns.Dictionary
	os, osVersion, screen, locale     columns.Dictionary
	currency, release, library        columns.Dictionary
	encoded                           proto.Buffer
	errors                            occurrenceBlock
	metrics                           metricBlock
	billing                           billingBlock
	usage                             usageBlock
	// rest has the rows of all shards after the first. It is nil with one shard.
	rest *restBlock
}

// NewBlock returns an empty block for the partitions of shard 0.
func (db *Store) NewBlock() *Block { return db.NewBlockOf(0) }

// NewBlockOf returns an empty block for the partitions of a shard.
func (db *Store) NewBlockOf(shard int) *Block {
	b := newBlock(&db.catalogue)
	if len(db.shards) > 1 {
		b.rest = newRestBlock(db, shard)
	}
	return b
}

// newBlock returns an empty block. It omits series that the notes contain.
func newBlock(catalogue *seriesNotes) *Block {
	return &Block{value: *proto.NewColNullable[float64](new(proto.ColFloat64)), metrics: newMetricBlock(catalogue), billing: newBillingBlock()}
}

// Counts returns the number of counts and of tallies.
func (b *Block) Counts() int { return b.ownCounts() + b.rest.sum((*Block).ownCounts) }

// Rows returns the number of appended rows of all kinds except the counts.
func (b *Block) Rows() int { return b.ownRows() + b.rest.sum((*Block).ownRows) }

// ownCounts and ownRows are Counts and Rows of the shard that has its rows in the block itself.
func (b *Block) ownCounts() int { return len(b.usage.counts) + len(b.usage.tallies) }

func (b *Block) ownRows() int {
	return len(b.environment) + b.errors.rows() + b.metrics.rows() + b.billing.rows()
}

// Bytes returns the approximate size of the occurrences and metric points in bytes. Their rows may be large.
func (b *Block) Bytes() int { return b.errors.bytes + b.metrics.bytes + b.rest.sum((*Block).Bytes) }

// Add adds rows of every kind.
func (b *Block) Add(rows *ingest.Rows) {
	if b.rest != nil {
		b.rest.divide(b, rows)
		return
	}
	for i := range rows.Events {
		b.Append(&rows.Events[i])
	}
	for i := range rows.Occurrences {
		b.AppendOccurrence(&rows.Occurrences[i])
	}
	for i := range rows.Points {
		b.AppendMetric(&rows.Points[i])
	}
	for i := range rows.Billings {
		b.AppendBilling(&rows.Billings[i])
	}
	b.usage.add(rows)
}

// AppendMetric adds a metric point.
func (b *Block) AppendMetric(row *metric.Row) { b.metrics.append(row) }

// AppendBilling adds a billing item.
func (b *Block) AppendBilling(row *revenue.BillingRow) { b.billing.append(row) }

// AppendOccurrence adds an error.
func (b *Block) AppendOccurrence(row *occurrence.Row) { b.errors.append(row) }

// Append adds an event.
func (b *Block) Append(row *event.Row) {
	e := &row.Event
	b.appendText(e)
	b.appendWords(e)
	b.environment = append(b.environment, row.EnvironmentNumber)
	ts := e.Ts.UnixMilli()
	b.ts = append(b.ts, ts)
	b.receivedAt = append(b.receivedAt, e.ReceivedAt.UnixMilli())
	b.started = append(b.started, row.SessionStartedMs)
	b.before = append(b.before, row.Session.BeforeMs)
	b.after = append(b.after, row.Session.AfterMs)
	b.sessionEngaged = append(b.sessionEngaged, row.Session.EngagedMs)
	b.deeds = append(b.deeds, uint8(row.Session.Deeds))
	b.life = append(b.life, row.Life)
	b.otherLife = append(b.otherLife, row.OtherLife)
	b.thread = append(b.thread, row.Thread)
	b.session = append(b.session, sessionNumber(row))
	b.guest = append(b.guest, row.Guest)
	b.inside = append(b.inside, row.Inside)
	b.ousted = append(b.ousted, row.Ousted)
	b.ownOrigin.Append(originText(row.Own))
	b.bounce = append(b.bounce, row.Bounce)
	b.duration = append(b.duration, row.DurationMs)
	b.engaged = append(b.engaged, row.EngagedMs)
	b.bot = append(b.bot, e.IsBot)
	b.expires = append(b.expires, expiry(ts, row.RetentionDays))
	if e.Value == nil {
		b.value.Append(proto.Null[float64]())
	} else {
		b.value.Append(proto.NewNullable(*e.Value))
	}
	b.appendClickIDs(&e.ClickIDs)
}

// sessionNumber returns the number of a row's session. A row without one gets the combination of its visitor and
// session id, as the store computes it for rows from before threads existed.
func sessionNumber(row *event.Row) uint64 {
	if row.SessionNumber != 0 {
		return row.SessionNumber
	}
	number := combined(city.CH64([]byte(row.Visitor())), city.CH64([]byte(row.SessionID)))
	if row.IsBot {
		number = combined(number, city.CH64([]byte("bot")))
	}
	return number
}

// combined returns cityHash64 of several values.
func combined(low, high uint64) uint64 {
	const factor = 0x9ddfea08eb382d69
	a := (low ^ high) * factor
	a ^= a >> 47
	b := (high ^ a) * factor
	return (b ^ b>>47) * factor
}

// originText is what people show of an origin: a JSON array, empty for none.
func originText(origin *event.Origin) string {
	if origin == nil {
		return ""
	}
	text, _ := json.Marshal([]string{origin.Source, origin.Medium, origin.UTMCampaign, origin.Referrer}) // strings never fail
	return string(text)
}

func (b *Block) appendText(e *event.Event) {
	b.id.Append(e.ID)
	b.url.Append(e.URL)
	b.title.Append(e.Title)
	b.referrer.Append(e.Referrer)
	b.distinctID.Append(e.DistinctID)
	b.anonymousID.Append(e.AnonymousID)
	b.personID.Append(e.PersonID)
	b.sessionID.Append(e.SessionID)
	b.properties.AppendBytes(e.Properties)
}

func (b *Block) appendWords(e *event.Event) {
	b.name.Append(e.Name)
	b.path.Append(e.Path)
	b.referrerDomain.Append(e.ReferrerDomain)
	b.source.Append(e.Source)
	b.medium.Append(e.Medium)
	b.utmSource.Append(e.UTMSource)
	b.utmMedium.Append(e.UTMMedium)
	b.utmCampaign.Append(e.UTMCampaign)
	b.utmTerm.Append(e.UTMTerm)
	b.utmContent.Append(e.UTMContent)
	b.country.Append(e.Country)
	b.region.Append(e.Region)
	b.city.Append(e.City)
	b.device.Append(e.Device)
	b.browser.Append(e.Browser)
	b.browserVersion.Append(e.BrowserVersion)
	b.os.Append(e.OS)
	b.osVersion.Append(e.OSVersion)
	b.screen.Append(e.Screen)
	b.locale.Append(e.Locale)
	b.currency.Append(e.Currency)
	b.release.Append(e.Release)
	b.library.Append(e.Library)
}

// appendClickIDs adds the click identifiers as JSON, or the empty text if all are empty.
func (b *Block) appendClickIDs(ids *event.ClickIDs) {
	if *ids == (event.ClickIDs{}) {
		b.clickIDs.Append("")
		return
	}
	text, _ := json.Marshal(ids) // a struct of strings never fails
	b.clickIDs.AppendBytes(text)
}

const (
	dayMs = 24 * 60 * 60 * 1000
	// lastDate is the last day that a Date can hold, in days since 1970.
	lastDate = 1<<16 - 1
)

// expiry returns the day on which an event expires, in days since 1970.
func expiry(tsMs int64, retentionDays uint32) uint16 {
	day := tsMs/dayMs + int64(retentionDays) + 1
	return uint16(min(max(day, 0), lastDate))
}

// Reset empties the block and retains its memory.
func (b *Block) Reset() {
	columns.Reset(b.columns())
	b.encoded.Reset()
	b.errors.reset()
	b.metrics.reset()
	b.billing.reset()
	b.usage.reset()
	b.rest.reset()
}

// columns lists the columns in the order of the table.
func (b *Block) columns() []columns.Column {
	return append(b.visitColumns(), b.itemColumns()...)
}

// visitColumns lists the columns about the visit: visitor, origin, device and times.
func (b *Block) visitColumns() []columns.Column {
	return []columns.Column{
		{Name: "environment", Type: proto.ColumnTypeUInt64, Data: &b.environment},
		{Name: "ts", Type: columns.Time, Data: &b.ts},
		{Name: "received_at", Type: columns.Time, Data: &b.receivedAt},
		{Name: "id", Type: columns.String, Data: &b.id},
		{Name: "name", Type: columns.Word, Data: &b.name},
		{Name: "url", Type: columns.String, Data: &b.url},
		{Name: "path", Type: columns.Word, Data: &b.path},
		{Name: "title", Type: columns.String, Data: &b.title},
		{Name: "referrer", Type: columns.String, Data: &b.referrer},
		{Name: "referrer_domain", Type: columns.Word, Data: &b.referrerDomain},
		{Name: "distinct_id", Type: columns.String, Data: &b.distinctID},
		{Name: "anonymous_id", Type: columns.String, Data: &b.anonymousID},
		{Name: "person_id", Type: columns.String, Data: &b.personID},
		{Name: "session_id", Type: columns.String, Data: &b.sessionID},
		{Name: "session_started", Type: columns.Time, Data: &b.started},
		{Name: "session_before", Type: proto.ColumnTypeInt64, Data: &b.before},
		{Name: "session_after", Type: proto.ColumnTypeInt64, Data: &b.after},
		{Name: "session_engaged", Type: proto.ColumnTypeInt64, Data: &b.sessionEngaged},
		{Name: "session_deeds", Type: proto.ColumnTypeUInt8, Data: &b.deeds},
		{Name: "bounce_delta", Type: proto.ColumnTypeInt8, Data: &b.bounce},
		{Name: "duration_delta", Type: proto.ColumnTypeInt64, Data: &b.duration},
		{Name: "engaged_ms", Type: proto.ColumnTypeInt64, Data: &b.engaged},
		{Name: "source", Type: columns.Word, Data: &b.source},
		{Name: "medium", Type: columns.Word, Data: &b.medium},
		{Name: "utm_source", Type: columns.Word, Data: &b.utmSource},
		{Name: "utm_medium", Type: columns.Word, Data: &b.utmMedium},
		{Name: "utm_campaign", Type: columns.Word, Data: &b.utmCampaign},
		{Name: "utm_term", Type: columns.Word, Data: &b.utmTerm},
		{Name: "utm_content", Type: columns.Word, Data: &b.utmContent},
		{Name: "click_ids", Type: columns.String, Data: &b.clickIDs},
		{Name: "country", Type: columns.Word, Data: &b.country},
		{Name: "region", Type: columns.Word, Data: &b.region},
		{Name: "city", Type: columns.Word, Data: &b.city},
		{Name: "device", Type: columns.Word, Data: &b.device},
		{Name: "browser", Type: columns.Word, Data: &b.browser},
		{Name: "browser_version", Type: columns.Word, Data: &b.browserVersion},
		{Name: "os", Type: columns.Word, Data: &b.os},
		{Name: "os_version", Type: columns.Word, Data: &b.osVersion},
		{Name: "screen", Type: columns.Word, Data: &b.screen},
		{Name: "locale", Type: columns.Word, Data: &b.locale},
	}
}

// itemColumns lists the columns about the payload of the event and its storage.
func (b *Block) itemColumns() []columns.Column {
	return []columns.Column{
		{Name: "value", Type: "Nullable(Float64)", Data: &b.value},
		{Name: "currency", Type: columns.Word, Data: &b.currency},
		{Name: "properties", Type: columns.String, Data: &b.properties},
		{Name: "release", Type: columns.Word, Data: &b.release},
		{Name: "library", Type: columns.Word, Data: &b.library},
		{Name: "is_bot", Type: proto.ColumnTypeBool, Data: &b.bot},
		{Name: "block", Type: proto.ColumnTypeUInt64, Data: &b.block},
		{Name: "expires", Type: proto.ColumnTypeDate, Data: &b.expires},
		{Name: "life", Type: proto.ColumnTypeUInt64, Data: &b.life},
		{Name: "other_life", Type: proto.ColumnTypeUInt64, Data: &b.otherLife},
		{Name: "thread", Type: proto.ColumnTypeUInt64, Data: &b.thread},
		{Name: "session", Type: proto.ColumnTypeUInt64, Data: &b.session},
		{Name: "guest", Type: proto.ColumnTypeUInt64, Data: &b.guest},
		{Name: "inside", Type: proto.ColumnTypeBool, Data: &b.inside},
		{Name: "ousted", Type: proto.ColumnTypeUInt64, Data: &b.ousted},
		{Name: "own_origin", Type: columns.String, Data: &b.ownOrigin},
	}
}

// encode returns the events as one Native block of revision 0, the format of inserts over HTTP. The result is valid
// until the next call on the block.
func (b *Block) encode(block uint64) []byte {
	b.block = b.block[:0]
	for range b.environment {
		b.block = append(b.block, block)
	}
	return columns.Encode(&b.encoded, b.columns(), len(b.environment))
}
