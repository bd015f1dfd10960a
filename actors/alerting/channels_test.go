package alerting

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/destination"
	"svc/domain/monitor"
)

// street is the target of channels: addresses that may be called or not, and a post that may fail.
type street struct {
	sent   []string
	refuse error
}

func (s *street) CheckTarget(_ context.Context, url string) *domain.FieldError {
	if strings.Contains(url, "inner") {
		return &domain.FieldError{Field: "url", Code: "url_not_public"}
	}
	return nil
}

// Seal puts the name before the text.
func (s *street) Seal(name string, clear []byte) []byte { return append([]byte(name+" "), clear...) }

func (s *street) Open(name string, sealed []byte) ([]byte, error) {
	clear, ours := bytes.CutPrefix(sealed, []byte(name+" "))
	if !ours {
		return nil, errors.New("sealed under another name")
	}
	return clear, nil
}

func (s *street) Send(_ context.Context, kind alert.ChannelKind, target alert.ChannelTarget, d alert.Delivery) (bool, error) {
	s.sent = append(s.sent, strings.Join([]string{string(kind), target.URL, target.Secret.Reveal(), string(d.Notice.Event), d.Notice.Incident.Title}, " "))
	return true, s.refuse
}

// TestChannelsAreMadeAndTested makes channels and tests them over a post that fails once.
func TestChannelsAreMadeAndTested(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		post := &street{}
		o.alerts.Random.Bytes = func(n int) []byte { return make([]byte, n) }
		channels := &Channels{Alerts: o.alerts, Targets: post, Sealer: post, Sender: SealedSender{Notifier: post, Sealer: post, Restored: func() time.Time { return time.Time{} }}, Now: time.Now}
		if _, _, err := channels.CreateChannel(t.Context(), web(), alert.ChannelSpec{Name: "Inner", Kind: alert.ChannelWebhook, URL: "https://inner.example/"}); domain.CodeOf(err) != domain.CodeInvalidRequest {
			t.Errorf("a channel to an inner address: %v", err)
		}
		hook, secret, err := channels.CreateChannel(t.Context(), web(), alert.ChannelSpec{Name: "Hook", Kind: alert.ChannelWebhook, URL: "https://hook.example/"})
		if err != nil || !strings.HasPrefix(secret.Reveal(), "whsec_") {
			t.Fatalf("a webhook: %v, %v", secret.Reveal(), err)
		}
		chat, none, err := channels.CreateChannel(t.Context(), web(), alert.ChannelSpec{Name: "Chat", Kind: alert.ChannelSlack, URL: "https://chat.example/"})
		if err != nil || none != "" {
			t.Fatalf("a chat: %q, %v", none, err)
		}
		for _, test := range []struct {
			id      string
			refuse  error
			problem string
			code    domain.Code
		}{
			{hook.ID, nil, "", ""},
			{chat.ID, errors.New("The status was 500."), "The status was 500.", ""},
			{"chn_none", nil, "", domain.CodeNotFound},
		} {
			post.refuse = test.refuse
			problem, err := channels.TestChannel(t.Context(), web(), test.id)
			if problem != test.problem || test.code == "" && err != nil || test.code != "" && domain.CodeOf(err) != test.code {
				t.Errorf("testing %s: %q, %v; want %q, %s", test.id, problem, err, test.problem, test.code)
			}
		}
		want := []string{"webhook https://hook.example/ " + secret.Reveal() + " test Test of the channel Hook", "slack https://chat.example/  test Test of the channel Chat"}
		if !reflect.DeepEqual(post.sent, want) {
			t.Errorf("sent %q, want %q", post.sent, want)
		}
	})
}

// monitorList lists the monitors that exist.
type monitorList []string

func (l monitorList) Monitors(_ context.Context, _ domain.AppRef, id string, _ time.Time) (rows []monitor.Row, err error) {
	for _, known := range l {
		if known == id {
			rows = append(rows, monitor.Row{Monitor: monitor.Monitor{ID: id}})
		}
	}
	return rows, nil
}

// TestRulesNameMonitorsThatExist makes rules of two monitors; only one of them exists.
func TestRulesNameMonitorsThatExist(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		var synced []string
		rules := &Rules{Alerts: o.alerts, Monitors: monitorList{"mon_1"}, Now: time.Now, Sync: func(_ context.Context, kind, identity string) error {
			synced = append(synced, kind+"/"+identity)
			return nil
		}}
		row := o.rule(alert.Uptime, nil)
		for monitor, want := range map[string]domain.Code{"mon_1": "", "mon_2": domain.CodeInvalidRequest} {
			_, err := rules.PutRule(t.Context(), web(), row.ID, domain.Environment{}, alert.Patch{Condition: &alert.Condition{MonitorID: monitor}})
			if err == nil && want != "" || err != nil && domain.CodeOf(err) != want {
				t.Errorf("%s: %v, want %q", monitor, err, want)
			}
		}
		if want := []string{"alerting/acme/web"}; !reflect.DeepEqual(synced, want) {
			t.Errorf("synced %v, want %v", synced, want)
		}
	})
}

// TestAChatHearsNothingFromBeforeARestore sends notices that are older than a restore, and one that is not. A webhook
// and a mailbox recognize a repeated notice by its id.
func TestAChatHearsNothingFromBeforeARestore(t *testing.T) {
	restored := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		kind    alert.ChannelKind
		made    time.Time
		problem string
		sent    int
	}{
		{alert.ChannelSlack, restored.Add(-time.Second), destination.OlderThanRestore, 0},
		{alert.ChannelSlack, restored, "", 1},
		{alert.ChannelWebhook, restored.Add(-time.Second), "", 1},
		{alert.ChannelEmail, restored.Add(-time.Second), "", 1},
	} {
		post := &street{}
		sender := SealedSender{Notifier: post, Sealer: post, Restored: func() time.Time { return restored }}
		_, err := sender.Send(t.Context(), alert.Channel{ID: "chn", Kind: test.kind, Sealed: []byte("chn {}")}, alert.Delivery{ID: "dlv", CreatedAt: test.made})
		if answerOf(err) != test.problem || len(post.sent) != test.sent {
			t.Errorf("a notice of %v to a %s: %v, %d sent", test.made, test.kind, err, len(post.sent))
		}
	}
}
