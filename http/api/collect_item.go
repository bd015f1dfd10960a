package api

import (
	"bytes"
	"encoding/base32"
	"encoding/binary"
	stdjson "encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/segmentio/encoding/json"
	"github.com/zeebo/xxh3"

	"svc"
	"svc/protos"
)

// itemKind is the type of an item.
type itemKind string

const (
	itemAny      itemKind = ""
	itemEvent    itemKind = "event"
	itemPage     itemKind = "page"
	itemIdentify itemKind = "identify"
	itemAlias    itemKind = "alias"
)

// envelope is the body of a batch.
type envelope struct {
	SentAt   string      `json:"sentAt" doc:"When the client sent the request, to correct its clock."`
	WriteKey string      `json:"writeKey"`
	Context  itemContext `json:"context"`
	Items    []item      `json:"items"`
}

// item is what a client sends for one event; unknown fields are ignored.
type item struct {
	Type        itemKind           `json:"type" doc:"event, page, identify or alias; needed in a batch."`
	ID          string             `json:"id" doc:"The client's own id of the event; the same id is stored once. One is derived where it is missing."`
	Ts          string             `json:"ts" doc:"When it happened, ISO 8601; the arrival where it is missing."`
	DistinctID  string             `json:"distinctId" doc:"Who it was, as the customer knows the person. This or anonymousId is needed."`
	AnonymousID string             `json:"anonymousId" doc:"Who it was, before the person is known."`
	PreviousID  string             `json:"previousId"`
	SessionID   string             `json:"sessionId" doc:"The client's own session; sessions are found where it is missing."`
	Name        string             `json:"name" doc:"What happened; page_view for a page."`
	URL         string             `json:"url"`
	Path        string             `json:"path"`
	Referrer    string             `json:"referrer"`
	Title       string             `json:"title"`
	Properties  stdjson.RawMessage `json:"properties" doc:"Any object, at most 4 deep and 64 KiB with the event."`
	Traits      stdjson.RawMessage `json:"traits" doc:"What is known of the person, for identify."`
	Value       *float64           `json:"value"`
	Currency    string             `json:"currency"`
	Release     string             `json:"release"`
	EngagedMs   int64              `json:"engagedMs" doc:"Milliseconds of attention since the last event of the session."`
	Context     itemContext        `json:"context"`
	SentAt      string             `json:"sentAt"`
	WriteKey    string             `json:"writeKey"`

	// broken says why the item could not be read.
	broken string
}

// itemContext is what surrounds an item. IP and UserAgent count for secret keys
// only.
type itemContext struct {
	Locale    string             `json:"locale"`
	Screen    stdjson.RawMessage `json:"screen"`
	Library   stdjson.RawMessage `json:"library"`
	Campaign  campaign           `json:"campaign"`
	UTM       campaign           `json:"utm"`
	URL       string             `json:"url"`
	Path      string             `json:"path"`
	Referrer  string             `json:"referrer"`
	Title     string             `json:"title"`
	IP        string             `json:"ip" doc:"The visitor's address; counts for secret keys only."`
	UserAgent string             `json:"userAgent" doc:"The visitor's browser; counts for secret keys only."`
}

type campaign struct {
	Source   string `json:"source"`
	Medium   string `json:"medium"`
	Name     string `json:"name"`
	Campaign string `json:"campaign"`
	Term     string `json:"term"`
	Content  string `json:"content"`
}

// decode reads the body: a batch, one item, or a list of items.
func (i *intakeRequest) decode(kind itemKind) error {
	body := bytes.TrimLeft(i.body, " \t\r\n")
	var err error
	switch {
	case len(body) == 0:
		return svc.Invalid(svc.FieldError{Code: "empty_body", Message: "The body is empty."})
	case !utf8.Valid(body):
		return svc.Invalid(svc.FieldError{Code: "invalid_utf8", Message: "The body is not valid UTF-8."})
	case body[0] == '[':
		err = parse(body, &i.items)
	case kind == itemAny:
		i.envelope.Items = i.items
		err = parse(body, &i.envelope)
		i.items, i.envelope.Items = i.envelope.Items, nil
	default:
		i.items = append(i.items, item{})
		err = parse(body, &i.items[0])
		i.envelope.SentAt, i.envelope.WriteKey = i.items[0].SentAt, i.items[0].WriteKey
	}
	if err != nil {
		err = i.decodeApart(body, kind)
	}
	if err != nil {
		return svc.Invalid(svc.FieldError{Code: "invalid_json", Message: "The body is not the JSON that is expected here: " + shortError(err)})
	}
	if len(i.items) > svc.MaxBatchItems {
		return tooLarge("The request holds more than %d items.", svc.MaxBatchItems)
	}
	return nil
}

