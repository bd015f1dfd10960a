package clickhouse

import (
	"encoding/json"

	"github.com/ClickHouse/ch-go/proto"

	"svc"
)

// Block holds the columns of events, occurrences and metric points that are inserted together. It is used by one
// goroutine at a time; after Reset it is filled again without allocating.
//
// Strings of low cardinality are kept by reference: what the appended events point to
// must not change until Reset.
type Block struct {
	environment, block                proto.ColUInt64
	ts, receivedAt, started           proto.ColInt64
	duration, engaged                 proto.ColInt64
	before, after, sessionEngaged     proto.ColInt64
	deeds                             proto.ColUInt8
	bounce                            proto.ColInt8
	expires                           proto.ColUInt16
	bot                               proto.ColBool
	value                             proto.ColNullable[float64]
	id, url, title, referrer          proto.ColStr
	distinctID, anonymousID, personID proto.ColStr
	sessionID, clickIDs, properties   proto.ColStr
	name, path, referrerDomain        dictionary
	source, medium                    dictionary
	utmSource, utmMedium, utmCampaign dictionary
	utmTerm, utmContent               dictionary
	country, region, city             dictionary
	device, browser, browserVersion   dictionary
	os, osVersion, screen, locale     dictionary
	currency, release, library        dictionary
	encoded                           proto.Buffer
	errors                            occurrenceBlock
	metrics                           metricBlock
}

// NewBlock returns an empty block.
func (db *DB) NewBlock() *Block {
	return &Block{value: *proto.NewColNullable[float64](new(proto.ColFloat64)), metrics: newMetricBlock(&db.catalogue)}
}

// Rows returns the number of appended rows of all kinds.
func (b *Block) Rows() int { return len(b.environment) + b.errors.rows() + b.metrics.rows() }

// Bytes returns about what the occurrences and points take, whose rows may be large.
func (b *Block) Bytes() int { return b.errors.bytes + b.metrics.bytes }

// Add adds rows of every kind.
func (b *Block) Add(rows *svc.Rows) {
	for i := range rows.Events {
		b.Append(&rows.Events[i])
	}
	for i := range rows.Occurrences {
		b.AppendOccurrence(&rows.Occurrences[i])
	}
	for i := range rows.Points {
		b.AppendMetric(&rows.Points[i])
	}
}

// AppendMetric adds a metric point.
func (b *Block) AppendMetric(row *svc.MetricRow) { b.metrics.append(row) }

// AppendOccurrence adds an error.
func (b *Block) AppendOccurrence(row *svc.OccurrenceRow) { b.errors.append(row) }

