package block

import (
	"github.com/ClickHouse/ch-go/proto"

	"svc/domain/occurrence"
	"svc/storage/clickhouse/columns"
)

// occurrenceBlock holds the columns of the occurrences of a block. As in Block, strings of low cardinality are stored
// by reference until the reset.
type occurrenceBlock struct {
	bytes int

	environment, issue, block        proto.ColUInt64
	ts, receivedAt                   proto.ColInt64
	handled                          proto.ColBool
	status, expires                  proto.ColUInt16
	id, message, stack               proto.ColStr
	frames, breadcrumbs, tags, extra proto.ColStr
	details                          proto.ColStr
	life                             proto.ColUInt64
	requestURL, url, referrer        proto.ColStr
	personID, sessionID              proto.ColStr
	distinctID, anonymousID          proto.ColStr
	fingerprint, level, name         columns.Dictionary
	culprit, mechanism, release      columns.Dictionary
	requestMethod, path              columns.Dictionary
	browser, browserVersion          columns.Dictionary
	os, device                       columns.Dictionary
	country, region, city            columns.Dictionary
	locale, appVersion               columns.Dictionary
	encoded                          proto.Buffer
}

func (b *occurrenceBlock) rows() int { return len(b.environment) }

func (b *occurrenceBlock) append(row *occurrence.Row) {
	o := &row.Occurrence
	b.bytes += row.Bytes()
	b.environment = append(b.environment, row.EnvironmentNumber)
	b.issue = append(b.issue, row.Issue)
	ts := o.Ts.UnixMilli()
	b.ts = append(b.ts, ts)
	b.receivedAt = append(b.receivedAt, o.ReceivedAt.UnixMilli())
	b.handled = append(b.handled, o.Handled)
	b.status = append(b.status, uint16(o.Request.Status))
	b.expires = append(b.expires, expiry(ts, row.RetentionDays))
	b.life = append(b.life, row.Life)
	b.id.Append(o.ID)
	b.message.Append(o.Message)
	b.stack.Append(o.Stack)
	b.frames.AppendBytes(row.FramesJSON)
	b.breadcrumbs.AppendBytes(row.BreadcrumbsJSON)
	b.tags.AppendBytes(row.TagsJSON)
	b.extra.AppendBytes(o.Extra)
	b.details.AppendBytes(row.DetailsJSON)
	b.requestURL.Append(o.Request.URL)
	b.url.Append(o.URL)
	b.referrer.Append(o.Referrer)
	b.personID.Append(o.PersonID)
	b.sessionID.Append(o.SessionID)
	b.distinctID.Append(o.DistinctID)
	b.anonymousID.Append(o.AnonymousID)
	b.appendWords(row)
}

func (b *occurrenceBlock) appendWords(row *occurrence.Row) {
	o := &row.Occurrence
	b.fingerprint.Append(row.Fingerprint)
	b.level.Append(string(o.Level))
	b.name.Append(o.Name)
	b.culprit.Append(o.Culprit)
	b.mechanism.Append(o.Mechanism)
	b.release.Append(o.Release)
	b.requestMethod.Append(o.Request.Method)
	b.path.Append(o.Path)
	b.browser.Append(o.Browser)
	b.browserVersion.Append(o.BrowserVersion)
	b.os.Append(o.OS)
	b.device.Append(o.Device)
	b.country.Append(o.Country)
	b.region.Append(o.Region)
	b.city.Append(o.City)
	b.locale.Append(o.Locale)
	b.appVersion.Append(o.AppVersion)
}

func (b *occurrenceBlock) reset() {
	b.bytes = 0
	columns.Reset(b.columns())
	b.encoded.Reset()
}

// columns lists the columns in the order of the table.
func (b *occurrenceBlock) columns() []columns.Column {
	return []columns.Column{
		{Name: "environment", Type: proto.ColumnTypeUInt64, Data: &b.environment},
		{Name: "issue", Type: proto.ColumnTypeUInt64, Data: &b.issue},
		{Name: "ts", Type: columns.Time, Data: &b.ts},
		{Name: "received_at", Type: columns.Time, Data: &b.receivedAt},
		{Name: "id", Type: columns.String, Data: &b.id},
		{Name: "fingerprint", Type: columns.Word, Data: &b.fingerprint},
		{Name: "level", Type: columns.Word, Data: &b.level},
		{Name: "name", Type: columns.Word, Data: &b.name},
		{Name: "message", Type: columns.String, Data: &b.message},
		{Name: "culprit", Type: columns.Word, Data: &b.culprit},
		{Name: "handled", Type: proto.ColumnTypeBool, Data: &b.handled},
		{Name: "mechanism", Type: columns.Word, Data: &b.mechanism},
		{Name: "release", Type: columns.Word, Data: &b.release},
		{Name: "stack", Type: columns.String, Data: &b.stack},
		{Name: "frames", Type: columns.String, Data: &b.frames},
		{Name: "breadcrumbs", Type: columns.String, Data: &b.breadcrumbs},
		{Name: "tags", Type: columns.String, Data: &b.tags},
		{Name: "extra", Type: columns.String, Data: &b.extra},
		{Name: "request_method", Type: columns.Word, Data: &b.requestMethod},
		{Name: "request_url", Type: columns.String, Data: &b.requestURL},
		{Name: "request_status", Type: proto.ColumnTypeUInt16, Data: &b.status},
		{Name: "url", Type: columns.String, Data: &b.url},
		{Name: "path", Type: columns.Word, Data: &b.path},
		{Name: "referrer", Type: columns.String, Data: &b.referrer},
		{Name: "person_id", Type: columns.String, Data: &b.personID},
		{Name: "session_id", Type: columns.String, Data: &b.sessionID},
		{Name: "distinct_id", Type: columns.String, Data: &b.distinctID},
		{Name: "anonymous_id", Type: columns.String, Data: &b.anonymousID},
		{Name: "browser", Type: columns.Word, Data: &b.browser},
		{Name: "browser_version", Type: columns.Word, Data: &b.browserVersion},
		{Name: "os", Type: columns.Word, Data: &b.os},
		{Name: "device", Type: columns.Word, Data: &b.device},
		{Name: "country", Type: columns.Word, Data: &b.country},
		{Name: "region", Type: columns.Word, Data: &b.region},
		{Name: "city", Type: columns.Word, Data: &b.city},
		{Name: "locale", Type: columns.Word, Data: &b.locale},
		{Name: "app_version", Type: columns.Word, Data: &b.appVersion},
		{Name: "block", Type: proto.ColumnTypeUInt64, Data: &b.block},
		{Name: "expires", Type: proto.ColumnTypeDate, Data: &b.expires},
		{Name: "details", Type: columns.String, Data: &b.details},
		{Name: "life", Type: proto.ColumnTypeUInt64, Data: &b.life},
	}
}

// encode returns the rows as one Native block of revision 0, valid until the next call.
func (b *occurrenceBlock) encode(block uint64) []byte {
	b.block = b.block[:0]
	for range b.environment {
		b.block = append(b.block, block)
	}
	return columns.Encode(&b.encoded, b.columns(), b.rows())
}
