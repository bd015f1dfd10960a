package forward

import (
	"context"
	"fmt"
	"time"

	"svc/domain"
	"svc/domain/destination"
)

// tiktok sends events by TikTok's Events API 2.0, Business API v1.3
// (https://business-api.tiktok.com/portal/docs?id=1771100865818625). A request contains up to 1,000 web events, each at
// most seven days old. TikTok detects repetitions by event and event_id for 48 hours. E-mail addresses are hashed in
// lower case, phone numbers in E.164 with the plus sign. The status is always 200; code contains the result.
type tiktok struct{ base string }

const (
	tiktokBatch = 100
	tiktokAge   = 7 * 24 * time.Hour
)

func (tiktok) batch() int { return tiktokBatch }

func (t tiktok) send(ctx context.Context, s *Sender, request *destination.DispatchRequest) []destination.DispatchOutcome {
	return s.sendYoung(request, tiktokAge, func(young *destination.DispatchRequest) []destination.DispatchOutcome { return t.post(ctx, s, young) })
}

func (t tiktok) post(ctx context.Context, s *Sender, request *destination.DispatchRequest) []destination.DispatchOutcome {
	events := make([]map[string]any, len(request.Items))
	for i := range request.Items {
		events[i] = tiktokEvent(request, &request.Items[i])
	}
	config := &request.Destination.Config
	body := compact(map[string]any{"event_source": "web", "event_source_id": config.PixelID, "test_event_code": config.TestEventCode, "data": events})
	encoded, logged, err := encode(body, "user")
	if err != nil {
		return outcomes(len(events), destination.DispatchOutcome{Error: err.Error()})
	}
	header := jsonHeader()
	header.Set("Access-Token", request.Credential.Secret.Reveal())
	made, answer := s.post(ctx, &call{url: t.base + "/open_api/v1.3/event/track/", header: header, body: encoded, logged: logged, secrets: []domain.Secret{request.Credential.Secret}})
	if made.OK {
		judgeTikTok(&made, answer)
	}
	return outcomes(len(events), made)
}

// tiktokEvent returns a conversion in TikTok's format.
func tiktokEvent(request *destination.DispatchRequest, item *destination.DispatchItem) map[string]any {
	c, contact := item.Conversion, contactOf(request, item)
	user := map[string]any{"ttclid": c.Context.ClickIDs.TTCLID, "user_agent": c.UserAgent}
	if request.Destination.Config.PersonFields != destination.PersonNone {
		user["email"], user["phone"], user["external_id"] = destination.HashEmail(contact.Email), destination.HashPhone(contact.Phone, true), destination.SHA256Hex(subjectOf(request, item))
		user["locale"] = c.Context.Locale
	}
	properties := map[string]any{"value": c.Value, "currency": c.Currency, "order_id": orderOf(c)}
	if len(c.Contents) > 0 {
		lines := make([]map[string]any, len(c.Contents))
		for i, line := range c.Contents {
			lines[i] = compact(map[string]any{"content_id": line.ID, "quantity": line.Quantity, "price": line.Price, "content_name": line.Name})
		}
		properties["contents"], properties["content_type"] = lines, "product"
	}
	return map[string]any{
		"event": c.Name, "event_time": c.At.Unix(), "event_id": c.EventID, "user": compact(user), "properties": compact(properties),
		"page": compact(map[string]any{"url": c.Context.URL, "referrer": c.Context.Referrer}),
	}
}

// judgeTikTok reads the code of an answer. Codes of 40000 are errors of the request, except the code for too many
// requests; codes of 50000 and more are errors of TikTok.
func judgeTikTok(o *destination.DispatchOutcome, body []byte) {
	const tooMany = 40100
	var answer struct {
		Code    *int   `json:"code"`
		Message string `json:"message"`
	}
	if domain.DecodeJSON(body, &answer) != nil || answer.Code == nil {
		o.OK, o.Retry, o.Error = false, true, "TikTok's answer cannot be read"
		return
	}
	if code := *answer.Code; code != 0 {
		o.OK, o.Retry = false, code == tooMany || code >= 50000
		o.Error = cut(fmt.Sprintf("TikTok refused it with code %d: %s", code, answer.Message))
		if !o.Retry {
			o.StatusCode = 400 // This status matches the code of the answer.
		}
	}
}