// Append adds an event.
func (b *Block) Append(row *svc.EventRow) {
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

func (b *Block) appendText(e *svc.Event) {
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

func (b *Block) appendWords(e *svc.Event) {
	b.name.append(e.Name)
	b.path.append(e.Path)
	b.referrerDomain.append(e.ReferrerDomain)
	b.source.append(e.Source)
	b.medium.append(e.Medium)
	b.utmSource.append(e.UTMSource)
	b.utmMedium.append(e.UTMMedium)
	b.utmCampaign.append(e.UTMCampaign)
	b.utmTerm.append(e.UTMTerm)
	b.utmContent.append(e.UTMContent)
	b.country.append(e.Country)
	b.region.append(e.Region)
	b.city.append(e.City)
	b.device.append(e.Device)
	b.browser.append(e.Browser)
	b.browserVersion.append(e.BrowserVersion)
	b.os.append(e.OS)
	b.osVersion.append(e.OSVersion)
	b.screen.append(e.Screen)
	b.locale.append(e.Locale)
	b.currency.append(e.Currency)
	b.release.append(e.Release)
	b.library.append(e.Library)
}

// appendClickIDs adds the click identifiers as JSON, nothing where there is none.
func (b *Block) appendClickIDs(ids *svc.ClickIDs) {
	if *ids == (svc.ClickIDs{}) {
		b.clickIDs.Append("")
		return
	}
	text, _ := json.Marshal(ids) // a struct of strings never fails
	b.clickIDs.AppendBytes(text)
}

const (
	dayMs = 24 * 60 * 60 * 1000
	// lastDate is the last day that a Date holds, in days since 1970.
	lastDate = 1<<16 - 1
)

// expiry is the first day, since 1970, on which an event is no longer kept.
func expiry(tsMs int64, retentionDays uint32) uint16 {
	day := tsMs/dayMs + int64(retentionDays) + 1
	return uint16(min(max(day, 0), lastDate))
}

// Reset empties the block and keeps its memory.
func (b *Block) Reset() {
	resetColumns(b.columns())
	b.encoded.Reset()
	b.errors.reset()
	b.metrics.reset()
}

func resetColumns(columns []blockColumn) {
	for _, column := range columns {
		switch data := column.data.(type) {
		case *dictionary:
			data.reset()
		case proto.Resettable:
			data.Reset()
		}
	}
}

// blockColumn is a column of a table with its rows.
type blockColumn struct {
	name string
	kind proto.ColumnType
	data interface{ EncodeColumn(b *proto.Buffer) }
}

// Types of the columns of a block.
const (
	kindString = proto.ColumnTypeString
	kindWord   = proto.ColumnType("LowCardinality(String)")
	kindTime   = proto.ColumnType("DateTime64(3, 'UTC')")
)

// columns lists the columns in the order of the table.
func (b *Block) columns() []blockColumn {
	return []blockColumn{
		{"environment", proto.ColumnTypeUInt64, &b.environment},
		{"ts", kindTime, &b.ts},
		{"received_at", kindTime, &b.receivedAt},
		{"id", kindString, &b.id},
		{"name", kindWord, &b.name},
		{"url", kindString, &b.url},
		{"path", kindWord, &b.path},
		{"title", kindString, &b.title},
		{"referrer", kindString, &b.referrer},
		{"referrer_domain", kindWord, &b.referrerDomain},
		{"distinct_id", kindString, &b.distinctID},
		{"anonymous_id", kindString, &b.anonymousID},
		{"person_id", kindString, &b.personID},
		{"session_id", kindString, &b.sessionID},
		{"session_started", kindTime, &b.started},
		{"session_before", proto.ColumnTypeInt64, &b.before},
		{"session_after", proto.ColumnTypeInt64, &b.after},
		{"session_engaged", proto.ColumnTypeInt64, &b.sessionEngaged},
		{"session_deeds", proto.ColumnTypeUInt8, &b.deeds},
		{"bounce_delta", proto.ColumnTypeInt8, &b.bounce},
		{"duration_delta", proto.ColumnTypeInt64, &b.duration},
		{"engaged_ms", proto.ColumnTypeInt64, &b.engaged},
		{"source", kindWord, &b.source},
		{"medium", kindWord, &b.medium},
		{"utm_source", kindWord, &b.utmSource},
		{"utm_medium", kindWord, &b.utmMedium},
		{"utm_campaign", kindWord, &b.utmCampaign},
		{"utm_term", kindWord, &b.utmTerm},
		{"utm_content", kindWord, &b.utmContent},
		{"click_ids", kindString, &b.clickIDs},
		{"country", kindWord, &b.country},
		{"region", kindWord, &b.region},
		{"city", kindWord, &b.city},
		{"device", kindWord, &b.device},
		{"browser", kindWord, &b.browser},
		{"browser_version", kindWord, &b.browserVersion},
		{"os", kindWord, &b.os},
		{"os_version", kindWord, &b.osVersion},
		{"screen", kindWord, &b.screen},
		{"locale", kindWord, &b.locale},
		{"value", "Nullable(Float64)", &b.value},
		{"currency", kindWord, &b.currency},
		{"properties", kindString, &b.properties},
		{"release", kindWord, &b.release},
		{"library", kindWord, &b.library},
		{"is_bot", proto.ColumnTypeBool, &b.bot},
		{"block", proto.ColumnTypeUInt64, &b.block},
		{"expires", proto.ColumnTypeDate, &b.expires},
	}
}

// encode returns the events as one Native block of revision 0, the form that inserts over
// HTTP have. The result is valid until the next call on the block.
func (b *Block) encode(block uint64) []byte {
	b.block = b.block[:0]
	for range b.environment {
		b.block = append(b.block, block)
	}
	return encodeColumns(&b.encoded, b.columns(), len(b.environment))
}

// encodeColumns writes columns of so many rows as one Native block of revision 0.
func encodeColumns(into *proto.Buffer, columns []blockColumn, rows int) []byte {
	into.Reset()
	into.PutUVarInt(uint64(len(columns)))
	into.PutUVarInt(uint64(rows))
	for _, column := range columns {
		into.PutString(column.name)
		into.PutString(string(column.kind))
		column.data.EncodeColumn(into)
	}
	return into.Buf
}
