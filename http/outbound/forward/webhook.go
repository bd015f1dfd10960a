package forward

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/destination"
	"svc/domain/event"
)

// webhook sends one signed request per conversion. It has the signature of Stripe's webhooks and the three headers of
// Standard Webhooks 1.0 (https://github.com/standard-webhooks/standard-webhooks).
type webhook struct{}

func (webhook) batch() int { return 1 }

// WebhookBody is the body of a request to a webhook.
type WebhookBody struct {
	Type   string         `json:"type"`
	SentAt instant        `json:"sentAt"`
	Event  WebhookEvent   `json:"event"`
	Person *WebhookPerson `json:"person"`
}

// WebhookEvent is the conversion in a body.
type WebhookEvent struct {
	ID          string                       `json:"id"`
	Name        string                       `json:"name"`
	SourceEvent string                       `json:"sourceEvent"`
	Timestamp   instant                      `json:"timestamp"`
	App         webhookApp                   `json:"app"`
	Value       *float64                     `json:"value"`
	Currency    *string                      `json:"currency"`
	Contents    []destination.ConversionItem `json:"contents"`
	Properties  json.RawMessage              `json:"properties"`
	Context     webhookContext               `json:"context"`
}

// WebhookPerson is the person in a body. Hashes and plain values exclude each other.
type WebhookPerson struct {
	ID          *string  `json:"id"`
	DistinctID  *string  `json:"distinctId"`
	Name        *string  `json:"name"`
	EmailSHA256 **string `json:"emailSha256,omitempty"`
	PhoneSHA256 **string `json:"phoneSha256,omitempty"`
	Email       **string `json:"email,omitempty"`
	Phone       **string `json:"phone,omitempty"`
}

type webhookApp struct {
	ID          string `json:"id"`
	Environment string `json:"environment"`
}

type webhookContext struct {
	URL       *string           `json:"url"`
	Path      *string           `json:"path"`
	Title     *string           `json:"title"`
	Referrer  *string           `json:"referrer"`
	Source    *string           `json:"source"`
	Medium    *string           `json:"medium"`
	UTM       webhookCampaign   `json:"utm"`
	ClickIDs  map[string]string `json:"clickIds"`
	Geo       webhookPlace      `json:"geo"`
	Device    webhookDevice     `json:"device"`
	Locale    *string           `json:"locale"`
	SessionID *string           `json:"sessionId"`
}

type webhookCampaign struct {
	Source   *string `json:"source"`
	Medium   *string `json:"medium"`
	Campaign *string `json:"campaign"`
	Term     *string `json:"term"`
	Content  *string `json:"content"`
}

type webhookPlace struct {
	Country *string `json:"country"`
	Region  *string `json:"region"`
	City    *string `json:"city"`
}

type webhookDevice struct {
	Browser *string `json:"browser"`
	OS      *string `json:"os"`
	Type    *string `json:"type"`
}

// instant is a UTC time with milliseconds.
type instant time.Time

