package forward

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/destination"
)

// meta sends events by Meta's Conversions API, Graph API v26.0
// (https://developers.facebook.com/documentation/ads-commerce/conversions-api/parameters/server-event and
// …/parameters/customer-information-parameters, of February 2026). v26.0 is the version of Meta's client
// facebook_business 26.0.3, of November 2026.
//
// An event is at most seven days old. A request contains up to 1,000 events and is refused as a whole. Meta detects
// repetitions by event_name and event_id for 48 hours. E-mail addresses are hashed in lower case, phone numbers as
// digits with the country code. An event on a web page requires the page's address and the client's user agent; an
// event without both is sent as system_generated.
type meta struct{ base string }

const (
	metaVersion = "v26.0"
	// metaBatch is less than Meta's maximum, because after one bad event the others must be sent again.
	metaBatch = 100
	metaAge   = 7 * 24 * time.Hour
)

func (meta) batch() int { return metaBatch }

// metaEvent is one event of a request.
type metaEvent struct {
	Name         string         `json:"event_name"`
	Time         int64          `json:"event_time"`
	ID           string         `json:"event_id"`
	ActionSource string         `json:"action_source"`
	URL          string         `json:"event_source_url,omitempty"`
	Referrer     string         `json:"referrer_url,omitempty"`
	User         map[string]any `json:"user_data"`
	Custom       map[string]any `json:"custom_data,omitempty"`
}

func (m meta) send(ctx context.Context, s *Sender, request *destination.DispatchRequest) []destination.DispatchOutcome {
	return s.sendYoung(request, metaAge, func(young *destination.DispatchRequest) []destination.DispatchOutcome { return m.post(ctx, s, young) })
}

func (m meta) post(ctx context.Context, s *Sender, request *destination.DispatchRequest) []destination.DispatchOutcome {
	events := make([]metaEvent, len(request.Items))
	for i := range request.Items {
		events[i] = metaEventOf(request, &request.Items[i])
	}
	body := map[string]any{"data": events}
	if code := request.Destination.Config.TestEventCode; code != "" {
		body["test_event_code"] = code
	}
	encoded, logged, err := encode(body, "user_data")
	if err != nil {
		return outcomes(len(events), destination.DispatchOutcome{Error: err.Error()})
	}
	header := jsonHeader()
	header.Set("Authorization", "Bearer "+request.Credential.Secret.Reveal())
	made, answer := s.post(ctx, &call{
		url: fmt.Sprintf("%s/%s/%s/events", m.base, metaVersion, request.Destination.Config.PixelID), header: header, body: encoded, logged: logged, secrets: []domain.Secret{request.Credential.Secret},
	})
	if !made.OK {
		judgeMeta(&made, answer)
	}
	return outcomes(len(events), made)
}

// metaEventOf returns a conversion in Meta's format.
func metaEventOf(request *destination.DispatchRequest, item *destination.DispatchItem) metaEvent {
	c, contact := item.Conversion, contactOf(request, item)
	event := metaEvent{Name: c.Name, Time: c.At.Unix(), ID: c.EventID, ActionSource: "system_generated", User: map[string]any{}, Custom: map[string]any{}}
	if c.Context.URL != "" && c.UserAgent != "" {
		event.ActionSource, event.URL, event.Referrer = "website", c.Context.URL, c.Context.Referrer
	}
	hashed := func(name, hash string) {
		if hash != "" {
			event.User[name] = []string{hash}
		}
	}
	hashed("em", destination.HashEmail(contact.Email))
	hashed("ph", destination.HashPhone(contact.Phone, false))
	hashed("external_id", destination.SHA256Hex(subjectOf(request, item)))
	if request.Destination.Config.PersonFields != destination.PersonNone {
		hashed("country", destination.SHA256Hex(strings.ToLower(c.Context.Country)))
		hashed("ct", destination.SHA256Hex(letters(c.Context.City)))
	}
	if c.UserAgent != "" {
		event.User["client_user_agent"] = c.UserAgent
	}
	if id := c.Context.ClickIDs.FBCLID; id != "" {
		event.User["fbc"] = fmt.Sprintf("fb.1.%d.%s", c.At.UnixMilli(), id)
	}
	if c.Value != nil {
		event.Custom["value"] = *c.Value
	}
	if c.Currency != "" {
		event.Custom["currency"] = c.Currency
	}
	if len(c.Contents) > 0 {
		lines := make([]map[string]any, len(c.Contents))
		for i, line := range c.Contents {
			lines[i] = compact(map[string]any{"id": line.ID, "quantity": line.Quantity, "item_price": line.Price, "title": line.Name})
		}
		event.Custom["contents"], event.Custom["content_type"] = lines, "product"
	}
	if order := orderOf(c); order != "" {
		event.Custom["order_id"] = order
	}
	return event
}

// letters returns the letters of a name in lower case, as Meta hashes cities.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -.,'’", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// compact drops members that are nil.
func compact(members map[string]any) map[string]any {
	for name, value := range members {
		switch value := value.(type) {
		case *float64:
			if value == nil {
				delete(members, name)
			}
		case *string:
			if value == nil {
				delete(members, name)
			}
		case string:
			if value == "" {
				delete(members, name)
			}
		}
	}
	return members
}

// orderOf returns the number of an order among the properties of a conversion.
func orderOf(c *destination.Conversion) string {
	var properties struct {
		OrderID       any `json:"order_id"`
		Order         any `json:"orderId"`
		TransactionID any `json:"transaction_id"`
	}
	_ = json.Unmarshal(c.Properties, &properties) // A value that is not an object contains no order.
	for _, id := range []any{properties.OrderID, properties.Order, properties.TransactionID} {
		if id != nil {
			return fmt.Sprint(id)
		}
	}
	return ""
}

// sendYoung sends the conversions that a platform still accepts, and fails the others.
func (s *Sender) sendYoung(request *destination.DispatchRequest, age time.Duration, send func(young *destination.DispatchRequest) []destination.DispatchOutcome) []destination.DispatchOutcome {
	made := make([]destination.DispatchOutcome, len(request.Items))
	young, places := *request, []int{}
	young.Items = nil
	for i := range request.Items {
		if s.now().Sub(request.Items[i].Conversion.At) > age {
			made[i].Error = fmt.Sprintf("the platform takes no event that is older than %d days", int(age.Hours()/24))
			continue
		}
		young.Items, places = append(young.Items, request.Items[i]), append(places, i)
	}
	if len(young.Items) == 0 {
		return made
	}
	for i, outcome := range send(&young) {
		made[places[i]] = outcome
	}
	return made
}

// judgeMeta reads an error of the Graph API (https://developers.facebook.com/docs/graph-api/guides/error-handling):
// transient errors and rate-limit errors may succeed later, independently of their status.
func judgeMeta(o *destination.DispatchOutcome, body []byte) {
	var answer struct {
		Error struct {
			Message   string `json:"message"`
			Code      int    `json:"code"`
			Subcode   int    `json:"error_subcode"`
			Transient bool   `json:"is_transient"`
		} `json:"error"`
	}
	if domain.DecodeJSON(body, &answer) != nil || answer.Error.Code == 0 {
		return
	}
	o.Error = cut(fmt.Sprintf("Meta refused it with code %d: %s", answer.Error.Code, answer.Error.Message))
	switch code := answer.Error.Code; {
	case answer.Error.Transient, code == 1, code == 2, code == 4, code == 17, code == 32, code == 341, code == 613, code >= 80000 && code < 80100:
		o.Retry = true
	case o.StatusCode < http.StatusInternalServerError:
		o.Retry = false
	}
}