// parse decodes a whole JSON text. The strings of the result are parts of the
// text itself, so they live as long as the request's buffers: whatever outlives
// the request is copied (events are, when they are encoded). Names of fields are
// matched exactly.
func parse(text []byte, into any) error {
	rest, err := json.Parse(text, into, json.ZeroCopy|json.DontMatchCaseInsensitiveStructFields)
	if err == nil && len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
		return errors.New("text follows the JSON")
	}
	return err
}

// decodeApart reads a body of which some item has a wrong type: the other items
// are none the worse for it.
func (i *intakeRequest) decodeApart(body []byte, kind itemKind) error {
	var raws []stdjson.RawMessage
	if body[0] == '[' {
		if err := stdjson.Unmarshal(body, &raws); err != nil {
			return err
		}
	} else {
		var apart struct {
			SentAt   string               `json:"sentAt"`
			WriteKey string               `json:"writeKey"`
			Context  itemContext          `json:"context"`
			Items    []stdjson.RawMessage `json:"items"`
		}
		if err := stdjson.Unmarshal(body, &apart); err != nil {
			return err
		}
		if kind != itemAny {
			apart.Items = []stdjson.RawMessage{body}
		}
		i.envelope.SentAt, i.envelope.WriteKey, i.envelope.Context, raws = apart.SentAt, apart.WriteKey, apart.Context, apart.Items
	}
	clear(i.items)
	i.items = i.items[:0]
	for _, raw := range raws {
		var it item
		if err := stdjson.Unmarshal(raw, &it); err != nil {
			it = item{broken: shortError(err)}
		}
		i.items = append(i.items, it)
	}
	return nil
}

// shortError returns the first part of a decoder's sentence; it may quote the
// client's own bytes only.
func shortError(err error) string {
	text := strings.ToValidUTF8(err.Error(), "")
	return text[:min(len(text), 200)]
}

// accept judges one item and emits its event, or rejects it.
func (i *intakeRequest) accept(index int, it *item, kind itemKind) {
	if kind == itemAny || kind == itemEvent && it.Type != "" {
		kind = it.Type
	}
	if it.broken != "" {
		i.reject(index, "invalid_type", "The item has a field of a wrong type: "+it.broken)
		return
	}
	event := &i.event
	event.Reset()
	if code, message := i.fill(event, it, kind); code != "" {
		i.reject(index, code, message)
		return
	}
	if err := i.emit(event); err != nil {
		i.reject(index, "invalid_value", "The item cannot be encoded.")
	}
}

// fill makes the event of an item; a code says why there is none.
func (i *intakeRequest) fill(event *protos.Event, it *item, kind itemKind) (code, message string) {
	switch kind {
	case itemEvent:
		event.Name = it.Name
	case itemPage:
		event.Name = svc.PageView
		if it.Name != "" {
			event.Name = it.Name
		}
	case itemIdentify:
		event.Name, it.Properties = svc.IdentifyEvent, it.Traits
	case itemAlias:
		event.Name = svc.AliasEvent
	case itemAny:
		return "missing_value", "type is missing; allowed are event, page, identify and alias."
	default:
		return "unknown_type", "Unknown type; allowed are event, page, identify and alias."
	}
	if code, message = i.checkModule(); code != "" {
		return code, message
	}
	i.identify(event, it)
	i.place(event, it)
	i.contextualise(event, it)
	if code, message = checkWords(event); code != "" {
		return code, message
	}
	if code, message = i.stamp(event, it); code != "" {
		return code, message
	}
	if code, message = fillProperties(event, it.Properties); code != "" {
		return code, message
	}
	if event.Id == "" {
		event.Id = derivedID(event)
	}
	if event.SizeVT() > svc.MaxEventBytes {
		return "too_large", "The event is over 65536 bytes."
	}
	return "", ""
}

// checkModule refuses items of a module that is off.
func (i *intakeRequest) checkModule() (code, message string) {
	for _, module := range i.collector.Modules {
		if module == svc.ModuleAnalytics {
			return "", ""
		}
	}
	return string(svc.CodeModuleDisabled), "The application has switched the module analytics off."
}

