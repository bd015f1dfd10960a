package apps

import (
	"maps"
	"slices"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/funnel"
	"svc/domain/goal"
)

// The analytics part of the application actor: goals and funnels. Deleted goals stay, so that results show earlier
// conversions, up to the latest keptGoals of them. Deleted funnels are removed.
const keptGoals = 200

type (
	createGoal struct {
		ID   string    `json:"id"`
		Spec goal.Spec `json:"spec"`
	}
	changeGoal struct {
		ID    string     `json:"id"`
		Patch goal.Patch `json:"patch"`
	}
	deleteGoal struct {
		ID string `json:"id"`
	}
	createFunnel struct {
		Funnel funnel.Funnel `json:"funnel"`
	}
	changeFunnel struct {
		ID   string      `json:"id"`
		Spec funnel.Spec `json:"spec"`
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
func (a *application) allGoals() []goal.Goal {
	return slices.SortedFunc(maps.Values(a.goals), func(x, y goal.Goal) int { return strings.Compare(x.ID, y.ID) })
}

func (a *application) onGoals(time.Time, grain.None) (grain.Outcome[[]goal.Goal], error) {
	return grain.Answer(a.allGoals()), nil
}

func (a *application) onCreateGoal(now time.Time, m createGoal) (grain.Outcome[goal.Goal], error) {
	if made, there := a.goals[m.ID]; there {
		return grain.Again(made), nil
	}
	if err := goal.CheckNewGoal(a.allGoals(), m.Spec); err != nil {
		return grain.Outcome[goal.Goal]{}, err
	}
	goal := goal.NewGoal(m.Spec, m.ID, now)
	a.goals[goal.ID] = goal
	return grain.Answer(goal, grain.Put("goal", goal.ID, goal)), nil
}

func (a *application) onChangeGoal(now time.Time, m changeGoal) (grain.Outcome[goal.Goal], error) {
	g, err := goal.ChangeGoal(a.allGoals(), m.ID, m.Patch, now)
	if err != nil {
		return grain.Outcome[goal.Goal]{}, err
	}
	a.goals[g.ID] = g
	return grain.Answer(g, grain.Put("goal", g.ID, g)), nil
}

func (a *application) onDeleteGoal(now time.Time, m deleteGoal) (grain.Outcome[grain.None], error) {
	goal, found := a.goals[m.ID]
	if !found || goal.DeletedAt != nil {
		return grain.Outcome[grain.None]{}, domain.NotFound("goal")
	}
	goal.DeletedAt = &now
	a.goals[goal.ID] = goal
	return grain.Answer(grain.None{}, append([]grain.Write{grain.Put("goal", goal.ID, goal)}, a.forgetGoals()...)...), nil
}

// forgetGoals removes the goals that were deleted first, if there are too many deleted ones.
func (a *application) forgetGoals() []grain.Write {
	deleted := slices.DeleteFunc(a.allGoals(), func(goal goal.Goal) bool { return goal.DeletedAt == nil })
	slices.SortStableFunc(deleted, func(x, y goal.Goal) int { return x.DeletedAt.Compare(*y.DeletedAt) })
	var writes []grain.Write
	for len(deleted) > keptGoals {
		delete(a.goals, deleted[0].ID)
		writes = append(writes, grain.Delete("goal", deleted[0].ID))
		deleted = deleted[1:]
	}
	return writes
}

// allFunnels returns the funnels by id.
func (a *application) allFunnels() []funnel.Funnel {
	return slices.SortedFunc(maps.Values(a.funnels), func(x, y funnel.Funnel) int { return strings.Compare(x.ID, y.ID) })
}

func (a *application) onFunnels(time.Time, grain.None) (grain.Outcome[[]funnel.Funnel], error) {
	return grain.Answer(a.allFunnels()), nil
}

func (a *application) onGetFunnel(_ time.Time, m findFunnel) (grain.Outcome[funnel.Funnel], error) {
	f, found := a.funnels[m.ID]
	if !found {
		return grain.Outcome[funnel.Funnel]{}, domain.NotFound("funnel")
	}
	return grain.Answer(f), nil
}

func (a *application) onCreateFunnel(_ time.Time, m createFunnel) (grain.Outcome[funnel.Funnel], error) {
	if made, there := a.funnels[m.Funnel.ID]; there {
		return grain.Again(made), nil
	}
	if err := funnel.CheckNewFunnel(len(a.funnels)); err != nil {
		return grain.Outcome[funnel.Funnel]{}, err
	}
	a.funnels[m.Funnel.ID] = m.Funnel
	return grain.Answer(m.Funnel, grain.Put("funnel", m.Funnel.ID, m.Funnel)), nil
}

func (a *application) onChangeFunnel(now time.Time, m changeFunnel) (grain.Outcome[funnel.Funnel], error) {
	f, found := a.funnels[m.ID]
	if !found {
		return grain.Outcome[funnel.Funnel]{}, domain.NotFound("funnel")
	}
	f = f.Change(m.Spec, now)
	a.funnels[m.ID] = f
	return grain.Answer(f, grain.Put("funnel", m.ID, f)), nil
}

func (a *application) onDeleteFunnel(_ time.Time, m findFunnel) (grain.Outcome[grain.None], error) {
	if _, found := a.funnels[m.ID]; !found {
		return grain.Outcome[grain.None]{}, domain.NotFound("funnel")
	}
	delete(a.funnels, m.ID)
	return grain.Answer(grain.None{}, grain.Delete("funnel", m.ID)), nil
}
