package apps

import (
	"maps"
	"slices"
	"strings"
	"time"

	"svc"
	"svc/actors/grain"
)

// The analytics part of the application actor: goals and funnels. Deleted goals stay, so that results show earlier
// conversions, up to the latest keptGoals of them. Deleted funnels are removed.
const keptGoals = 200

type (
	createGoal struct {
		ID   string       `json:"id"`
		Spec svc.GoalSpec `json:"spec"`
	}
	changeGoal struct {
		ID    string        `json:"id"`
		Patch svc.GoalPatch `json:"patch"`
	}
	deleteGoal struct {
		ID string `json:"id"`
	}
	createFunnel struct {
		Funnel svc.Funnel `json:"funnel"`
	}
	changeFunnel struct {
		ID   string         `json:"id"`
		Spec svc.FunnelSpec `json:"spec"`
	}
	findFunnel struct {
		ID string `json:"id"`
	}
)

// The methods of the application actor about goals and funnels.
var (
	applicationGoals        = grain.On(applicationKind, "goals", (*application).onGoals)
	applicationCreateGoal   = grain.On(applicationKind, "goal.create", (*application).onCreateGoal)
	applicationChangeGoal   = grain.On(applicationKind, "goal.change", (*application).onChangeGoal)
	applicationDeleteGoal   = grain.On(applicationKind, "goal.delete", (*application).onDeleteGoal)
	applicationFunnels      = grain.On(applicationKind, "funnels", (*application).onFunnels)
	applicationGetFunnel    = grain.On(applicationKind, "funnel.get", (*application).onGetFunnel)
	applicationCreateFunnel = grain.On(applicationKind, "funnel.create", (*application).onCreateFunnel)
	applicationChangeFunnel = grain.On(applicationKind, "funnel.change", (*application).onChangeFunnel)
	applicationDeleteFunnel = grain.On(applicationKind, "funnel.delete", (*application).onDeleteFunnel)
)

// allGoals returns the goals by id, including deleted ones.
func (a *application) allGoals() []svc.Goal {
	return slices.SortedFunc(maps.Values(a.goals), func(x, y svc.Goal) int { return strings.Compare(x.ID, y.ID) })
}

func (a *application) onGoals(time.Time, grain.None) (grain.Outcome[[]svc.Goal], error) {
	return grain.Answer(a.allGoals()), nil
}

func (a *application) onCreateGoal(now time.Time, m createGoal) (grain.Outcome[svc.Goal], error) {
	if made, there := a.goals[m.ID]; there {
		return grain.Again(made), nil
	}
	if err := svc.CheckNewGoal(a.allGoals(), m.Spec); err != nil {
		return grain.Outcome[svc.Goal]{}, err
	}
	goal := svc.NewGoal(m.Spec, m.ID, now)
	a.goals[goal.ID] = goal
	return grain.Answer(goal, grain.Put("goal", goal.ID, goal)), nil
}

func (a *application) onChangeGoal(now time.Time, m changeGoal) (grain.Outcome[svc.Goal], error) {
	goal, err := svc.ChangeGoal(a.allGoals(), m.ID, m.Patch, now)
	if err != nil {
		return grain.Outcome[svc.Goal]{}, err
	}
	a.goals[goal.ID] = goal
	return grain.Answer(goal, grain.Put("goal", goal.ID, goal)), nil
}

func (a *application) onDeleteGoal(now time.Time, m deleteGoal) (grain.Outcome[grain.None], error) {
	goal, found := a.goals[m.ID]
	if !found || goal.DeletedAt != nil {
		return grain.Outcome[grain.None]{}, svc.NotFound("goal")
	}
	goal.DeletedAt = &now
	a.goals[goal.ID] = goal
	return grain.Answer(grain.None{}, append([]grain.Write{grain.Put("goal", goal.ID, goal)}, a.forgetGoals()...)...), nil
}

// forgetGoals removes the goals that were deleted first, if there are too many deleted ones.
func (a *application) forgetGoals() []grain.Write {
	deleted := slices.DeleteFunc(a.allGoals(), func(goal svc.Goal) bool { return goal.DeletedAt == nil })
	slices.SortStableFunc(deleted, func(x, y svc.Goal) int { return x.DeletedAt.Compare(*y.DeletedAt) })
	var writes []grain.Write
	for len(deleted) > keptGoals {
		delete(a.goals, deleted[0].ID)
		writes = append(writes, grain.Delete("goal", deleted[0].ID))
		deleted = deleted[1:]
	}
	return writes
}

// allFunnels returns the funnels by id.
func (a *application) allFunnels() []svc.Funnel {
	return slices.SortedFunc(maps.Values(a.funnels), func(x, y svc.Funnel) int { return strings.Compare(x.ID, y.ID) })
}

func (a *application) onFunnels(time.Time, grain.None) (grain.Outcome[[]svc.Funnel], error) {
	return grain.Answer(a.allFunnels()), nil
}

func (a *application) onGetFunnel(_ time.Time, m findFunnel) (grain.Outcome[svc.Funnel], error) {
	funnel, found := a.funnels[m.ID]
	if !found {
		return grain.Outcome[svc.Funnel]{}, svc.NotFound("funnel")
	}
	return grain.Answer(funnel), nil
}

func (a *application) onCreateFunnel(_ time.Time, m createFunnel) (grain.Outcome[svc.Funnel], error) {
	if made, there := a.funnels[m.Funnel.ID]; there {
		return grain.Again(made), nil
	}
	if err := svc.CheckNewFunnel(len(a.funnels)); err != nil {
		return grain.Outcome[svc.Funnel]{}, err
	}
	a.funnels[m.Funnel.ID] = m.Funnel
	return grain.Answer(m.Funnel, grain.Put("funnel", m.Funnel.ID, m.Funnel)), nil
}

func (a *application) onChangeFunnel(now time.Time, m changeFunnel) (grain.Outcome[svc.Funnel], error) {
	funnel, found := a.funnels[m.ID]
	if !found {
		return grain.Outcome[svc.Funnel]{}, svc.NotFound("funnel")
	}
	funnel = funnel.Change(m.Spec, now)
	a.funnels[m.ID] = funnel
	return grain.Answer(funnel, grain.Put("funnel", m.ID, funnel)), nil
}

func (a *application) onDeleteFunnel(_ time.Time, m findFunnel) (grain.Outcome[grain.None], error) {
	if _, found := a.funnels[m.ID]; !found {
		return grain.Outcome[grain.None]{}, svc.NotFound("funnel")
	}
	delete(a.funnels, m.ID)
	return grain.Answer(grain.None{}, grain.Delete("funnel", m.ID)), nil
}
