package apitest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/annotation"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/domain/release"
)

// CreateGoal implements analytics.Goals.
func (m *Memory) CreateGoal(_ context.Context, ref domain.AppRef, spec goal.Spec) (goal.Goal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	if err := goal.CheckNewGoal(held.goals, spec); err != nil {
		return goal.Goal{}, err
	}
	held.goals = append(held.goals, goal.NewGoal(spec, m.newID("goal"), m.now()))
	return held.goals[len(held.goals)-1], nil
}

// ChangeGoal implements analytics.Goals.
func (m *Memory) ChangeGoal(_ context.Context, ref domain.AppRef, id string, patch goal.Patch) (goal.Goal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	goals := m.apps[ref].goals
	changed, err := goal.ChangeGoal(goals, id, patch, m.now())
	if err != nil {
		return goal.Goal{}, err
	}
	goals[slices.IndexFunc(goals, func(goal goal.Goal) bool { return goal.ID == id })] = changed
	return changed, nil
}

// DeleteGoal implements analytics.Goals.
func (m *Memory) DeleteGoal(_ context.Context, ref domain.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.apps[ref].goals {
		if goal := &m.apps[ref].goals[i]; goal.ID == id && goal.DeletedAt == nil {
			now := m.now()
			goal.DeletedAt = &now
			return nil
		}
	}
	return domain.NotFound("goal")
}

// CreateFunnel implements analytics.Funnels.
func (m *Memory) CreateFunnel(_ context.Context, ref domain.AppRef, spec funnel.Spec) (funnel.Funnel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	if err := funnel.CheckNewFunnel(len(held.funnels)); err != nil {
		return funnel.Funnel{}, err
	}
	held.funnels = append(held.funnels, funnel.NewFunnel(spec, m.newID("fun"), m.now()))
	return held.funnels[len(held.funnels)-1], nil
}

// ChangeFunnel implements analytics.Funnels.
func (m *Memory) ChangeFunnel(_ context.Context, ref domain.AppRef, id string, spec funnel.Spec) (funnel.Funnel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	funnels := m.apps[ref].funnels
	at := slices.IndexFunc(funnels, func(f funnel.Funnel) bool { return f.ID == id })
	if at < 0 {
		return funnel.Funnel{}, domain.NotFound("funnel")
	}
	funnels[at] = funnels[at].Change(spec, m.now())
	return funnels[at], nil
}

// DeleteFunnel implements analytics.Funnels.
func (m *Memory) DeleteFunnel(_ context.Context, ref domain.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	var err error
	held.funnels, err = without(held.funnels, "funnel", func(f funnel.Funnel) bool { return f.ID == id })
	return err
}

// conversions counts the events that meet a goal.
func conversions(goals []goal.Matcher, events []event.Event) (n uint64) {
	for _, event := range events {
		if slices.ContainsFunc(goals, func(goal goal.Matcher) bool { return goal.Matches(event.Name, event.Path) }) {
			n++
		}
	}
	return n
}

// GoalCounts implements analytics.Results.
func (m *Memory) GoalCounts(_ context.Context, scope analytics.Scope, goals []goal.Goal) (goal.Counts, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	window, capped := covered(scope)
	var rows []goal.Count
	for _, g := range goals {
		met := slices.DeleteFunc(m.selected(scope, window), func(e event.Event) bool {
			return !g.Matches(e.Name, e.Path) || g.DeletedAt != nil && !e.Ts.Before(*g.DeletedAt)
		})
		rows = append(rows, goal.Count{Goal: g, Conversions: uint64(len(met)), Visitors: m.headline(met, window.Location).Visitors})
	}
	return goal.Counts{Rows: goal.RankGoals(rows), Capped: capped}, nil
}

// FunnelResult implements analytics.Results.
func (m *Memory) FunnelResult(_ context.Context, scope analytics.Scope, funnel funnel.Funnel) (funnel.Result, error) {
	result, _ := m.funnelPersons(scope, &funnel, funnel.Filtered())
	return result, nil
}