// MarshalJSON writes the time.
func (t instant) MarshalJSON() ([]byte, error) {
	return []byte(time.Time(t).UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
}

// orNull returns a text, nil if it is empty.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// bodyOf returns the body for a conversion at an instant.
func bodyOf(request *destination.DispatchRequest, item *destination.DispatchItem, now time.Time) WebhookBody {
	c := item.Conversion
	body := WebhookBody{Type: "destination.event", SentAt: instant(now), Event: WebhookEvent{
		ID: c.EventID, Name: c.Name, SourceEvent: c.SourceEvent, Timestamp: instant(c.At), App: webhookApp{request.Destination.AppID, c.Environment},
		Value: c.Value, Currency: orNull(c.Currency), Contents: c.Contents, Properties: c.Properties,
		Context: webhookContext{
			URL: orNull(c.Context.URL), Path: orNull(c.Context.Path), Title: orNull(c.Context.Title), Referrer: orNull(c.Context.Referrer),
			Source: orNull(c.Context.Source), Medium: orNull(c.Context.Medium),
			UTM:      webhookCampaign{orNull(c.Context.Campaign.Source), orNull(c.Context.Campaign.Medium), orNull(c.Context.Campaign.Name), orNull(c.Context.Campaign.Term), orNull(c.Context.Campaign.Content)},
			ClickIDs: clickIDs(c.Context.ClickIDs), Geo: webhookPlace{orNull(c.Context.Country), orNull(c.Context.Region), orNull(c.Context.City)},
			Device: webhookDevice{orNull(c.Context.Browser), orNull(c.Context.OS), orNull(c.Context.Device)}, Locale: orNull(c.Context.Locale), SessionID: orNull(c.Context.SessionID),
		},
	}}
	if body.Event.Contents == nil {
		body.Event.Contents = []destination.ConversionItem{}
	}
	if len(body.Event.Properties) == 0 {
		body.Event.Properties = json.RawMessage(`{}`)
	}
	body.Person = personOf(request, item)
	return body
}

// personOf returns the person of a body, nil if none may be sent.
func personOf(request *destination.DispatchRequest, item *destination.DispatchItem) *WebhookPerson {
	fields := request.Destination.Config.PersonFields
	if fields == destination.PersonNone {
		return nil
	}
	contact := contactOf(request, item)
	person := &WebhookPerson{ID: orNull(contact.ID), DistinctID: orNull(item.Conversion.Subject()), Name: orNull(contact.Name)}
	if fields == destination.PersonPlain {
		email, phone := orNull(contact.Email), orNull(contact.Phone)
		person.Email, person.Phone = &email, &phone
		return person
	}
	email, phone := orNull(destination.HashEmail(contact.Email)), orNull(destination.HashPhone(contact.Phone, true))
	person.EmailSHA256, person.PhoneSHA256 = &email, &phone
	return person
}

// clickIDs returns the present identifiers, by the names of their parameters.
func clickIDs(ids event.ClickIDs) map[string]string {
	found := map[string]string{}
	for name, id := range map[string]string{"gclid": ids.GCLID, "gbraid": ids.GBRAID, "wbraid": ids.WBRAID, "fbclid": ids.FBCLID, "msclkid": ids.MSCLKID, "ttclid": ids.TTCLID, "li_fat_id": ids.LiFatID, "twclid": ids.TWCLID} {
		if id != "" {
			found[name] = id
		}
	}
	return found
}

func (webhook) send(ctx context.Context, s *Sender, request *destination.DispatchRequest) []destination.DispatchOutcome {
	item, now := &request.Items[0], s.now()
	body, err := json.Marshal(bodyOf(request, item, now))
	if err != nil {
		return outcomes(1, destination.DispatchOutcome{Error: fmt.Sprintf("the conversion cannot be encoded: %v", err)})
	}
	header := jsonHeader()
	secrets := request.Credential.Secrets(now)
	sign(header, secrets, item.Conversion.EventID, now, body)
	header["X-SVC-Delivery"] = []string{item.ID}
	header["X-SVC-Attempt"] = []string{strconv.Itoa(item.Attempt)}
	logged := body
	if at := bytes.LastIndex(body, []byte(`,"person":{`)); at >= 0 {
		logged = append(bytes.Clone(body[:at]), `,"person":"•••"}`...)
	}
	outcome, _ := s.post(ctx, &call{url: request.Destination.Config.URL, header: header, body: body, logged: logged, secrets: secrets})
	return []destination.DispatchOutcome{outcome}
}

// sign sets the headers by which a receiver verifies the sender of a body, with every valid secret.
func sign(header map[string][]string, secrets []domain.Secret, id string, now time.Time, body []byte) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	own, standard := "t="+stamp, make([]string, 0, len(secrets))
	for _, secret := range secrets {
		own += ",v1=" + hex.EncodeToString(mac([]byte(secret.Reveal()), []byte(stamp+"."), body))
		standard = append(standard, "v1,"+base64.StdEncoding.EncodeToString(mac(standardKey(secret), []byte(id+"."+stamp+"."), body)))
	}
	header["X-SVC-Signature"] = []string{own}
	header["Webhook-Id"], header["Webhook-Timestamp"], header["Webhook-Signature"] = []string{id}, []string{stamp}, []string{strings.Join(standard, " ")}
}

// mac returns the HMAC-SHA256 of a text in two parts.
func mac(key, first, second []byte) []byte {
	sum := hmac.New(sha256.New, key)
	sum.Write(first)
	sum.Write(second)
	return sum.Sum(nil)
}

// standardKey returns the key of a secret for Standard Webhooks: the base64 text after whsec_, decoded, or the secret
// itself if it has another form.
func standardKey(secret domain.Secret) []byte {
	encoded, marked := strings.CutPrefix(secret.Reveal(), "whsec_")
	if key, err := base64.StdEncoding.DecodeString(encoded); marked && err == nil {
		return key
	}
	return []byte(secret.Reveal())
}
