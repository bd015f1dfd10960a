package forward

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/destination"
)

// google uploads click conversions by the Google Ads API, v26, over REST
// (https://developers.google.com/google-ads/api/reference/rpc/v26/UploadClickConversionsRequest and
// …/docs/conversions/upload-offline). v26 is the latest version of Google's client google-ads 34.0.0, of November 2026;
// its oldest is v23.
//
// A request contains up to 2,000 conversions with partial failures. Each has a click id or the hash of an e-mail
// address or phone number, and is at most 90 days after the click. The event's id is the order id, by which Google
// detects repetitions. E-mail addresses are hashed in lower case, Gmail addresses without full stops before the @;
// phone numbers are hashed in E.164 with the plus sign. Access tokens are made from a refresh token.
type google struct {
	base, tokens string

	mu     sync.Mutex
	access map[string]googleToken
}

// googleToken is an access token of a destination; key is the credential from which it was made.
type googleToken struct {
	key   [2]string
	token domain.Secret
	until time.Time
}

const (
	googleVersion = "v26"
	googleBatch   = 100
	googleAge     = 90 * 24 * time.Hour
	// tokenMargin is the time before its end at which an access token is replaced.
	tokenMargin = time.Minute
)

func newGoogle(base, tokens string) *google {
	return &google{base: base, tokens: tokens, access: map[string]googleToken{}}
}

func (*google) batch() int { return googleBatch }

func (g *google) send(ctx context.Context, s *Sender, request *destination.DispatchRequest) []destination.DispatchOutcome {
	return s.sendYoung(request, googleAge, func(young *destination.DispatchRequest) []destination.DispatchOutcome {
		return sendKnown(young, func(item *destination.DispatchItem) bool {
			return item.Conversion.Context.ClickIDs.GCLID != "" || len(googleIDs(contactOf(young, item))) > 0
		}, "Google Ads needs a click id, an e-mail address or a phone number, and there is none",
			func(known *destination.DispatchRequest) []destination.DispatchOutcome { return g.post(ctx, s, known) })
	})
}

// googleIDs returns the hashes by which Google may identify a person.
func googleIDs(contact destination.Contact) (ids []map[string]string) {
	if hash := destination.HashEmail(googleMail(contact.Email)); hash != "" {
		ids = append(ids, map[string]string{"hashedEmail": hash})
	}
	if hash := destination.HashPhone(contact.Phone, true); hash != "" {
		ids = append(ids, map[string]string{"hashedPhoneNumber": hash})
	}
	return ids
}

// googleMail returns an e-mail address without the full stops that Gmail ignores.
func googleMail(email string) string {
	email = strings.ToLower(strings.TrimSpace(email))
	name, host, found := strings.Cut(email, "@")
	if !found || host != "gmail.com" && host != "googlemail.com" {
		return email
	}
	return strings.ReplaceAll(name, ".", "") + "@" + host
}

func (g *google) post(ctx context.Context, s *Sender, request *destination.DispatchRequest) []destination.DispatchOutcome {
	var access destination.GoogleAccess
	if err := json.Unmarshal([]byte(request.Credential.Secret.Reveal()), &access); err != nil {
		return outcomes(len(request.Items), destination.DispatchOutcome{Error: "credential_unreadable"})
	}
	token, failed := g.token(ctx, s, request.Destination.ID, access)
	if failed != nil {
		return outcomes(len(request.Items), *failed)
	}
	config := &request.Destination.Config
	conversions := make([]map[string]any, len(request.Items))
	for i := range request.Items {
		conversions[i] = googleConversion(request, &request.Items[i])
	}
	encoded, logged, err := encode(map[string]any{"conversions": conversions, "partialFailure": true}, "userIdentifiers", "userIpAddress", "gclid")
	if err != nil {
		return outcomes(len(conversions), destination.DispatchOutcome{Error: err.Error()})
	}
	header := jsonHeader()
	header.Set("Authorization", "Bearer "+token.Reveal())
	header.Set("Developer-Token", access.DeveloperToken)
	if config.LoginCustomerID != "" {
		header.Set("Login-Customer-Id", config.LoginCustomerID)
	}
	outcome, answer := s.post(ctx, &call{
		url: fmt.Sprintf("%s/%s/customers/%s:uploadClickConversions", g.base, googleVersion, config.CustomerID), header: header, body: encoded, logged: logged,
		secrets: []domain.Secret{token, domain.Secret(access.DeveloperToken)},
	})
	made := outcomes(len(conversions), outcome)
	if outcome.OK {
		judgeGoogle(made, answer)
	} else if outcome.StatusCode == http.StatusUnauthorized {
		g.forget(request.Destination.ID)
	}
	return made
}

