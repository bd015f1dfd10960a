package ingest

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/segmentio/encoding/json"

	"svc/domain"
	"svc/domain/event"
)

// itemKind is the type of an item.
type itemKind string

const (
	itemAny      itemKind = ""
	itemEvent    itemKind = "event"
	itemPage     itemKind = "page"
	itemIdentify itemKind = "identify"
	itemAlias    itemKind = "alias"
	itemGroup    itemKind = "group"
)

// envelope is the body of a batch.
type envelope struct {
	SentAt   string      `json:"sentAt" doc:"When the client sent the request, to correct its clock."`
	WriteKey string      `json:"writeKey"`
	Context  itemContext `json:"context"`
	Items    []item      `json:"items"`
	// Integrations apply to every item that has none.
	Integrations map[string]stdjson.RawMessage `json:"integrations,omitempty" doc:"Which destinations may be sent the items that say nothing of their own: All, or a kind of destination, as true or false."`
}

// item is one event as a client sends it; unknown fields are ignored.
type item struct {
	Type        itemKind           `json:"type" open:"true" doc:"event, page, identify, alias, group, error, metric or vital; needed in a batch."`
	ID          string             `json:"id" doc:"The client's own id of the event; the same id is stored once. One is derived where it is missing."`
	Ts          string             `json:"ts" doc:"When it happened, ISO 8601; the arrival where it is missing."`
	DistinctID  string             `json:"distinctId" doc:"Who it was, as the customer knows the person. This or anonymousId is needed."`
	AnonymousID string             `json:"anonymousId" doc:"Who it was, before the person is known."`
	PreviousID  string             `json:"previousId" doc:"For alias: the other id of the same person."`
	SessionID   string             `json:"sessionId" doc:"The client's own session; sessions are found where it is missing."`
	Name        string             `json:"name" doc:"What happened; page_view for a page."`
	URL         string             `json:"url"`
	Path        string             `json:"path"`
	Referrer    string             `json:"referrer"`
	Title       string             `json:"title"`
	Properties  stdjson.RawMessage `json:"properties" doc:"Any object, at most 4 deep and 64 KiB with the event."`
	Traits      stdjson.RawMessage `json:"traits" doc:"What is known of the person, for identify; of the company, for group."`
	// UserHash and PreviousUserHash prove ids of a public key.
	UserHash         string      `json:"userHash,omitempty" doc:"HMAC-SHA256 of distinctId under the SHA-256 of a secret key, in hex; for applications that require it of public keys."`
	PreviousUserHash string      `json:"previousUserHash,omitempty" doc:"For alias: the same of previousId."`
	GroupID          string      `json:"groupId,omitempty" doc:"For group: the id of the company to which the person belongs."`
	Value            *float64    `json:"value"`
	Currency         string      `json:"currency"`
	Release          string      `json:"release"`
	EngagedMs        int64       `json:"engagedMs" doc:"Milliseconds of attention since the last event of the session."`
	Context          itemContext `json:"context"`
	// Integrations list the kinds of destinations to which the event may be forwarded.
	Integrations map[string]stdjson.RawMessage `json:"integrations,omitempty" doc:"Which destinations may be sent the event: All, or a kind of destination, as true or false; {\"All\":false} keeps it from all."`
	SentAt       string                        `json:"sentAt"`
	WriteKey     string                        `json:"writeKey"`

	// broken is the reason why the item could not be read.
	broken string
}

// itemContext describes the circumstances of an item. IP and UserAgent count for secret keys only. An event of a public key
// with Place or Client is refused.
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
	// A nil pointer is left out of the content from which an id is derived.
	Place  *statedPlace  `json:"place,omitempty" doc:"The place of the visitor of an event; it replaces the place of ip. With a secret key only."`
	Client *statedClient `json:"client,omitempty" doc:"The client of the visitor of an event; it replaces the client of userAgent. With a secret key only."`
}

// statedPlace and statedClient are the place and the client of a visitor by a server. A missing member is unknown.
type statedPlace struct {
	Country string `json:"country" doc:"ISO 3166, two capital letters."`
	Region  string `json:"region"`
	City    string `json:"city"`
}

