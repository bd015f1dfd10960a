// Package forward sends conversions to destinations: to advertising platforms by their published interfaces, to signed
// webhooks and to chats. Its results contain no credentials, and its record of a request contains no personal data.
package forward

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/destination"
	"svc/http/outbound"
)

// Bases are the addresses of the platforms, without a slash at the end.
type Bases struct {
	Meta, Google, GoogleToken, TikTok, LinkedIn string
}

// Platforms returns the addresses of the real platforms.
func Platforms() Bases {
	return Bases{
		Meta: "https://graph.facebook.com", Google: "https://googleads.googleapis.com", GoogleToken: "https://oauth2.googleapis.com/token",
		TikTok: "https://business-api.tiktok.com", LinkedIn: "https://api.linkedin.com",
	}
}

// Sender sends conversions. It may be used from any number of goroutines.
type Sender struct {
	client   *http.Client
	now      func() time.Time
	adapters map[destination.Kind]adapter
}

// adapter sends conversions to one kind of destination.
type adapter interface {
	// batch is the maximum number of conversions per request.
	batch() int
	// send makes one attempt and returns an outcome for each conversion.
	send(ctx context.Context, s *Sender, request *destination.DispatchRequest) []destination.DispatchOutcome
}

// NewSender returns a sender over a client that calls permitted addresses only and follows no redirect.
func NewSender(client *http.Client, bases Bases, now func() time.Time) *Sender {
	return &Sender{client: client, now: now, adapters: map[destination.Kind]adapter{
		destination.Webhook: webhook{}, destination.Slack: chat{}, destination.Meta: meta{bases.Meta},
		destination.Google: newGoogle(bases.Google, bases.GoogleToken), destination.TikTok: tiktok{bases.TikTok}, destination.LinkedIn: linkedin{bases.LinkedIn},
	}}
}

// Batch returns the maximum number of conversions per request to a kind of destination.
func (s *Sender) Batch(kind destination.Kind) int {
	if found := s.adapters[kind]; found != nil {
		return found.batch()
	}
	return 1
}

// Send makes one attempt for each of some conversions and returns its outcome for each. If the platform refuses a
// request as a whole because of some conversions, Send makes a separate request for each.
func (s *Sender) Send(ctx context.Context, request destination.DispatchRequest) []destination.DispatchOutcome {
	found := s.adapters[request.Destination.Kind]
	if found == nil {
		return outcomes(len(request.Items), destination.DispatchOutcome{Error: "unknown_kind"})
	}
	made := found.send(ctx, s, &request)
	if len(made) < 2 || !refusedTogether(made) {
		return made
	}
	for i := range request.Items {
		alone := request
		alone.Items = request.Items[i : i+1]
		made[i] = found.send(ctx, s, &alone)[0]
	}
	return made
}

// refusedTogether reports whether one answer refused several conversions permanently.
func refusedTogether(made []destination.DispatchOutcome) bool {
	for i := range made {
		if made[i].OK || made[i].Retry || made[i].StatusCode != http.StatusBadRequest {
			return false
		}
	}
	return true
}

// outcomes returns the same outcome for several conversions.
func outcomes(n int, outcome destination.DispatchOutcome) []destination.DispatchOutcome {
	all := make([]destination.DispatchOutcome, n)
	for i := range all {
		all[i] = outcome
	}
	return all
}

const (
	// answerBytes is the number of bytes of an answer that are read.
	answerBytes = 64 << 10
	// loggedBytes bounds the recorded bytes of a request and of an answer.
	loggedBytes = 4 << 10
)

// call is one request to a destination.
type call struct {
	url    string
	header http.Header
	body   []byte
	// logged is the body as it is recorded. Secrets are removed from an answer before it is recorded.
	logged  []byte
	secrets []domain.Secret
}

// hidden reports whether the value of a header is not recorded.
func hidden(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "X-Svc-Signature", "Webhook-Signature", "Authorization", "Access-Token", "Developer-Token":
		return true
	}
	return false
}

