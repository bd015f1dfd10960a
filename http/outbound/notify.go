package outbound

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/http/views"
)

// Notifier sends notices of incidents to channels (contract 66).
type Notifier struct {
	Client *http.Client
	Mail   Mail
	// PublicURL is the scheme and host of the links in notices.
	PublicURL string
	Now       func() time.Time
}

// NewNotifier returns a notifier over a dialer. Redirects are not followed.
func NewNotifier(dialer *Dialer, mail Mail, publicURL string, now func() time.Time) *Notifier {
	return &Notifier{
		Client: dialer.Client(), Mail: mail, PublicURL: publicURL, Now: now,
	}
}

// Send makes one attempt to deliver a notice to a channel of a kind. If it fails, retry reports
// whether another attempt may succeed.
func (n *Notifier) Send(ctx context.Context, kind alert.ChannelKind, target alert.ChannelTarget, d alert.Delivery) (retry bool, err error) {
	var body []byte
	header := http.Header{}
	switch kind {
	case alert.ChannelEmail:
		err := n.Mail.send(ctx, letter{id: d.ID, to: target.To, subject: subject(&d.Notice), text: n.text(&d.Notice)})
		return err != nil && !errors.Is(err, ErrNoMail), err
	case alert.ChannelSlack:
		body, err = json.Marshal(n.chat(&d.Notice))
	default:
		if body, err = json.Marshal(n.alert(&d.Notice)); err == nil {
			header.Set("X-SVC-Signature", Sign(target.Secret, n.Now(), body))
		}
	}
	if err != nil {
		return false, fmt.Errorf("encoding a notice: %w", err)
	}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "svc-alerts/1")
	header.Set("X-SVC-Delivery", d.ID)
	header.Set("X-SVC-Attempt", strconv.Itoa(d.Attempts+1))
	return n.post(ctx, target.URL, header, body)
}

// Sign returns the signature of a body: the time in seconds, and HMAC-SHA256 over the
// time, a full stop and the body.
func Sign(secret domain.Secret, now time.Time, body []byte) string {
	stamp := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// answerBytes is the number of bytes of an answer that are read and discarded.
const answerBytes = 4 << 10

func (n *Notifier) post(ctx context.Context, url string, header http.Header, body []byte) (retry bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("making the request: %w", err)
	}
	request.Header = header
	response, err := n.Client.Do(request)
	if err != nil {
		return !errors.Is(err, ErrNotPublic), fmt.Errorf("sending a notice: %w", Plain(err))
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, answerBytes) // This allows the connection to be reused.
	status := response.StatusCode
	if status >= 200 && status < 300 {
		return false, nil
	}
	retry = status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
	return retry, fmt.Errorf("the channel answered with status %d", status)
}

// Plain removes the URL, which may be a secret, and the address of the resolver from a client's
// error.
func Plain(err error) error {
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		told := *unknown
		told.Server = ""
		return &told
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil || !strings.Contains(err.Error(), "://") {
			return err
		}
		err = inner
	}
}

// Alertmanager is the body of a webhook: the body of Alertmanager's version 4, and the incident in addition.
type Alertmanager struct {
	Version           string            `json:"version"`
	GroupKey          string            `json:"groupKey"`
	TruncatedAlerts   int               `json:"truncatedAlerts"`
	Status            string            `json:"status"`
	Receiver          string            `json:"receiver"`
	GroupLabels       map[string]string `json:"groupLabels"`
	CommonLabels      map[string]string `json:"commonLabels"`
	CommonAnnotations map[string]string `json:"commonAnnotations"`
	ExternalURL       string            `json:"externalURL"`
	Alerts            []ManagedAlert    `json:"alerts"`
	Event             alert.NoticeEvent `json:"event"`
	Incident          views.Incident    `json:"incident"`
}

// ManagedAlert is one alert of the body.
type ManagedAlert struct {
	Status       string            `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
	Fingerprint  string            `json:"fingerprint"`
}

func (n *Notifier) alert(notice *alert.Notice) Alertmanager {
	i := &notice.Incident
	status, ends := "firing", time.Time{}
	if i.ResolvedAt != nil {
		status, ends = "resolved", *i.ResolvedAt
	}
	labels := map[string]string{
		"alertname": i.RuleName, "severity": i.Severity, "kind": string(i.Kind), "environment": i.Environment, "org": notice.App.Org, "app": notice.App.App, "rule": i.RuleID,
	}
	for name, value := range i.Labels {
		labels["label_"+name] = value
	}
	annotations := map[string]string{"summary": i.Title}
	sum := sha256.Sum256([]byte(i.RuleID))
	return Alertmanager{
		Version: "4", GroupKey: "{}:{rule=\"" + i.RuleID + "\"}", Status: status, Receiver: "svc", ExternalURL: n.PublicURL, Event: notice.Event,
		GroupLabels: map[string]string{"rule": i.RuleID}, CommonLabels: labels, CommonAnnotations: annotations,
		Alerts: []ManagedAlert{{
			Status: status, Labels: labels, Annotations: annotations, StartsAt: i.StartedAt.UTC().Truncate(time.Millisecond), EndsAt: ends.UTC().Truncate(time.Millisecond),
			GeneratorURL: n.address(notice), Fingerprint: hex.EncodeToString(sum[:8]),
		}},
		Incident: views.IncidentOf(n.PublicURL, notice.App, i),
	}
}

func (n *Notifier) address(notice *alert.Notice) string {
	return alert.IncidentURL(n.PublicURL, notice.App)
}

// chat is the message for Slack and for services that accept the same format.
func (n *Notifier) chat(notice *alert.Notice) map[string]any {
	i := &notice.Incident
	lines := fmt.Sprintf("*%s*\n%s · %s · %s since %s\n<%s|incident %s>", escape(subject(notice)), escape(notice.App.String()), escape(i.Environment), i.Status,
		i.StartedAt.UTC().Format(time.RFC3339), n.address(notice), i.ID)
	return map[string]any{
		"text":   escape(subject(notice)),
		"blocks": []any{map[string]any{"type": "section", "text": map[string]string{"type": "mrkdwn", "text": lines}}},
	}
}

// escape replaces the markup characters of chats.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// subject returns the line that names the notice.
func subject(notice *alert.Notice) string {
	word := strings.ToUpper(notice.Incident.Severity)
	switch notice.Event {
	case alert.NoticeResolved:
		word = "RESOLVED"
	case alert.NoticeTest:
		word = "TEST"
	case alert.NoticeOpen:
	}
	return "[" + word + "] " + notice.Incident.Title
}

// text is the body of an e-mail.
func (n *Notifier) text(notice *alert.Notice) string {
	i := &notice.Incident
	return fmt.Sprintf("%s\n\nApplication  %s\nEnvironment  %s\nSeverity     %s\nStatus       %s\nStarted      %s\nIncident     %s\n\n%s\n", i.Title, notice.App, i.Environment,
		i.Severity, i.Status, i.StartedAt.UTC().Format(time.RFC1123), i.ID, n.address(notice))
}
