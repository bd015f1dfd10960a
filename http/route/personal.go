package route

import (
	"maps"
	"slices"

	"svc/domain"
)

// seesPersons reports whether the caller may see data that names or reaches a person. Open routes serve people without
// a session, and their answers contain nothing about persons.
func (c *Call) seesPersons() bool { return c.Route.Open || c.Grant.May(domain.PermPeoplePIIRead) }

// shown returns a JSON answer as the caller may see it.
func (c *Call) shown(answer []byte) []byte {
	surface := domain.PersonalSurfaceOf(c.Route.Operation)
	mask := domain.PersonalMask{
		Shown: c.seesPersons() || surface.Unmasked, Plain: surface.Links,
		Hooks: slices.ContainsFunc(surface.Hooks, func(needed domain.Permission) bool { return !c.Grant.May(needed) }),
	}
	if mask.Shown && !mask.Hooks || len(answer) == 0 {
		return answer
	}
	mask.Fields = c.App.Personal()
	return domain.MaskDocument(answer, mask)
}

// shownProblem returns a problem as the caller may see it.
func (c *Call) shownProblem(problem []byte) []byte {
	if c.seesPersons() || len(problem) == 0 {
		return problem
	}
	return domain.MaskDocument(problem, domain.PersonalMask{Fields: c.App.Personal()})
}

// asksNothingMasked refuses a question or definition if its answer would reveal data that is masked for the caller.
func (c *Call) asksNothingMasked(body []byte) error {
	surface := domain.PersonalSurfaceOf(c.Route.Operation)
	if c.seesPersons() || surface.Unmasked {
		return nil
	}
	question := domain.PersonalQuestion{Fields: c.App.Personal(), Writes: surface.Writes}
	query, _ := parseQuery(c.request.URL.RawQuery) // the problems of the query were reported already
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			if name == "cursor" {
				continue
			}
			if err := question.Parameter(name, value); err != nil {
				return err
			}
		}
	}
	for _, value := range c.path {
		if err := question.Parameter(value.name, value.value); err != nil {
			return err
		}
	}
	if len(body) == 0 {
		return nil
	}
	return question.Body(body)
}
