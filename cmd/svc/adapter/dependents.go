package adapter

import (
	"context"
	"slices"

	"svc"
	"svc/actors/alerting"
	"svc/actors/flags"
	"svc/actors/people"
)

// Dependents finds the parts of production that depend on objects without an environment.
type Dependents struct {
	Application func(ref svc.AppRef) (*svc.Application, bool)
	Segments    *people.Segments
	Flags       *flags.Flags
	Alerts      *alerting.Alerts
}

// ProductionDepends reports whether an application's production depends on an object. A flag or a campaign depends on a
// segment. An alert rule depends on a monitor. A flag or a segment in use depends on the stages to which goals move
// people. Nothing depends on a new segment or monitor.
func (d Dependents) ProductionDepends(ctx context.Context, ref svc.AppRef, noun, id string) (bool, error) {
	switch noun {
	case "segment":
		return d.segmentInProduction(ctx, ref, id)
	case "monitor":
		rules, err := d.Alerts.Rules(ctx, ref)
		return id != "" && slices.ContainsFunc(rules, func(row svc.AlertRow) bool { return row.Environment == svc.Production && row.Condition.MonitorID == id }), err
	case "goal":
		return d.stagesInProduction(ctx, ref)
	}
	return true, nil
}

func (d Dependents) segmentInProduction(ctx context.Context, ref svc.AppRef, id string) (bool, error) {
	app, found := d.Application(ref)
	if id == "" || !found {
		return false, nil
	}
	uses, err := d.Segments.Uses(ctx, *app, id)
	return slices.ContainsFunc(uses, func(use svc.SegmentUse) bool { return use.Production }), err
}

func (d Dependents) stagesInProduction(ctx context.Context, ref svc.AppRef) (bool, error) {
	all, err := d.Flags.List(ctx, ref)
	if err != nil || slices.ContainsFunc(all, func(f svc.Flag) bool { return f.UsesStages(svc.Production) }) {
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
