package clickhouse

import (
	"github.com/ClickHouse/ch-go/proto"

	"svc"
)

// occurrenceBlock holds the columns of the occurrences of a block. As with events,
// strings of low cardinality are kept by reference until the reset.
type occurrenceBlock struct {
	bytes int

	environment, issue, block        proto.ColUInt64
	ts, receivedAt                   proto.ColInt64
	handled                          proto.ColBool
	status, expires                  proto.ColUInt16
	id, message, stack               proto.ColStr
	frames, breadcrumbs, tags, extra proto.ColStr
	details                          proto.ColStr
	requestURL, url, referrer        proto.ColStr
	personID, sessionID              proto.ColStr
	distinctID, anonymousID          proto.ColStr
	fingerprint, level, name         dictionary
	culprit, mechanism, release      dictionary
	requestMethod, path              dictionary
	browser, browserVersion          dictionary
	os, device                       dictionary
	country, region, city            dictionary
	locale, appVersion               dictionary
	encoded                          proto.Buffer
}

func (b *occurrenceBlock) rows() int { return len(b.environment) }

func (b *occurrenceBlock) append(row *svc.OccurrenceRow) {
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

func (b *occurrenceBlock) appendWords(row *svc.OccurrenceRow) {
	o := &row.Occurrence
	b.fingerprint.append(row.Fingerprint)
	b.level.append(string(o.Level))
	b.name.append(o.Name)
	b.culprit.append(o.Culprit)
	b.mechanism.append(o.Mechanism)
	b.release.append(o.Release)
	b.requestMethod.append(o.Request.Method)
	b.path.append(o.Path)
	b.browser.append(o.Browser)
	b.browserVersion.append(o.BrowserVersion)
	b.os.append(o.OS)
	b.device.append(o.Device)
	b.country.append(o.Country)
	b.region.append(o.Region)
	b.city.append(o.City)
	b.locale.append(o.Locale)
	b.appVersion.append(o.AppVersion)
}

func (b *occurrenceBlock) reset() {
	b.bytes = 0
	resetColumns(b.columns())
	b.encoded.Reset()
}

// columns lists the columns in the order of the table.
func (b *occurrenceBlock) columns() []blockColumn {
	return []blockColumn{
		{"environment", proto.ColumnTypeUInt64, &b.environment},
		{"issue", proto.ColumnTypeUInt64, &b.issue},
		{"ts", kindTime, &b.ts},
		{"received_at", kindTime, &b.receivedAt},
		{"id", kindString, &b.id},
		{"fingerprint", kindWord, &b.fingerprint},
		{"level", kindWord, &b.level},
		{"name", kindWord, &b.name},
		{"message", kindString, &b.message},
		{"culprit", kindWord, &b.culprit},
		{"handled", proto.ColumnTypeBool, &b.handled},
		{"mechanism", kindWord, &b.mechanism},
		{"release", kindWord, &b.release},
		{"stack", kindString, &b.stack},
		{"frames", kindString, &b.frames},
		{"breadcrumbs", kindString, &b.breadcrumbs},
		{"tags", kindString, &b.tags},
		{"extra", kindString, &b.extra},
		{"request_method", kindWord, &b.requestMethod},
		{"request_url", kindString, &b.requestURL},
		{"request_status", proto.ColumnTypeUInt16, &b.status},
		{"url", kindString, &b.url},
		{"path", kindWord, &b.path},
		{"referrer", kindString, &b.referrer},
		{"person_id", kindString, &b.personID},
		{"session_id", kindString, &b.sessionID},
		{"distinct_id", kindString, &b.distinctID},
		{"anonymous_id", kindString, &b.anonymousID},
		{"browser", kindWord, &b.browser},
		{"browser_version", kindWord, &b.browserVersion},
		{"os", kindWord, &b.os},
		{"device", kindWord, &b.device},
		{"country", kindWord, &b.country},
		{"region", kindWord, &b.region},
		{"city", kindWord, &b.city},
		{"locale", kindWord, &b.locale},
		{"app_version", kindWord, &b.appVersion},
		{"block", proto.ColumnTypeUInt64, &b.block},
		{"expires", proto.ColumnTypeDate, &b.expires},
		{"details", kindString, &b.details},
	}
}

// encode returns the rows as one Native block of revision 0, valid until the next call.
func (b *occurrenceBlock) encode(block uint64) []byte {
	b.block = b.block[:0]
	for range b.environment {
		b.block = append(b.block, block)
	}
	return encodeColumns(&b.encoded, b.columns(), b.rows())
}