type statedClient struct {
	Device         string `json:"device" doc:"desktop, mobile, tablet, tv, console or other."`
	Browser        string `json:"browser"`
	BrowserVersion string `json:"browserVersion"`
	OS             string `json:"os"`
	OSVersion      string `json:"osVersion"`
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
func (sub *submission) decode(kind itemKind) error {
	body := bytes.TrimLeft(sub.body, " \t\r\n")
	var err error
	switch {
	case len(body) == 0:
		return domain.Invalid(domain.FieldError{Code: "empty_body", Message: "The body is empty."})
	case domain.TooDeep(body): // parse has no limit of its own.
		return tooDeep()
	case !utf8.Valid(body):
		return domain.Invalid(domain.FieldError{Code: "invalid_utf8", Message: "The body is not valid UTF-8."})
	case body[0] == '[':
		err = parse(body, &sub.items)
	case kind == itemAny:
		sub.envelope.Items = sub.items
		err = parse(body, &sub.envelope)
		sub.items, sub.envelope.Items = sub.envelope.Items, nil
	default:
		sub.single = true
		sub.items = append(sub.items, item{})
		err = parse(body, &sub.items[0])
		sub.envelope.SentAt, sub.envelope.WriteKey = sub.items[0].SentAt, sub.items[0].WriteKey
	}
	if err != nil {
		err = sub.decodeApart(body, kind)
	}
	if err != nil {
		return domain.Invalid(domain.FieldError{Code: "invalid_json", Message: wrongType("The body", err)})
	}
	if len(sub.items) > event.MaxBatchItems {
		return tooLarge("The request holds more than %d items.", event.MaxBatchItems)
	}
	return nil
}

// tooDeep refuses a body with too many levels.
func tooDeep() error {
	return domain.Invalid(domain.FieldError{Code: "too_deep", Message: "The body is nested deeper than " + strconv.Itoa(domain.MaxNesting) + " levels."})
}

// parse decodes a whole JSON text; its nesting was checked before. The strings of the result are parts of the text
// itself, so they live only as long as the request's buffers. Data that outlives the request must be copied; events are
// copied when they are encoded. Names of fields are matched exactly.
func parse(text []byte, into any) error {
	rest, err := json.Parse(text, into, json.ZeroCopy|json.DontMatchCaseInsensitiveStructFields)
	if err == nil && len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
		return errors.New("text follows the JSON")
	}
	return err
}

// decodeApart reads a body in which some item has a wrong type. Only that item is rejected.
func (sub *submission) decodeApart(body []byte, kind itemKind) error {
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
		sub.envelope.SentAt, sub.envelope.WriteKey, sub.envelope.Context, raws = apart.SentAt, apart.WriteKey, apart.Context, apart.Items
	}
	clear(sub.items)
	sub.items = sub.items[:0]
	for _, raw := range raws {
		var it item
		if err := stdjson.Unmarshal(raw, &it); err != nil {
			it = item{broken: wrongType("The item", err)}
		}
		sub.items = append(sub.items, it)
	}
	return nil
}

// mustBeTime ends the refusal of a value that is no time; timeFields are the members that hold one.
const mustBeTime = " must be an ISO 8601 timestamp with a zone (RFC 3339), such as \"2026-11-27T10:00:00Z\" or \"2026-11-27T12:00:00.250+02:00\"."

var timeFields = []string{"ts", "sentAt", "trialEndsAt", "endsAt"} //nolint:gochecknoglobals // never changed

// wrongType describes why a body or an item could not be decoded: the field and its required type, without the names of
// Go types.
func wrongType(what string, err error) string {
	typed, ok := errors.AsType[*stdjson.UnmarshalTypeError](err)
	if !ok {
		return what + " is not the JSON that is expected here: " + shortError(err)
	}
	if typed.Field != "" {
		what = "The field " + typed.Field
	}
	if slices.Contains(timeFields, typed.Field[strings.LastIndexByte(typed.Field, '.')+1:]) {
		return what + mustBeTime
	}
	return what + " must be " + jsonWord(typed.Type) + "."
}

// jsonWord returns JSON's name of a type.
func jsonWord(kind reflect.Type) string {
	switch kind.Kind() {
	case reflect.Pointer:
		return jsonWord(kind.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a finite number"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "a whole number, not below 0"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

// shortError returns the first part of a decoder's sentence. The sentence quotes only the client's own bytes.
func shortError(err error) string {
	text := strings.ToValidUTF8(err.Error(), "")
	return text[:min(len(text), 200)]
}
