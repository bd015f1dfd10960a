package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"svc/cmd/svc/accesslog"
	"svc/domain/event"
)

// pageItem is one item of a batch (contract 36).
type pageItem struct {
	Type       string      `json:"type"`
	ID         string      `json:"id"`
	Ts         time.Time   `json:"ts"`
	DistinctID string      `json:"distinctId"`
	URL        string      `json:"url,omitempty"`
	Path       string      `json:"path"`
	Referrer   string      `json:"referrer,omitempty"`
	Context    pageContext `json:"context"`
}

type pageContext struct {
	IP        string `json:"ip"`
	UserAgent string `json:"userAgent"`
}

// itemBuilder makes items from the lines of one log. It counts the lines, because a line's number is part of its item's
// id.
type itemBuilder struct {
	shift time.Duration
	site  string
	lines int64
}

// next processes the next line of the log and returns its item as JSON, with its visitor. It counts a line that is not
// a page view and returns nil.
func (b *itemBuilder) next(raw []byte, line accesslog.Line, ok bool, totals *importTotals) (encoded []byte, visitor string) {
	b.lines++
	switch {
	case !ok:
		totals.malformed.Add(1)
		return nil, ""
	case !line.IsPageView():
		totals.skipped.Add(1)
		return nil, ""
	}
	visitor = line.Visitor()
	item := pageItem{
		Type: "page", ID: lineID("log_", b.lines, raw), Ts: line.Time.Add(b.shift).UTC(),
		DistinctID: visitor, Path: line.Path(),
		// A log writes "-" for unknown values. The user agent is also sent as "-": without one, the event would get
		// this program's own.
		Context: pageContext{IP: line.Address, UserAgent: line.UserAgent},
	}
	switch {
	case b.site != "":
		item.URL = b.site + line.OriginForm()
	case line.HasQuery():
		item.URL = line.Target
	}
	if line.Referrer != "-" {
		item.Referrer = line.Referrer
	}
	encoded, err := json.Marshal(item)
	if err != nil { // only a time outside the years 0 to 9999 cannot be encoded
		totals.malformed.Add(1)
		return nil, ""
	}
	return encoded, visitor
}

// lineID returns the id of a line's event. The same line of the same file has the same id in every import.
func lineID(prefix string, number int64, raw []byte) string {
	hash := sha256.New()
	hash.Write(strconv.AppendInt(nil, number, 10))
	hash.Write([]byte{'\n'})
	hash.Write(raw)
	return prefix + hex.EncodeToString(hash.Sum(nil)[:16])
}

// importBatch is the growing body of one request.
type importBatch struct {
	body []byte
	// lines are the line numbers of the items in the file.
	lines []int64
}

// importItem is an item ready to be sent, as JSON, with its visitor and its line number in the file.
type importItem struct {
	line    int64
	visitor string
	encoded []byte
}

// The texts before and after the items of a batch.
const (
	batchHead = `{"items":[`
	batchTail = `]}`
)

// fits reports whether an item may be added: a request stays within its limits even before compression.
func (b *importBatch) fits(item []byte) bool {
	return len(b.lines) == 0 || len(b.lines) < event.MaxBatchItems && len(b.body)+len(item)+len(batchTail)+1 <= event.MaxRequestBytes-1024
}

// add appends an item.
func (b *importBatch) add(item importItem) {
	if len(b.lines) == 0 {
		b.body = append(b.body, batchHead...)
	} else {
		b.body = append(b.body, ',')
	}
	b.body = append(b.body, item.encoded...)
	b.lines = append(b.lines, item.line)
}
