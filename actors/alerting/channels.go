package alerting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/destination"
)

// TargetChecker checks addresses that this service is asked to call.
type TargetChecker interface {
	// CheckTarget returns the reason for not calling a URL, or nil. It also refuses a name that resolves to an address
	// that is not public.
	CheckTarget(ctx context.Context, url string) *domain.FieldError
}

// Sealer encrypts the targets of channels.
type Sealer interface {
	// Seal encrypts a text under a name.
	Seal(name string, clear []byte) []byte
	// Open decrypts; it fails if the text was not sealed under the name.
	Open(name string, sealed []byte) ([]byte, error)
}

// Notifier sends notices.
type Notifier interface {
	// Send makes one attempt. If it fails, retry reports whether another attempt may succeed.
	Send(ctx context.Context, kind alert.ChannelKind, target alert.ChannelTarget, delivery alert.Delivery) (retry bool, err error)
}

// SealedSender is a Sender for channels with sealed targets.
type SealedSender struct {
	Notifier Notifier
	Sealer   Sealer
	// Restored returns the time of the last restore or rebuild, and the zero time if there was none.
	Restored func() time.Time
}

// errOlderThanRestore ends a notice to a chat, which has no id by which a receiver recognizes a repetition.
var errOlderThanRestore = errors.New(destination.OlderThanRestore)

// Send decrypts the channel's target and sends the notice there.
func (s SealedSender) Send(ctx context.Context, channel alert.Channel, delivery alert.Delivery) (retry bool, err error) {
	if channel.Kind == alert.ChannelSlack && delivery.CreatedAt.Before(s.Restored()) {
		return false, errOlderThanRestore
	}
	clear, err := s.Sealer.Open(channel.ID, channel.Sealed)
	if err != nil {
		return false, fmt.Errorf("opening the channel %s: %w", channel.ID, err)
	}
	var target alert.ChannelTarget
	if err := json.Unmarshal(clear, &target); err != nil {
		return false, fmt.Errorf("reading the channel %s: %w", channel.ID, err)
	}
	return s.Notifier.Send(ctx, channel.Kind, target, delivery)
}

// Channels makes, lists, tests and deletes the channels of applications.
type Channels struct {
	*Alerts
	// Allowed holds the addresses to which a channel may lead. Targets checks the addresses that a URL's name resolves
	// to.
	Allowed domain.Targets
	Targets TargetChecker
	Sealer  Sealer
	Sender  Sender
	Now     func() time.Time
}

// secretBytes is the length of the secret that signs a webhook's notices.
const secretBytes = 32

// CreateChannel seals the target of a new channel. Webhooks get a secret, which is returned only this time.
func (c *Channels) CreateChannel(ctx context.Context, ref domain.AppRef, spec alert.ChannelSpec) (alert.Channel, domain.Secret, error) {
	problems := spec.Validate(c.Allowed)
	if len(problems) == 0 && spec.Kind != alert.ChannelEmail {
		if problem := c.Targets.CheckTarget(ctx, spec.URL); problem != nil {
			problems = append(problems, *problem)
		}
	}
	if len(problems) > 0 {
		return alert.Channel{}, "", domain.Invalid(problems...)
	}
	target := alert.ChannelTarget{URL: spec.URL, To: spec.To}
	if spec.Kind == alert.ChannelWebhook {
		target.Secret = domain.MintSecret("whsec_", c.Random.NewBytes(ctx, secretBytes))
	}
	clear, err := json.Marshal(target)
	if err != nil {
		return alert.Channel{}, "", fmt.Errorf("encoding a channel: %w", err)
	}
	channel := alert.Channel{ID: c.Random.NewID(ctx, "chn_"), Name: spec.Name, Kind: spec.Kind, CreatedAt: c.Now()}
	channel.Sealed = c.Sealer.Seal(channel.ID, clear)
	made, err := c.PutChannel(ctx, ref, channel)
	return made, target.Secret, err
}

// UpdateChannel changes the name or the target of a channel; nil leaves a field as it is. A webhook retains its secret.
// It fails with not_found if no channel has the id, and with invalid_request as CreateChannel does.
func (c *Channels) UpdateChannel(ctx context.Context, ref domain.AppRef, id string, patch alert.ChannelPatch) (alert.Channel, error) {
	channels, err := c.Channels(ctx, ref)
	if err != nil {
		return alert.Channel{}, err
	}
	at := slices.IndexFunc(channels, func(channel alert.Channel) bool { return channel.ID == id })
	if at < 0 {
		return alert.Channel{}, domain.NotFound("channel")
	}
	channel := channels[at]
	clear, err := c.Sealer.Open(id, channel.Sealed)
	if err != nil {
		return alert.Channel{}, fmt.Errorf("opening the channel %s: %w", id, err)
	}
	var target alert.ChannelTarget
	if err := json.Unmarshal(clear, &target); err != nil {
		return alert.Channel{}, fmt.Errorf("reading the channel %s: %w", id, err)
	}
	spec := alert.ChannelSpec{Name: channel.Name, Kind: channel.Kind, URL: target.URL, To: target.To}.With(patch)
	problems := spec.Validate(c.Allowed)
	if len(problems) == 0 && patch.URL != nil && spec.Kind != alert.ChannelEmail {
		if problem := c.Targets.CheckTarget(ctx, spec.URL); problem != nil {
			problems = append(problems, *problem)
		}
	}
	if len(problems) > 0 {
		return alert.Channel{}, domain.Invalid(problems...)
	}
	channel.Name, target.URL, target.To = spec.Name, spec.URL, spec.To
	if clear, err = json.Marshal(target); err != nil {
		return alert.Channel{}, fmt.Errorf("encoding a channel: %w", err)
	}
	channel.Sealed = c.Sealer.Seal(id, clear)
	return c.ChangeChannel(ctx, ref, channel)
}

// testTime bounds the test of a channel.
const testTime = 10 * time.Second

// TestChannel sends one notification about an invented incident. It returns the reason if that failed, otherwise "". It
// fails with not_found if no channel has the id.
func (c *Channels) TestChannel(ctx context.Context, ref domain.AppRef, id string) (problem string, err error) {
	channels, err := c.Channels(ctx, ref)
	if err != nil {
		return "", err
	}
	for _, channel := range channels {
		if channel.ID != id {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, testTime)
		defer cancel()
		notice := alert.Notice{Event: alert.NoticeTest, App: ref, Incident: alert.TestIncident(c.Random.NewID(ctx, "inc_"), channel.Name, c.Now())}
		if _, err := c.Sender.Send(ctx, channel, alert.Delivery{ID: c.Random.NewID(ctx, "dlv_"), ChannelID: id, Notice: notice, CreatedAt: c.Now()}); err != nil {
			return err.Error(), nil
		}
		return "", nil
	}
	return "", domain.NotFound("channel")
}
