package issues

import (
	"slices"

	"svc/domain"
	"svc/domain/issue"
	"svc/http/api"
	"svc/http/route"
)

// issueStatus is the parameter status of a list of issues; empty means all.
type issueStatus issue.Status

// anyStatus selects issues of every status.
const anyStatus = "all"

func issueStatusChoice() api.Choice {
	return api.Choice{Field: "status", What: "status", Fallback: string(issue.Open), Allowed: append(api.Words(issue.Statuses()), anyStatus)}
}

// Parse reads the status; the default is open.
func (s *issueStatus) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := issueStatusChoice().Parse(words)
	if *s = issueStatus(word); word == anyStatus {
		*s = ""
	}
	return problems
}

// Schema describes the parameter.
func (issueStatus) Schema() route.Schema {
	return issueStatusChoice().Schema()
}

// issueSort is the parameter sort of a list of issues.
type issueSort issue.Sort

// Parse reads the order; by default the last seen come first.
func (s *issueSort) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := issueSortChoice().Parse(words)
	*s = issueSort(word)
	return problems
}

// Schema describes the parameter.
func (issueSort) Schema() route.Schema {
	return issueSortChoice().Schema()
}

func issueSortChoice() api.Choice {
	return api.Choice{Field: "sort", What: "order", Fallback: string(issue.SortLastSeen), Allowed: api.Words(issue.Sorts())}
}

// errorWindow is the parameter range of the overview of errors.
type errorWindow struct{ domain.Window }

// Parse reads the range word.
func (w *errorWindow) Parse(call *route.Call, words []string) []domain.FieldError {
	if len(words) > 0 && !slices.Contains(issue.ErrorWindowKeys(), words[0]) {
		return []domain.FieldError{api.UnknownWord("range", "range", words[0], issue.ErrorWindowKeys())}
	}
	parsed, problem := domain.ParseWindow(api.First(words), call.Now, call.App.Location())
	if problem != nil {
		return []domain.FieldError{*problem}
	}
	w.Window = parsed
	return nil
}

// Schema describes the parameter.
func (errorWindow) Schema() route.Schema {
	return route.Schema{"type": "string", "enum": issue.ErrorWindowKeys(), "default": domain.DefaultWindow}
}

// someEnvironments is the parameter env of routes with an issue in the path. The id of an issue belongs to one
// environment, so the default is all environments.
type someEnvironments struct{ list []domain.Environment }

// Parse finds the environments.
func (e *someEnvironments) Parse(call *route.Call, words []string) []domain.FieldError {
	if len(words) == 0 {
		e.list = call.App.Environments
		return nil
	}
	var one api.Env
	problems := one.Parse(call, words)
	e.list = []domain.Environment{one.Environment}
	return problems
}

// Schema describes the parameter.
func (someEnvironments) Schema() route.Schema { return route.Schema{"type": "string"} }
