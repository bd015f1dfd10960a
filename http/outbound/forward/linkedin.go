package forward

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/destination"
)

// linkedin sends events by LinkedIn's Conversions API, version 202608
// (https://learn.microsoft.com/en-us/linkedin/marketing/integrations/ads-reporting/conversions-api). It is the latest
// version of published clients: fancy-linkedin-ads 0.1.3, of September 2026. LinkedIn serves a version for a year.
//
// A request contains up to 5,000 events, each at most 90 days old and with an id of the person: the hash of an e-mail
// address in lower case, or the click id li_fat_id. Each element of the answer has its own status; LinkedIn detects
// repetitions by eventId.
type linkedin struct{ base string }

const (
	linkedinVersion = "202608"
	linkedinBatch   = 100
	linkedinAge     = 90 * 24 * time.Hour
)

func (linkedin) batch() int { return linkedinBatch }

func (l linkedin) send(ctx context.Context, s *Sender, request *destination.DispatchRequest) []destination.DispatchOutcome {
	return s.sendYoung(request, linkedinAge, func(young *destination.DispatchRequest) []destination.DispatchOutcome {
		return sendKnown(young, func(item *destination.DispatchItem) bool { return len(linkedinIDs(young, item)) > 0 }, "LinkedIn needs an e-mail address or a click id of LinkedIn, and there is neither",
			func(known *destination.DispatchRequest) []destination.DispatchOutcome { return l.post(ctx, s, known) })
	})
}

// sendKnown sends the conversions that a platform can assign to a person, and fails the others.
func sendKnown(request *destination.DispatchRequest, known func(item *destination.DispatchItem) bool, problem string, send func(some *destination.DispatchRequest) []destination.DispatchOutcome) []destination.DispatchOutcome {
	made := make([]destination.DispatchOutcome, len(request.Items))
	some, places := *request, []int{}
	some.Items = nil
	for i := range request.Items {
		if !known(&request.Items[i]) {
			made[i].Error = problem
			continue
		}
		some.Items, places = append(some.Items, request.Items[i]), append(places, i)
	}
	if len(some.Items) == 0 {
		return made
	}
	for i, outcome := range send(&some) {
		made[places[i]] = outcome
	}
	return made
}

// linkedinIDs returns the ids by which LinkedIn may identify the person of a conversion.
func linkedinIDs(request *destination.DispatchRequest, item *destination.DispatchItem) (ids []map[string]string) {
	if hash := destination.HashEmail(contactOf(request, item).Email); hash != "" {
		ids = append(ids, map[string]string{"idType": "SHA256_EMAIL", "idValue": hash})
	}
	if click := item.Conversion.Context.ClickIDs.LiFatID; click != "" {
		ids = append(ids, map[string]string{"idType": "LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID", "idValue": click})
	}
	return ids
}

func (l linkedin) post(ctx context.Context, s *Sender, request *destination.DispatchRequest) []destination.DispatchOutcome {
	events := make([]map[string]any, len(request.Items))
	for i := range request.Items {
		item := &request.Items[i]
		c := item.Conversion
		events[i] = map[string]any{
			"conversion": "urn:lla:llaPartnerConversion:" + request.Destination.Config.ConversionActionID, "conversionHappenedAt": c.At.UnixMilli(), "eventId": c.EventID,
			"user": map[string]any{"userIds": linkedinIDs(request, item)},
		}
		if c.Value != nil && c.Currency != "" {
			events[i]["conversionValue"] = map[string]string{"currencyCode": c.Currency, "amount": strconv.FormatFloat(*c.Value, 'f', -1, 64)}
		}
	}
	encoded, logged, err := encode(map[string]any{"elements": events}, "user")
	if err != nil {
		return outcomes(len(events), destination.DispatchOutcome{Error: err.Error()})
	}
	header := jsonHeader()
	header.Set("Authorization", "Bearer "+request.Credential.Secret.Reveal())
	header.Set("Linkedin-Version", linkedinVersion)
	header.Set("X-Restli-Protocol-Version", "2.0.0")
	header.Set("X-Restli-Method", "BATCH_CREATE")
	outcome, answer := s.post(ctx, &call{url: l.base + "/rest/conversionEvents", header: header, body: encoded, logged: logged, secrets: []domain.Secret{request.Credential.Secret}})
	made := outcomes(len(events), outcome)
	if outcome.OK {
		judgeLinkedIn(made, answer)
	}
	return made
}

// judgeLinkedIn reads the status of each element of an answer.
func judgeLinkedIn(made []destination.DispatchOutcome, body []byte) {
	var answer struct {
		Elements []struct {
			Status int `json:"status"`
			Error  struct {
				Message string `json:"message"`
			} `json:"error"`
		} `json:"elements"`
	}
	if domain.DecodeJSON(body, &answer) != nil || len(answer.Elements) != len(made) {
		return // The request succeeded as a whole.
	}
	for i, element := range answer.Elements {
		if element.Status >= 200 && element.Status < 300 {
			continue
		}
		o := &made[i]
		o.OK, o.StatusCode = false, element.Status
		o.Retry = element.Status == http.StatusTooManyRequests || element.Status == http.StatusRequestTimeout || element.Status >= 500
		o.Error = cut(fmt.Sprintf("LinkedIn refused it with status %d: %s", element.Status, element.Error.Message))
	}
}
