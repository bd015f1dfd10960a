package alerting

import (
	"context"
	"strings"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/issue"
	"svc/domain/monitor"
)

// Alerts is the client of the alerting actors.
type Alerts struct {
	Actors  grain.Caller
	Random  grain.Random
	Workers *grain.Workers

	uptimes batcher
}

// Rules returns the alert rules of an application by id, with their states.
func (a *Alerts) Rules(ctx context.Context, ref domain.AppRef) ([]alert.Row, error) {
	return alertingRules.Ask(ctx, a.Actors, ref.String(), grain.None{})
}

// PutRule makes a rule of an environment, or changes the one with an id. It fails with not_found if no rule has the id.
// It fails with invalid_request if the rule is not valid, or belongs to another environment than a change names; the
// zero environment names none.
func (a *Alerts) PutRule(ctx context.Context, ref domain.AppRef, id string, env domain.Environment, patch alert.Patch) (alert.Row, error) {
	message := putRule{ID: id, New: id == "", Patch: patch, SetRecovery: patch.SetRecovery, Recovery: patch.Recovery, Environment: env.Slug, Number: env.Number}
	if message.New {
		message.ID = a.Random.NewID(ctx, "rul_")
	}
	return alertingPutRule.Ask(ctx, a.Actors, ref.String(), message)
}

// DeleteRule removes a rule; its incident is resolved.
func (a *Alerts) DeleteRule(ctx context.Context, ref domain.AppRef, id string) error {
	_, err := alertingDeleteRule.Ask(ctx, a.Actors, ref.String(), findRule{ID: id})
	return err
}

// Acknowledge records that a member handles an incident.
func (a *Alerts) Acknowledge(ctx context.Context, ref domain.AppRef, id string, by domain.LedgerActor) (alert.Incident, error) {
	return alertingAcknowledge.Ask(ctx, a.Actors, ref.String(), incidentCommand{ID: id, By: by})
}

// Resolve ends an incident by hand.
func (a *Alerts) Resolve(ctx context.Context, ref domain.AppRef, id string, by domain.LedgerActor) (alert.Incident, error) {
	return alertingResolve.Ask(ctx, a.Actors, ref.String(), incidentCommand{ID: id, By: by})
}

// Channels returns the channels of an application by id.
func (a *Alerts) Channels(ctx context.Context, ref domain.AppRef) ([]alert.Channel, error) {
	return alertingChannels.Ask(ctx, a.Actors, ref.String(), grain.None{})
}

// PutChannel stores a new channel.
func (a *Alerts) PutChannel(ctx context.Context, ref domain.AppRef, channel alert.Channel) (alert.Channel, error) {
	return alertingPutChannel.Ask(ctx, a.Actors, ref.String(), channel)
}

// DeleteChannel removes a channel. It fails with conflict while a rule names it.
func (a *Alerts) DeleteChannel(ctx context.Context, ref domain.AppRef, id string) error {
	_, err := alertingDeleteChannel.Ask(ctx, a.Actors, ref.String(), findRule{ID: id})
	return err
}

// ChangeChannel replaces a channel. It fails with not_found if no channel has the id.
func (a *Alerts) ChangeChannel(ctx context.Context, ref domain.AppRef, channel alert.Channel) (alert.Channel, error) {
	return alertingChangeChannel.Ask(ctx, a.Actors, ref.String(), channel)
}

// Silences returns the silences of an application, the ones that end last first.
func (a *Alerts) Silences(ctx context.Context, ref domain.AppRef) ([]alert.Silence, error) {
	return alertingSilences.Ask(ctx, a.Actors, ref.String(), grain.None{})
}

// PutSilence makes a silence, or changes the one with an id. It fails with not_found if no silence has the id, and with
// invalid_request if the silence is not valid or names a rule that does not exist.
func (a *Alerts) PutSilence(ctx context.Context, ref domain.AppRef, id string, patch alert.SilencePatch, by domain.LedgerActor) (alert.Silence, error) {
	message := putSilence{ID: id, New: id == "", Patch: patch, By: by}
	if message.New {
		message.ID = a.Random.ID("sil_")
	}
	return alertingPutSilence.Ask(ctx, a.Actors, ref.String(), message)
}

// DeleteSilence removes a silence. The notices about the open incidents that it covered are sent.
func (a *Alerts) DeleteSilence(ctx context.Context, ref domain.AppRef, id string) error {
	_, err := alertingDeleteSilence.Ask(ctx, a.Actors, ref.String(), findRule{ID: id})
	return err
}

// NewIssues fires the rules of an environment that wait for new issues. It may be repeated:
// a block counts once.
func (a *Alerts) NewIssues(ctx context.Context, ref domain.AppRef, news issue.NewIssues) error {
	_, err := alertingIssues.Ask(ctx, a.Actors, ref.String(), news)
	return err
}

// Regressed fires the rules of an environment that wait for regressions. It may be repeated:
// an issue regresses with a block once.
func (a *Alerts) Regressed(ctx context.Context, ref domain.AppRef, regressions issue.Regressions) error {
	_, err := alertingRegressions.Ask(ctx, a.Actors, ref.String(), regressions)
	return err
}

// ReportCounts reports the counts of a stored block to the rules of an application. It may be repeated: a block
// counts once.
func (a *Alerts) ReportCounts(ctx context.Context, ref domain.AppRef, told countReport) error {
	_, err := alertingCounted.Ask(ctx, a.Actors, ref.String(), told)
	return err
}

// ReportUptime reports the state of a monitor to the rules of its application, in one call with the reports of
// other monitors.
func (a *Alerts) ReportUptime(ctx context.Context, app domain.AppRef, monitor monitor.Monitor, state monitor.State) error {
	told := uptimeReport{MonitorID: monitor.ID, Down: state.Down(), CheckedAt: state.LastCheckedAt}
	return a.uptimes.add(ctx, a.Workers, app, told, func(ctx context.Context, some []uptimeReport) error {
		_, err := alertingUptimes.Ask(ctx, a.Actors, app.String(), some)
		return err
	})
}

// MonitorStopped resets the rules of a monitor that was deleted or disabled: their incidents are resolved. It
// may be repeated.
func (a *Alerts) MonitorStopped(ctx context.Context, ref domain.AppRef, monitor string) error {
	_, err := alertingUnwatched.Ask(ctx, a.Actors, ref.String(), unwatched{MonitorID: monitor})
	return err
}

// ScheduleAlerting returns a function that schedules every alerting actor with rules or undelivered notices.
func ScheduleAlerting(schedule *Schedule, load func(ctx context.Context, kind string) ([]domain.Entity, error)) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		for _, kind := range []string{KindRule, kindDelivery} {
			entities, err := load(ctx, kind)
			if err != nil {
				return err
			}
			for _, entity := range entities {
				if identity, ok := strings.CutPrefix(entity.Owner, KindAlerting+"/"); ok {
					schedule.Add(KindAlerting, identity, schedule.Now(), alertTimeout)
				}
			}
		}
		return nil
	}
}
