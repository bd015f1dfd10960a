package api

import (
	"slices"

	"svc"
	"svc/http"
)

// issueStatus is the parameter status of a list of issues; empty means all.
type issueStatus svc.IssueStatus

// anyStatus asks for issues of every status.
const anyStatus = "all"

func issueStatusWords() []string { return append(texts(svc.IssueStatuses()), anyStatus) }

// Parse reads the status; open is meant where the request names none.
func (s *issueStatus) Parse(_ *http.Call, words []string) []svc.FieldError {
	*s = issueStatus(svc.IssueOpen)
	if len(words) == 0 {
		return nil
	}
	if !slices.Contains(issueStatusWords(), words[0]) {
		return []svc.FieldError{unknownWord("status", "status", words[0], issueStatusWords())}
	}
	if *s = issueStatus(words[0]); words[0] == anyStatus {
		*s = ""
	}
	return nil
}

// Schema describes the parameter.
func (issueStatus) Schema() http.Schema {
	return http.Schema{"type": "string", "enum": issueStatusWords(), "default": string(svc.IssueOpen)}
}

// issueSort is the parameter sort of a list of issues.
type issueSort svc.IssueSort

// Parse reads the order; the last seen come first where the request names none.
func (s *issueSort) Parse(_ *http.Call, words []string) []svc.FieldError {
	*s = issueSort(svc.SortLastSeen)
	if len(words) == 0 {
		return nil
	}
	if *s = issueSort(words[0]); !slices.Contains(svc.IssueSorts(), svc.IssueSort(*s)) {
		return []svc.FieldError{unknownWord("sort", "order", words[0], texts(svc.IssueSorts()))}
	}
	return nil
}

// Schema describes the parameter.
func (issueSort) Schema() http.Schema {
	return http.Schema{"type": "string", "enum": texts(svc.IssueSorts()), "default": string(svc.SortLastSeen)}
}

// errorWindow is the parameter range of the overview of errors.
type errorWindow struct{ svc.Window }

// Parse reads the range word.
func (w *errorWindow) Parse(call *http.Call, words []string) []svc.FieldError {
	if len(words) > 0 && !slices.Contains(svc.ErrorWindowKeys(), words[0]) {
		return []svc.FieldError{unknownWord("range", "range", words[0], svc.ErrorWindowKeys())}
	}
	parsed, problem := svc.ParseWindow(first(words), call.Now, call.App.Location())
	if problem != nil {
		return []svc.FieldError{*problem}
	}
	w.Window = parsed
	return nil
}

// Schema describes the parameter.
func (errorWindow) Schema() http.Schema {
	return http.Schema{"type": "string", "enum": svc.ErrorWindowKeys(), "default": svc.DefaultWindow}
}

// someEnvironments is the parameter env of routes whose path names an issue: its
// id is of one environment, so all are meant where the request names none.
type someEnvironments struct{ list []svc.Environment }

// Parse finds the environments.
func (e *someEnvironments) Parse(call *http.Call, words []string) []svc.FieldError {
	if len(words) == 0 {
		e.list = call.App.Environments
		return nil
	}
	var one environment
	problems := one.Parse(call, words)
	e.list = []svc.Environment{one.Environment}
	return problems
}

// Schema describes the parameter.
func (someEnvironments) Schema() http.Schema { return http.Schema{"type": "string"} }