// googleConversion returns a conversion in Google's format.
func googleConversion(request *destination.DispatchRequest, item *destination.DispatchItem) map[string]any {
	c, config := item.Conversion, &request.Destination.Config
	conversion := compact(map[string]any{
		"conversionAction":   fmt.Sprintf("customers/%s/conversionActions/%s", config.CustomerID, config.ConversionActionID),
		"conversionDateTime": c.At.UTC().Format("2006-01-02 15:04:05-07:00"), "orderId": c.EventID, "gclid": c.Context.ClickIDs.GCLID, "conversionValue": c.Value, "currencyCode": c.Currency,
	})
	if ids := googleIDs(contactOf(request, item)); len(ids) > 0 {
		conversion["userIdentifiers"] = ids
	}
	return conversion
}

// token returns a cached or a new access token; failed is the outcome if the token cannot be made.
func (g *google) token(ctx context.Context, s *Sender, destination string, access destination.GoogleAccess) (token domain.Secret, failed *destination.DispatchOutcome) {
	key := [2]string{access.ClientID, access.RefreshToken}
	g.mu.Lock()
	known := g.access[destination]
	g.mu.Unlock()
	if known.key == key && s.now().Before(known.until) {
		return known.token, nil
	}
	form := url.Values{"grant_type": {"refresh_token"}, "client_id": {access.ClientID}, "client_secret": {access.ClientSecret}, "refresh_token": {access.RefreshToken}}
	outcome, answer := s.post(ctx, &call{
		url: g.tokens, header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, body: []byte(form.Encode()), logged: []byte("•••"),
		secrets: []domain.Secret{domain.Secret(access.ClientSecret), domain.Secret(access.RefreshToken)},
	})
	var made struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
		Error       string `json:"error"`
	}
	err := domain.DecodeJSON(answer, &made)
	if !outcome.OK || err != nil || made.AccessToken == "" {
		outcome.OK, outcome.Response = false, ""
		outcome.Error = cut(strings.TrimSpace("Google gave no access token: " + made.Error + " " + outcome.Error))
		return "", &outcome
	}
	token = domain.Secret(made.AccessToken)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.access[destination] = googleToken{key: key, token: token, until: s.now().Add(time.Duration(made.ExpiresIn)*time.Second - tokenMargin)}
	return token, nil
}

// forget drops the access token of a destination.
func (g *google) forget(destination string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.access, destination)
}

// judgeGoogle reads the errors of single conversions. A conversion that Google has already is not a failure.
func judgeGoogle(made []destination.DispatchOutcome, body []byte) {
	var answer struct {
		PartialFailure *struct {
			Message string `json:"message"`
			Details []struct {
				Errors []struct {
					Code     map[string]string `json:"errorCode"`
					Message  string            `json:"message"`
					Location struct {
						Path []struct {
							Field string `json:"fieldName"`
							Index *int   `json:"index"`
						} `json:"fieldPathElements"`
					} `json:"location"`
				} `json:"errors"`
			} `json:"details"`
		} `json:"partialFailureError"`
	}
	if domain.DecodeJSON(body, &answer) != nil || answer.PartialFailure == nil {
		return
	}
	known := []string{"CLICK_CONVERSION_ALREADY_EXISTS", "ORDER_ID_ALREADY_IN_USE", "DUPLICATE_ORDER_ID"}
	later := []string{"CONCURRENT_MODIFICATION", "INTERNAL_ERROR", "TRANSIENT_ERROR", "RESOURCE_EXHAUSTED", "RESOURCE_TEMPORARILY_EXHAUSTED", "TOO_RECENT_CLICK", "TOO_RECENT_EVENT"}
	for _, detail := range answer.PartialFailure.Details {
		for _, problem := range detail.Errors {
			at := slices.IndexFunc(problem.Location.Path, func(p struct {
				Field string `json:"fieldName"`
				Index *int   `json:"index"`
			},
			) bool {
				return p.Field == "conversions" && p.Index != nil
			})
			if at < 0 || *problem.Location.Path[at].Index >= len(made) || *problem.Location.Path[at].Index < 0 {
				continue
			}
			word := ""
			for _, value := range problem.Code {
				word = value
			}
			o := &made[*problem.Location.Path[at].Index]
			if slices.Contains(known, word) {
				continue
			}
			o.OK, o.Retry = false, slices.Contains(later, word)
			o.Error = cut(fmt.Sprintf("Google refused it with %s: %s", word, problem.Message))
		}
	}
}
