package adapter

import (
	"context"
	"slices"

	"svc/actors/alerting"
	"svc/actors/flags"
	"svc/actors/people"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/conversation"
	"svc/domain/flag"
	"svc/domain/segment"
)

// Dependents finds the parts of production that depend on objects without an environment.
type Dependents struct {
	Application func(ref domain.AppRef) (*domain.Application, bool)
	Segments    *people.Segments
	Flags       *flags.Flags
	Alerts      *alerting.Alerts
}

// ProductionDepends reports whether an application's production depends on an object. A flag or a campaign depends on a
// segment. An alert rule depends on a monitor. A flag or a segment in use depends on the stages to which goals move
// people. Nothing depends on a new segment or monitor.
func (d Dependents) ProductionDepends(ctx context.Context, ref domain.AppRef, noun, id string) (bool, error) {
	switch noun {
	case "segment":
		return d.segmentInProduction(ctx, ref, id)
	case "monitor":
		rules, err := d.Alerts.Rules(ctx, ref)
		return id != "" && slices.ContainsFunc(rules, func(row alert.Row) bool {
			return row.Environment == conversation.Production && row.Condition.MonitorID == id
		}), err
	case "goal":
		return d.stagesInProduction(ctx, ref)
	}
	return true, nil
}

func (d Dependents) segmentInProduction(ctx context.Context, ref domain.AppRef, id string) (bool, error) {
	app, found := d.Application(ref)
	if id == "" || !found {
		return false, nil
	}
	uses, err := d.Segments.Uses(ctx, *app, id)
	return slices.ContainsFunc(uses, func(use segment.Use) bool { return use.Production }), err
}

func (d Dependents) stagesInProduction(ctx context.Context, ref domain.AppRef) (bool, error) {
	all, err := d.Flags.List(ctx, ref)
	if err != nil || slices.ContainsFunc(all, func(f flag.Flag) bool { return f.UsesStages(conversation.Production) }) {
		return true, err
	}
	app, found := d.Application(ref)
	if !found {
		return false, nil
	}
	segments, err := d.Segments.Segments(ctx, *app)
	if err != nil {
		return true, err
	}
	for i := range segments {
		if !segments[i].UsesStages() {
			continue
		}
		if used, err := d.segmentInProduction(ctx, ref, segments[i].ID); used || err != nil {
			return true, err
		}
	}
	return false, nil
}