// identify fills who sent it and under which terms.
func (i *intakeRequest) identify(event *protos.Event, it *item) {
	event.Environment = i.collector.Environment.Number
	event.RetentionDays = uint32(i.collector.RetentionDays)
	event.Id, event.SessionId = it.ID, it.SessionID
	event.DistinctId, event.AnonymousId = it.DistinctID, it.AnonymousID
	event.Value, event.Currency, event.Release = it.Value, it.Currency, it.Release
	event.EngagedMs = max(0, min(it.EngagedMs, int64(24*time.Hour/time.Millisecond)))
	event.Ip, event.UserAgent = i.remoteIP, i.userAgent
}

// place fills which page it is about.
func (i *intakeRequest) place(event *protos.Event, it *item) {
	event.Url, event.Path, event.Referrer, event.Title = it.URL, it.Path, it.Referrer, it.Title
	for _, context := range [...]*itemContext{&it.Context, &i.envelope.Context} {
		event.Url = firstOf(event.Url, context.URL)
		event.Path = firstOf(event.Path, context.Path)
		event.Referrer = firstOf(event.Referrer, context.Referrer)
		event.Title = firstOf(event.Title, context.Title)
	}
	if event.Path == "" && event.Url != "" {
		event.Path = svc.PathOf(event.Url)
	}
}

// contextualise fills what surrounds it. The address and the user agent in the
// context count for secret keys only.
func (i *intakeRequest) contextualise(event *protos.Event, it *item) {
	for _, context := range [...]*itemContext{&it.Context, &i.envelope.Context} {
		event.Locale = firstOf(event.Locale, context.Locale)
		event.Screen = firstOf(event.Screen, i.screenOf(context.Screen))
		event.Library = firstOf(event.Library, libraryOf(context.Library))
		for _, stated := range [...]*campaign{&context.Campaign, &context.UTM} {
			if *stated != (campaign{}) && event.Campaign == nil {
				i.campaign = protos.Campaign{Source: stated.Source, Medium: stated.Medium, Name: firstOf(stated.Name, stated.Campaign), Term: stated.Term, Content: stated.Content}
				event.Campaign = &i.campaign
			}
		}
	}
	if i.collector.Kind != svc.KeySecret {
		return
	}
	for _, context := range [...]*itemContext{&i.envelope.Context, &it.Context} {
		event.Ip, event.UserAgent = firstOf(context.IP, event.Ip), firstOf(context.UserAgent, event.UserAgent)
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// screenOf reads a screen as text or as {width, height}. The items of a request
// mostly come from one screen, so the last one is remembered.
func (i *intakeRequest) screenOf(raw stdjson.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	if !bytes.Equal(raw, i.screenRaw) {
		i.screenRaw, i.screen = append(i.screenRaw[:0], raw...), strings.Clone(screenText(raw))
	}
	return i.screen
}

// maxScreen is the longest side of a screen that is believed, in pixels.
const maxScreen = 1_000_000

func screenText(raw stdjson.RawMessage) string {
	var size struct {
		Width  float64 `json:"width"`
		Height float64 `json:"height"`
	}
	if raw[0] == '{' && parse(raw, &size) == nil && size.Width > 0 && size.Width < maxScreen && size.Height > 0 && size.Height < maxScreen {
		return strconv.Itoa(int(size.Width)) + "x" + strconv.Itoa(int(size.Height))
	}
	return textOf(raw)
}

// libraryOf reads a library as text or as {name, version}.
func libraryOf(raw stdjson.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var library struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if raw[0] == '{' && parse(raw, &library) == nil {
		return strings.TrimSuffix(library.Name+"/"+library.Version, "/")
	}
	return textOf(raw)
}

func textOf(raw stdjson.RawMessage) string {
	var text string
	if raw[0] == '"' && parse(raw, &text) == nil {
		return text
	}
	return ""
}

// checkWords holds every text of an event to its limits.
func checkWords(event *protos.Event) (code, message string) {
	for _, word := range [...]struct {
		field, value string
		limit        int
		required     bool
	}{
		{"name", event.Name, svc.MaxNameBytes, true},
		{"id", event.Id, svc.MaxIDBytes, false},
		{"distinctId", event.DistinctId, svc.MaxIDBytes, false},
		{"anonymousId", event.AnonymousId, svc.MaxIDBytes, false},
		{"sessionId", event.SessionId, svc.MaxIDBytes, false},
		{"url", event.Url, svc.MaxURLBytes, false},
		{"path", event.Path, svc.MaxURLBytes, false},
		{"referrer", event.Referrer, svc.MaxURLBytes, false},
		{"title", event.Title, svc.MaxTextBytes, false},
		{"locale", event.Locale, svc.MaxNameBytes, false},
		{"screen", event.Screen, svc.MaxNameBytes, false},
		{"library", event.Library, svc.MaxNameBytes, false},
		{"release", event.Release, svc.MaxNameBytes, false},
		{"currency", event.Currency, 16, false},
	} {
		switch {
		case word.required && word.value == "":
			return "missing_value", word.field + " is missing."
		case len(word.value) > word.limit:
			return "too_long", word.field + " is over " + strconv.Itoa(word.limit) + " bytes."
		case strings.IndexByte(word.value, 0) >= 0:
			return "invalid_value", word.field + " holds a NUL character."
		}
	}
	if event.DistinctId == "" && event.AnonymousId == "" {
		return "missing_value", "distinctId or anonymousId is missing."
	}
	if event.Value != nil && (math.IsNaN(*event.Value) || math.IsInf(*event.Value, 0)) {
		return "invalid_value", "value is not finite."
	}
	event.UserAgent = event.UserAgent[:min(len(event.UserAgent), svc.MaxTextBytes)]
	return "", ""
}

// stamp fills the times: the client's time corrected by the difference between
// when it says it sent the request and when the request arrived, not later than
// a tolerance from now, not earlier than the key's kind allows.
func (i *intakeRequest) stamp(event *protos.Event, it *item) (code, message string) {
	event.ReceivedMs = i.now.UnixMilli()
	event.TsMs = event.ReceivedMs
	if it.Ts != "" {
		ts, err := time.Parse(time.RFC3339Nano, it.Ts)
		if err != nil {
			return "invalid_value", "ts is not an ISO 8601 timestamp."
		}
		event.TsMs = ts.UnixMilli()
		if i.envelope.SentAt != "" {
			sent, err := time.Parse(time.RFC3339Nano, i.envelope.SentAt)
			if err != nil {
				return "invalid_value", "sentAt is not an ISO 8601 timestamp."
			}
			event.TsMs += event.ReceivedMs - sent.UnixMilli()
		}
	}
	event.TsMs = min(event.TsMs, i.now.Add(svc.FutureTolerance).UnixMilli())
	oldest := i.now.Add(-svc.PublicEventAge)
	if i.collector.Kind == svc.KeySecret {
		oldest = i.now.AddDate(0, 0, -i.collector.RetentionDays)
	}
	if event.TsMs < oldest.UnixMilli() {
		return "too_old", "ts is older than this key may send."
	}
	return "", ""
}

// fillProperties checks the properties: an object, not too deep, not too large.
func fillProperties(event *protos.Event, raw stdjson.RawMessage) (code, message string) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", ""
	}
	if raw[0] != '{' {
		return "invalid_value", "properties is not an object."
	}
	switch depth, keys, nul := measureJSON(raw); {
	case depth > svc.MaxPropertyDepth:
		return "too_deep", "properties is nested deeper than 4."
	case keys > svc.MaxPropertiesKeys:
		return "too_many", "properties has more than 512 keys."
	case nul:
		return "invalid_value", "properties holds a NUL character."
	}
	event.Properties = raw
	return "", ""
}