// FunnelSplit implements analytics.Results. It supports properties and the dimensions of steps that are text columns.
func (m *Memory) FunnelSplit(_ context.Context, scope analytics.Scope, f funnel.Funnel, split funnel.Split) (funnel.Result, error) {
	result, persons := m.funnelPersons(scope, &f, f.Filtered() || split.Scans())
	tallies, counts := map[string]*funnel.Tally{}, map[string]int{}
	for _, one := range persons {
		value := filter.StepFilter{Property: string(split.Dimension)}.Text(&one.entry)
		if split.Masked {
			value = domain.MaskShapes(value)
		}
		if tallies[value] == nil {
			tallies[value] = funnel.NewFunnelTally(&f, scope.Window)
		}
		tallies[value].Add(one.steps)
		counts[value]++
	}
	words := slices.Collect(maps.Keys(tallies))
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b)) })
	for _, word := range words[:min(len(words), funnel.MaxFunnelValues)] {
		result.Values = append(result.Values, funnel.Value{Value: word, Rows: tallies[word].Rows()})
	}
	return result, nil
}

// funnelPerson is a person in a funnel: the event of the first entry, and the steps that the events take.
type funnelPerson struct {
	entry event.Event
	steps []funnel.Event
}

func (m *Memory) funnelPersons(scope analytics.Scope, f *funnel.Funnel, capped bool) (result funnel.Result, entered []*funnelPerson) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if capped {
		scope.Window, result.Capped = scope.Window.Capped()
	}
	window := scope.Window
	window.To = window.To.Add(f.Window())
	events := m.selected(scope, window)
	slices.SortFunc(events, func(a, b event.Event) int { return cmp.Or(a.Ts.Compare(b.Ts), strings.Compare(a.ID, b.ID)) })
	persons := map[string]*funnelPerson{}
	for i := range events {
		step := funnel.Event{TsMs: events[i].Ts.UnixMilli()}
		for n := range f.Steps {
			if f.Steps[n].Takes(&events[i]) {
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
	tally := funnel.NewFunnelTally(f, scope.Window)
	for _, who := range entered {
		tally.Add(who.steps)
	}
	result.Rows = tally.Rows()
	return result, entered
}

// marks implements the ports of annotations and exclusions.
type marks struct{ *Memory }

// Annotations implements analytics.Annotations.
func (m marks) Annotations(_ context.Context, ref domain.AppRef) ([]annotation.Annotation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.apps[ref].annotations), nil
}

// PutAnnotation implements analytics.Annotations.
func (m marks) PutAnnotation(_ context.Context, ref domain.AppRef, id string, patch annotation.Patch, by domain.LedgerActor) (annotation.Annotation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	place := slices.IndexFunc(held.annotations, func(a annotation.Annotation) bool { return a.ID == id })
	mark := annotation.Annotation{Spec: annotation.Spec{Kind: annotation.Note, At: m.now()}, CreatedAt: m.now(), CreatedBy: by}
	switch {
	case place >= 0:
		mark = held.annotations[place]
	case id != "":
		return annotation.Annotation{}, domain.NotFound("annotation")
	}
	mark.Spec, mark.UpdatedAt = mark.With(patch), m.now()
	if problems := mark.Validate(); len(problems) > 0 {
		return annotation.Annotation{}, domain.Invalid(problems...)
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
func (m marks) DeleteAnnotation(_ context.Context, ref domain.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	var err error
	held.annotations, err = without(held.annotations, "annotation", func(a annotation.Annotation) bool { return a.ID == id })
	return err
}

// Releases implements analytics.Releases; there are no announced releases.
func (marks) Releases(context.Context, string, string, *release.Release, int) ([]release.Release, bool, error) {
	return nil, false, nil
}

// PutExclusions implements apps.Exclusions.
func (m marks) PutExclusions(_ context.Context, app domain.Application, items []domain.ExclusionItem) (domain.Exclusions, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next, problems := app.Exclusions.Replace([]byte("test"), app.ID, items, m.now())
	if len(problems) > 0 {
		return domain.Exclusions{}, domain.Invalid(problems...)
	}
	m.apps[app.Ref()].app.Exclusions = next
	return next, nil
}
