package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc/domain"
	"svc/http/route"
)

// AppPath is the address of an application in a path.
type AppPath struct {
	Org string `path:"org" doc:"The organization's slug."`
	App string `path:"app" doc:"The application's slug."`
}

// OrgPath is the address of an organization in a path.
type OrgPath struct {
	Org string `path:"org" doc:"The organization's slug."`
}

// Paging holds the parameters of a list.
type Paging struct {
	Limit  PageLimit `query:"limit" doc:"Rows of a page; more than 200 means 200."`
	Cursor string    `query:"cursor" doc:"The nextCursor of the page before."`
}

// Env is the parameter env: an environment of the application, production if the request names none.
type Env struct {
	domain.Environment
	App domain.AppRef
}

// Parse finds the environment in the path's application.
func (e *Env) Parse(call *route.Call, words []string) []domain.FieldError {
	env, ok := call.App.Environment(First(words))
	if !ok {
		return []domain.FieldError{UnknownWord("env", "environment", First(words), environmentSlugs(&call.App))}
	}
	e.Environment, e.App = env, call.Ref()
	call.Environment = env.Slug
	return nil
}

// Schema describes the parameter.
func (Env) Schema() route.Schema {
	return route.Schema{"type": "string", "default": domain.DefaultEnvironment}
}

// AllEnvironments is the value of a parameter env for rows of all environments.
const AllEnvironments = "all"

// EachEnv is the parameter env of a list that can show the rows of all environments: production if the request names
// none. Slug is empty for all.
type EachEnv struct{ Env }

// Parse finds the environment, unless the request asks for all.
func (e *EachEnv) Parse(call *route.Call, words []string) []domain.FieldError {
	if First(words) == AllEnvironments {
		call.Environment = AllEnvironments
		return nil
	}
	return e.Env.Parse(call, words)
}

// OptionalEnv is the parameter env of a read that covers all environments unless the request names one.
type OptionalEnv struct{ Env }

// Parse finds the environment, if the request names one.
func (e *OptionalEnv) Parse(call *route.Call, words []string) []domain.FieldError {
	if len(words) == 0 {
		return nil
	}
	return e.Env.Parse(call, words)
}

// Schema describes the parameter.
func (OptionalEnv) Schema() route.Schema { return route.Schema{"type": "string"} }

func environmentSlugs(app *domain.Application) []string {
	slugs := make([]string, len(app.Environments))
	for i, env := range app.Environments {
		slugs[i] = env.Slug
	}
	return slugs
}

// PageLimit is the parameter limit of ordinary lists.
type PageLimit int

// Parse reads the page size.
func (l *PageLimit) Parse(_ *route.Call, words []string) []domain.FieldError {
	return ParseLimit((*int)(l), words, domain.MaxPageSize)
}

// Schema describes the parameter.
func (PageLimit) Schema() route.Schema { return LimitSchema() }

// ParseLimit reads a page size of maximum at most.
func ParseLimit(into *int, words []string, maximum int) []domain.FieldError {
	limit, problem := domain.ParseLimit(First(words), domain.DefaultPageSize, maximum)
	if problem != nil {
		return []domain.FieldError{*problem}
	}
	*into = limit
	return nil
}

// LimitSchema describes a page size.
func LimitSchema() route.Schema {
	return route.Schema{"type": "integer", "minimum": 1, "default": domain.DefaultPageSize}
}

// UnknownWord is the problem of a word outside the allowed ones.
func UnknownWord(field, what, word string, allowed []string) domain.FieldError {
	return domain.FieldError{Field: field, Code: "unknown_value", Message: fmt.Sprintf("Unknown %s %q.", what, word), Allowed: allowed}
}

// Words returns the values of a word list as strings.
func Words[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = string(value)
	}
	return out
}

// First returns the first word of a parameter, empty if it has none.
func First(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// PageOfAll makes a page of a list that its port returns as a whole, in the order of key. The key of a row is its
// keyset.
func PageOfAll[Row any](call *route.Call, rows []Row, paging Paging, key func(Row) string) (domain.Page[Row], error) {
	keyset, err := call.Keyset(paging.Cursor, 1)
	if err != nil {
		return domain.Page[Row]{}, err
	}
	sorted := slices.SortedFunc(slices.Values(rows), func(a, b Row) int { return strings.Compare(key(a), key(b)) })
	if keyset != nil {
		sorted = slices.DeleteFunc(sorted, func(row Row) bool { return key(row) <= keyset[0] })
	}
	limit := min(int(paging.Limit), len(sorted))
	return route.PageOf(call, sorted[:limit], len(sorted) > limit, func(last Row) []string { return []string{key(last)} }), nil
}

// Convert maps rows of a port to rows of an answer; the result is never null.
func Convert[From, To any](rows []From, one func(*From) To) []To {
	out := make([]To, len(rows))
	for i := range rows {
		out[i] = one(&rows[i])
	}
	return out
}

// OrNull returns a word for an answer: null if it is empty.
func OrNull(word string) *string {
	if word == "" {
		return nil
	}
	return &word
}

// ProblemsOf returns the problems in an error.
func ProblemsOf(err error) []domain.FieldError {
	if known, ok := errors.AsType[*domain.Error](err); ok {
		return known.Fields
	}
	return nil
}

// SignedIn returns the person of a console session.
func SignedIn(call *route.Call) (domain.User, error) {
	if call.Grant.Token.User == nil {
		return domain.User{}, &domain.Error{Code: domain.CodeForbidden, Reason: "user_bound_token_required", Message: "The session is bound to no person."}
	}
	return *call.Grant.Token.User, nil
}