// measureJSON returns the depth of a valid JSON text, its number of keys, and
// whether it holds an escaped NUL character.
func measureJSON(raw []byte) (depth, keys int, nul bool) {
	level, quoted := 0, false
	for at := 0; at < len(raw); at++ {
		c := raw[at]
		if quoted {
			switch c {
			case '\\':
				nul = nul || bytes.HasPrefix(raw[at:], []byte(`\u0000`))
				at++
			case '"':
				quoted = false
			}
			continue
		}
		switch c {
		case '"':
			quoted = true
		case '{', '[':
			level++
			depth = max(depth, level)
		case '}', ']':
			level--
		case ':':
			keys++
		}
	}
	return depth, keys, nul
}

// derivedID names an event that came without an id by what it says, so that the
// same event sent again has the same id.
func derivedID(event *protos.Event) string {
	h := xxh3.New()
	var number [8]byte
	for _, word := range [...]string{event.DistinctId, event.AnonymousId, event.Name, event.Url} {
		_, _ = h.WriteString(word)
		_, _ = h.Write([]byte{0})
	}
	binary.LittleEndian.PutUint64(number[:], uint64(event.TsMs))
	_, _ = h.Write(number[:])
	_, _ = h.Write(event.Properties)
	sum := h.Sum128().Bytes()
	return "evt_" + base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
}
