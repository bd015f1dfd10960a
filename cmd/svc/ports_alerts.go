package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"svc"
	"svc/actors/alerting"
	"svc/actors/grain"
	"svc/http/outbound"
	"svc/storage/clickhouse/database"
	"svc/storage/vault"
)

// wireAlerting makes what the alerting actors need.
func (n *node) wireAlerting() error {
	box, err := n.vault.Box("channels")
	if err != nil {
		return err
	}
	m := &n.monitoring
	mail := outbound.Mail{Server: n.config.MailServer, From: n.config.MailFrom, Now: n.now}
	m.sender = sender{outbound.NewNotifier(m.dialer, mail, n.config.URLAt(n.config.HTTPAddr), n.now), box}
	m.alertPorts = &alerting.Ports{
		Actors: n.cluster, Store: n.db.Alerting(), Schedule: m.schedule, Measures: measures{n.db}, Sender: m.sender, Rules: n.rules, Started: n.now(), Flush: n.config.FlushInterval, Logger: n.logger,
	}
	return nil
}

// sender opens a channel's secret and has the notice sent.
type sender struct {
	notifier *outbound.Notifier
	box      *vault.Box
}

func (s sender) Send(ctx context.Context, channel svc.Channel, delivery svc.Delivery) (retry bool, err error) {
	clear, err := s.box.Open(channel.ID, channel.Sealed)
	if err != nil {
		return false, fmt.Errorf("opening the channel %s: %w", channel.ID, err)
	}
	var target svc.ChannelTarget
	if err := json.Unmarshal(clear, &target); err != nil {
		return false, fmt.Errorf("reading the channel %s: %w", channel.ID, err)
	}
	return s.notifier.Send(ctx, channel.Kind, target, delivery)
}

// alerts is http's view of the alerting actors: those of applications that exist.
type alerts struct {
	*alerting.Alerts
	db     *database.DB
	sender sender
	dialer *outbound.Dialer
	random grain.Random
	now    func() time.Time
	// sync makes rules that another node's actor changed known to this node's stream.
	sync func(ctx context.Context, kind, identity string) error
}

func (n *node) alertPort() alerts {
	return alerts{n.alerts, n.db, n.monitoring.sender, n.monitoring.dialer, n.random, n.now, n.syncSnapshot}
}

// changedOwners reads of alerting actors what they would load themselves.
type changedOwners struct{ *database.DB }

// Load returns the last version of every entity of an owner.
func (c changedOwners) Load(ctx context.Context, owner string) ([]svc.Entity, error) {
	if strings.HasPrefix(owner, alerting.KindAlerting+"/") {
		return c.Alerting().Load(ctx, owner)
	}
	return c.DB.Load(ctx, owner)
}

// secretBytes is the length of what signs a webhook's notices.
const secretBytes = 32

// PutRule refuses a rule of a monitor that does not exist: it would never fire.
func (a alerts) PutRule(ctx context.Context, ref svc.AppRef, id string, env svc.Environment, patch svc.AlertPatch) (svc.AlertRow, error) {
	if patch.Condition != nil && patch.Condition.MonitorID != "" {
		found, err := a.db.Monitors(ctx, ref, patch.Condition.MonitorID, a.now())
		if err != nil {
			return svc.AlertRow{}, err
		}
		if len(found) != 1 {
			return svc.AlertRow{}, svc.Invalid(svc.UnknownMonitor(patch.Condition.MonitorID))
		}
	}
	row, err := a.Alerts.PutRule(ctx, ref, id, env, patch)
	if err != nil {
		return row, err
	}
	return row, a.sync(ctx, alerting.KindAlerting, ref.String())
}

// CreateChannel seals where a channel leads, with a secret for webhooks.
func (a alerts) CreateChannel(ctx context.Context, ref svc.AppRef, spec svc.ChannelSpec) (svc.Channel, svc.Secret, error) {
	problems := spec.Validate(a.dialer.Targets)
	if len(problems) == 0 && spec.Kind != svc.ChannelEmail {
		if problem := a.dialer.CheckTarget(ctx, spec.URL); problem != nil {
			problems = append(problems, *problem)
		}
	}
	if len(problems) > 0 {
		return svc.Channel{}, "", svc.Invalid(problems...)
	}
	target := svc.ChannelTarget{URL: spec.URL, To: spec.To}
	if spec.Kind == svc.ChannelWebhook {
		target.Secret = svc.MintSecret("whsec_", a.random.Bytes(secretBytes))
	}
	clear, err := json.Marshal(target)
	if err != nil {
		return svc.Channel{}, "", fmt.Errorf("encoding a channel: %w", err)
	}
	channel := svc.Channel{ID: a.random.ID("chn_"), Name: spec.Name, Kind: spec.Kind, CreatedAt: a.now()}
	channel.Sealed = a.sender.box.Seal(channel.ID, clear)
	made, err := a.PutChannel(ctx, ref, channel)
	return made, target.Secret, err
}

// TestChannel sends one notification about a made-up incident and returns why it failed.
func (a alerts) TestChannel(ctx context.Context, ref svc.AppRef, id string) (problem string, err error) {
	channels, err := a.Channels(ctx, ref)
	if err != nil {
		return "", err
	}
	for _, channel := range channels {
		if channel.ID != id {
			continue
		}
		now := a.now()
		incident := svc.Incident{
			ID: a.random.ID("inc_"), RuleName: "Test", Kind: svc.AlertEventVolume, Severity: "info", Status: svc.IncidentOpen, Environment: svc.DefaultEnvironment,
			Title: "Test of the channel " + channel.Name, Comparator: "gt", StartedAt: now, LastTriggeredAt: now, Occurrences: 1,
		}
		ctx, cancel := context.WithTimeout(ctx, testTime)
		defer cancel()
		_, err := a.sender.Send(ctx, channel, svc.Delivery{ID: a.random.ID("dlv_"), ChannelID: id, Notice: svc.Notice{Event: svc.NoticeTest, App: ref, Incident: incident}})
		if err != nil {
			return err.Error(), nil
		}
		return "", nil
	}
	return "", svc.NotFound("channel")
}

// testTime bounds the test of a channel.
const testTime = 10 * time.Second
