package actors

import (
	"maps"
	"slices"
	"time"

	"svc"
)

// What the application actor keeps of analytics: goals and funnels. Goals that were
// deleted stay, so that results show what was converted before; the latest
// keptGoals of them. Funnels that were deleted are gone.
const keptGoals = 200

type (
	createGoal struct {
		ID   string       `json:"id"`
		Spec svc.GoalSpec `json:"spec"`
	}
	deleteGoal struct {
		ID string `json:"id"`
	}
	createFunnel struct {
		Funnel svc.Funnel `json:"funnel"`
	}
	findFunnel struct {
		ID string `json:"id"`
	}
)

// goalHandlers are the methods about goals and funnels.
func goalHandlers() map[string]handler[*application] {
	return map[string]handler[*application]{
		"goals":         on((*application).onGoals),
		"goal.create":   on((*application).onCreateGoal),
		"goal.delete":   on((*application).onDeleteGoal),
		"funnels":       on((*application).onFunnels),
		"funnel.get":    on((*application).onGetFunnel),
		"funnel.create": on((*application).onCreateFunnel),
		"funnel.delete": on((*application).onDeleteFunnel),
	}
}

// allGoals returns the goals by id, the deleted ones among them.
func (a *application) allGoals() []svc.Goal {
	return slices.SortedFunc(maps.Values(a.goals), func(x, y svc.Goal) int { return compareStrings(x.ID, y.ID) })
}

func (a *application) onGoals(time.Time, none) (outcome, error) {
	return outcome{answer: a.allGoals()}, nil
}

func (a *application) onCreateGoal(now time.Time, m createGoal) (outcome, error) {
	if err := svc.CheckNewGoal(a.allGoals(), m.Spec); err != nil {
		return outcome{}, err
	}
	goal := svc.NewGoal(m.Spec, m.ID, now)
	a.goals[goal.ID] = goal
	return outcome{answer: goal, writes: []write{{"goal", goal.ID, goal}}}, nil
}

func (a *application) onDeleteGoal(now time.Time, m deleteGoal) (outcome, error) {
	goal, found := a.goals[m.ID]
	if !found || goal.DeletedAt != nil {
		return outcome{}, svc.NotFound("goal")
	}
	goal.DeletedAt = &now
	a.goals[goal.ID] = goal
	return outcome{answer: none{}, writes: append([]write{{"goal", goal.ID, goal}}, a.forgetGoals()...)}, nil
}

// forgetGoals removes the goals that were deleted first, where too many are kept.
func (a *application) forgetGoals() []write {
	deleted := slices.DeleteFunc(a.allGoals(), func(goal svc.Goal) bool { return goal.DeletedAt == nil })
	slices.SortStableFunc(deleted, func(x, y svc.Goal) int { return x.DeletedAt.Compare(*y.DeletedAt) })
	var writes []write
	for len(deleted) > keptGoals {
		delete(a.goals, deleted[0].ID)
		writes = append(writes, write{"goal", deleted[0].ID, nil})
		deleted = deleted[1:]
	}
	return writes
}

func (a *application) onFunnels(time.Time, none) (outcome, error) {
	funnels := slices.SortedFunc(maps.Values(a.funnels), func(x, y svc.Funnel) int { return compareStrings(x.ID, y.ID) })
	return outcome{answer: funnels}, nil
}

func (a *application) onGetFunnel(_ time.Time, m findFunnel) (outcome, error) {
	funnel, found := a.funnels[m.ID]
	if !found {
		return outcome{}, svc.NotFound("funnel")
	}
	return outcome{answer: funnel}, nil
}

func (a *application) onCreateFunnel(_ time.Time, m createFunnel) (outcome, error) {
	if err := svc.CheckNewFunnel(len(a.funnels)); err != nil {
		return outcome{}, err
	}
	a.funnels[m.Funnel.ID] = m.Funnel
	return outcome{answer: m.Funnel, writes: []write{{"funnel", m.Funnel.ID, m.Funnel}}}, nil
}

func (a *application) onDeleteFunnel(_ time.Time, m findFunnel) (outcome, error) {
	if _, found := a.funnels[m.ID]; !found {
		return outcome{}, svc.NotFound("funnel")
	}
	delete(a.funnels, m.ID)
	return outcome{answer: none{}, writes: []write{{"funnel", m.ID, nil}}}, nil
}