// post sends a request and returns its outcome by the rules of all destinations, and the answer.
func (s *Sender) post(ctx context.Context, c *call) (outcome destination.DispatchOutcome, answer []byte) {
	begun := s.now()
	outcome.Request = c.record()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(c.body))
	if err != nil {
		outcome.Error = "the address is not valid"
		return outcome, nil
	}
	request.Header = c.header
	response, err := s.client.Do(request)
	outcome.Latency = s.now().Sub(begun)
	if err != nil {
		outcome.Retry, outcome.Error = !errors.Is(err, outbound.ErrNotPublic), c.clean(problemOf(ctx, err))
		return outcome, nil
	}
	defer func() { _ = response.Body.Close() }()
	answer, _ = io.ReadAll(io.LimitReader(response.Body, answerBytes)) // The status alone decides.
	outcome.Latency = s.now().Sub(begun)
	outcome.StatusCode = response.StatusCode
	outcome.Response = c.clean(cut(response.Status + "\n\n" + strings.ToValidUTF8(string(answer), "�")))
	outcome.OK = response.StatusCode >= 200 && response.StatusCode < 300
	if !outcome.OK {
		status := response.StatusCode
		outcome.Retry = status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
		outcome.RetryAfter = retryAfter(response.Header.Get("Retry-After"), s.now())
		outcome.Error = fmt.Sprintf("the destination answered with status %d", status)
	}
	return outcome, answer
}

// problemOf describes the failure of a request.
func problemOf(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "the destination did not answer in time"
	case errors.Is(err, outbound.ErrNotPublic):
		return outbound.ErrNotPublic.Error()
	}
	return cut(outbound.Plain(err).Error())
}

// retryAfter reads the header of that name, in seconds or as a date.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 24*3600)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// record returns the request as it is recorded.
func (c *call) record() string {
	var text strings.Builder
	fmt.Fprintf(&text, "POST %s\n", shownURL(c.url))
	for _, name := range []string{
		"Content-Type", "User-Agent", "X-SVC-Delivery", "X-SVC-Attempt", "X-SVC-Signature", "webhook-id", "webhook-timestamp", "webhook-signature",
		"Authorization", "Access-Token", "Developer-Token", "Login-Customer-Id", "Linkedin-Version", "X-Restli-Protocol-Version", "X-Restli-Method",
	} {
		value := c.header.Get(name)
		if exact := c.header[name]; len(exact) > 0 { // Some names are sent in their exact spelling.
			value = exact[0]
		}
		switch {
		case value == "":
		case hidden(name):
			fmt.Fprintf(&text, "%s: •••\n", name)
		default:
			fmt.Fprintf(&text, "%s: %s\n", name, value)
		}
	}
	text.WriteString("\n")
	text.Write(c.logged)
	return c.clean(cut(text.String()))
}

// clean removes secrets from a text.
func (c *call) clean(text string) string {
	for _, secret := range c.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret.Reveal(), secret.String())
		}
	}
	return text
}

// cut bounds a recorded text.
func cut(text string) string {
	if len(text) <= loggedBytes {
		return text
	}
	return strings.ToValidUTF8(text[:loggedBytes], "") + " …"
}

// shownURL returns an address without its parts that may be secret: credentials and the query.
func shownURL(raw string) string {
	parsed, err := url.Parse(raw)
	if err != nil {
		return "•••"
	}
	parsed.User, parsed.Fragment = nil, ""
	if parsed.RawQuery != "" {
		parsed.RawQuery = "•••"
	}
	return parsed.String()
}

// jsonHeader is the header of a request with a JSON body.
func jsonHeader() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "User-Agent": {"svc-destinations/1"}}
}

// encode returns a body, and the body as it is recorded: in the latter the members that describe the person are masked.
func encode(body any, person ...string) (encoded, logged []byte, err error) {
	if encoded, err = json.Marshal(body); err != nil {
		return nil, nil, fmt.Errorf("encoding a conversion: %w", err)
	}
	if len(encoded) > 4*loggedBytes {
		return encoded, fmt.Appendf(nil, "(%d bytes)", len(encoded)), nil
	}
	var tree any
	if err := json.Unmarshal(encoded, &tree); err != nil {
		return nil, nil, fmt.Errorf("reading a conversion: %w", err)
	}
	logged, err = json.Marshal(masked(tree, person))
	return encoded, logged, err
}

// masked replaces the values of some members, at any depth.
func masked(value any, names []string) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = masked(inner, names)
			for _, name := range names {
				if key == name && inner != nil {
					value[key] = "•••"
				}
			}
		}
	case []any:
		for i := range value {
			value[i] = masked(value[i], names)
		}
	}
	return value
}

// contactOf returns the contact data of the person that may be sent.
func contactOf(request *destination.DispatchRequest, item *destination.DispatchItem) destination.Contact {
	if item.Contact == nil || request.Destination.Config.PersonFields == destination.PersonNone {
		return destination.Contact{}
	}
	return *item.Contact
}

// subjectOf returns the id of the person that may be sent.
func subjectOf(request *destination.DispatchRequest, item *destination.DispatchItem) string {
	if request.Destination.Config.PersonFields == destination.PersonNone {
		return ""
	}
	return item.Conversion.Subject()
}
