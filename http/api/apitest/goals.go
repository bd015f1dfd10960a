package apitest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"svc"
)

// CreateGoal implements analytics.Goals.
func (m *Memory) CreateGoal(_ context.Context, ref svc.AppRef, spec svc.GoalSpec) (svc.Goal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	if err := svc.CheckNewGoal(held.goals, spec); err != nil {
		return svc.Goal{}, err
	}
	held.goals = append(held.goals, svc.NewGoal(spec, m.newID("goal"), m.now()))
	return held.goals[len(held.goals)-1], nil
}

// ChangeGoal implements analytics.Goals.
func (m *Memory) ChangeGoal(_ context.Context, ref svc.AppRef, id string, patch svc.GoalPatch) (svc.Goal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	goals := m.apps[ref].goals
	changed, err := svc.ChangeGoal(goals, id, patch, m.now())
	if err != nil {
		return svc.Goal{}, err
	}
	goals[slices.IndexFunc(goals, func(goal svc.Goal) bool { return goal.ID == id })] = changed
	return changed, nil
}

// DeleteGoal implements analytics.Goals.
func (m *Memory) DeleteGoal(_ context.Context, ref svc.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.apps[ref].goals {
		if goal := &m.apps[ref].goals[i]; goal.ID == id && goal.DeletedAt == nil {
			now := m.now()
			goal.DeletedAt = &now
			return nil
		}
	}
	return svc.NotFound("goal")
}

// CreateFunnel implements analytics.Funnels.
func (m *Memory) CreateFunnel(_ context.Context, ref svc.AppRef, spec svc.FunnelSpec) (svc.Funnel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	if err := svc.CheckNewFunnel(len(held.funnels)); err != nil {
		return svc.Funnel{}, err
	}
	held.funnels = append(held.funnels, svc.NewFunnel(spec, m.newID("fun"), m.now()))
	return held.funnels[len(held.funnels)-1], nil
}

// ChangeFunnel implements analytics.Funnels.
func (m *Memory) ChangeFunnel(_ context.Context, ref svc.AppRef, id string, spec svc.FunnelSpec) (svc.Funnel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	funnels := m.apps[ref].funnels
	at := slices.IndexFunc(funnels, func(f svc.Funnel) bool { return f.ID == id })
	if at < 0 {
		return svc.Funnel{}, svc.NotFound("funnel")
	}
	funnels[at] = funnels[at].Change(spec, m.now())
	return funnels[at], nil
}

// DeleteFunnel implements analytics.Funnels.
func (m *Memory) DeleteFunnel(_ context.Context, ref svc.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	var err error
	held.funnels, err = without(held.funnels, "funnel", func(f svc.Funnel) bool { return f.ID == id })
	return err
}

// conversions counts the events that meet a goal.
func conversions(goals []svc.Matcher, events []svc.Event) (n uint64) {
	for _, event := range events {
		if slices.ContainsFunc(goals, func(goal svc.Matcher) bool { return goal.Matches(event.Name, event.Path) }) {
			n++
		}
	}
	return n
}

// GoalCounts implements analytics.Results.
func (m *Memory) GoalCounts(_ context.Context, scope svc.AnalyticsScope, goals []svc.Goal) (svc.GoalCounts, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	window, capped := covered(scope)
	var rows []svc.GoalCount
	for _, goal := range goals {
		met := slices.DeleteFunc(m.selected(scope, window), func(e svc.Event) bool {
			return !goal.Matches(e.Name, e.Path) || goal.DeletedAt != nil && !e.Ts.Before(*goal.DeletedAt)
		})
		rows = append(rows, svc.GoalCount{Goal: goal, Conversions: uint64(len(met)), Visitors: m.headline(met, window.Location).Visitors})
	}
	return svc.GoalCounts{Rows: svc.RankGoals(rows), Capped: capped}, nil
}

// FunnelResult implements analytics.Results.
func (m *Memory) FunnelResult(_ context.Context, scope svc.AnalyticsScope, funnel svc.Funnel) (svc.FunnelResult, error) {
	result, _ := m.funnelPersons(scope, &funnel, funnel.Filtered())
	return result, nil
}

// FunnelSplit implements analytics.Results. It supports properties and the dimensions of steps that are text columns.
func (m *Memory) FunnelSplit(_ context.Context, scope svc.AnalyticsScope, funnel svc.Funnel, split svc.FunnelSplit) (svc.FunnelResult, error) {
	result, persons := m.funnelPersons(scope, &funnel, funnel.Filtered() || split.Scans())
	tallies, counts := map[string]*svc.FunnelTally{}, map[string]int{}
	for _, one := range persons {
		value := svc.StepFilter{Property: string(split.Dimension)}.Text(&one.entry)
		if split.Masked {
			value = svc.MaskShapes(value)
		}
		if tallies[value] == nil {
			tallies[value] = svc.NewFunnelTally(&funnel, scope.Window)
		}
		tallies[value].Add(one.steps)
		counts[value]++
	}
	words := slices.Collect(maps.Keys(tallies))
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b)) })
	for _, word := range words[:min(len(words), svc.MaxFunnelValues)] {
		result.Values = append(result.Values, svc.FunnelValue{Value: word, Rows: tallies[word].Rows()})
	}
	return result, nil
}

// funnelPerson is a person in a funnel: the event of the first entry, and the steps that the events take.
type funnelPerson struct {
	entry svc.Event
	steps []svc.FunnelEvent
}

func (m *Memory) funnelPersons(scope svc.AnalyticsScope, funnel *svc.Funnel, capped bool) (result svc.FunnelResult, entered []*funnelPerson) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if capped {
		scope.Window, result.Capped = scope.Window.Capped()
	}
	window := scope.Window
	window.To = window.To.Add(funnel.Window())
	events := m.selected(scope, window)
	slices.SortFunc(events, func(a, b svc.Event) int { return cmp.Or(a.Ts.Compare(b.Ts), strings.Compare(a.ID, b.ID)) })
	persons := map[string]*funnelPerson{}
	for i := range events {
		step := svc.FunnelEvent{TsMs: events[i].Ts.UnixMilli()}
		for n := range funnel.Steps {
			if funnel.Steps[n].Takes(&events[i]) {
				step.Steps |= 1 << n
			}
		}
		who := persons[events[i].Person()]
		if who == nil {
			who = &funnelPerson{}
			persons[events[i].Person()] = who
		}
		if step.Steps&1 != 0 && events[i].Ts.Before(scope.Window.To) && who.entry.ID == "" {
			who.entry = events[i]
			entered = append(entered, who)
		}
		who.steps = append(who.steps, step)
	}
	tally := svc.NewFunnelTally(funnel, scope.Window)
	for _, who := range entered {
		tally.Add(who.steps)
	}
	result.Rows = tally.Rows()
	return result, entered
}

// marks implements the ports of annotations and exclusions.
type marks struct{ *Memory }

// Annotations implements analytics.Annotations.
func (m marks) Annotations(_ context.Context, ref svc.AppRef) ([]svc.Annotation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.apps[ref].annotations), nil
}

// PutAnnotation implements analytics.Annotations.
func (m marks) PutAnnotation(_ context.Context, ref svc.AppRef, id string, patch svc.AnnotationPatch, by svc.LedgerActor) (svc.Annotation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	place := slices.IndexFunc(held.annotations, func(a svc.Annotation) bool { return a.ID == id })
	mark := svc.Annotation{AnnotationSpec: svc.AnnotationSpec{Kind: svc.AnnotationNote, At: m.now()}, CreatedAt: m.now(), CreatedBy: by}
	switch {
	case place >= 0:
		mark = held.annotations[place]
	case id != "":
		return svc.Annotation{}, svc.NotFound("annotation")
	}
	mark.AnnotationSpec, mark.UpdatedAt = mark.With(patch), m.now()
	if problems := mark.Validate(); len(problems) > 0 {
		return svc.Annotation{}, svc.Invalid(problems...)
	}
	if place >= 0 {
		held.annotations[place] = mark
		return mark, nil
	}
	mark.ID = m.newID("ann")
	held.annotations = append(held.annotations, mark)
	return mark, nil
}

// DeleteAnnotation implements analytics.Annotations.
func (m marks) DeleteAnnotation(_ context.Context, ref svc.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	var err error
	held.annotations, err = without(held.annotations, "annotation", func(a svc.Annotation) bool { return a.ID == id })
	return err
}

// Releases implements analytics.Releases; there are no announced releases.
func (marks) Releases(context.Context, string, string, *svc.Release, int) ([]svc.Release, bool, error) {
	return nil, false, nil
}

// PutExclusions implements apps.Exclusions.
func (m marks) PutExclusions(_ context.Context, app svc.Application, items []svc.ExclusionItem) (svc.Exclusions, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next, problems := app.Exclusions.Replace([]byte("test"), app.ID, items, m.now())
	if len(problems) > 0 {
		return svc.Exclusions{}, svc.Invalid(problems...)
	}
	m.apps[app.Ref()].app.Exclusions = next
	return next, nil
}
