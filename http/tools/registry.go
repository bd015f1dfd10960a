package tools

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc/domain/conversation"
	"svc/http/route"
)

// Registry contains the tools of a table of routes.
type Registry struct {
	tools  []entry
	byName map[string]*entry
	// handler serves the table, and therefore executes the calls.
	handler    http.Handler
	dependents Dependents
}

// entry is a tool with the data for its calls.
type entry struct {
	tool   conversation.Tool
	method string
	path   string
	// noun names the object of the tool, as in refusals.
	noun string
	// before describes how to read the state that the tool changes; nil if it makes a new object.
	before *reading
	// listed is the query for the list at the path of the tool.
	listed url.Values
	// reach is the reach of a write's calls; nil if the table of reaches lacks it.
	reach *reach
	// place maps each member of the input to its part of the request: path, query or body.
	place map[string]string
	// open maps a member to the prefix of its parameters, as label for label.<key>.
	open map[string]string
	body bool
	// words are the words of the name and the description, for the search.
	words map[string]int
}

// excluded reports whether the assistant must not have a route: its own settings, tokens, keys, members, and every
// route that creates or removes an organization or an application.
func excluded(row *route.Route) bool {
	noun, verb, _ := strings.Cut(row.Operation, ".")
	switch {
	case row.Surface != route.Manage || row.Handler.Input == nil || row.Handler.Lined():
		return true
	case noun == "ai", noun == "me", noun == "keys", noun == "members", noun == "tokens":
		return row.Operation != "me.get"
	case (noun == "apps" || noun == "orgs") && verb == "delete":
		return true
	}
	return false
}

// Set contains the tools of a table, for each kind of caller.
type Set struct {
	// Assistant are the tools of the assistant.
	Assistant *Registry
	// Holders are the tools of clients that hold an access token themselves. They have the tools of the assistant and
	// every other read except reads about the assistant. Changes of tokens, keys and members and the settings of the
	// assistant are excluded.
	Holders *Registry
}

// New makes the tools of a table and the handler that serves it. It fails if two routes make the same name or a route
// has no schema. Without dependents, a write to an object on which production may depend counts as a write to
// production.
func New(routes []route.Route, handler http.Handler, dependents Dependents) (*Set, error) {
	described, err := route.Describe[schema](routes)
	if err != nil {
		return nil, err
	}
	document := &document{described}
	var assistant, holders []entry
	for i := range routes {
		row := &routes[i]
		if excluded(row) && !readByHolders(row) {
			continue
		}
		made, err := document.entry(row)
		if err != nil {
			return nil, fmt.Errorf("making a tool of %s: %w", row.Operation, err)
		}
		made.before, made.listed = readingOf(row, routes), listQuery(row, routes)
		made.noun = nounOf(row)
		if stated, found := reaches()[row.Operation]; found {
			made.reach = &stated
		}
		made.tool.Varies = row.Effect == conversation.EffectWrite && (made.reach == nil || made.reach.varies())
		holders = append(holders, made)
		if !excluded(row) {
			assistant = append(assistant, made)
		}
	}
	set := &Set{}
	if set.Holders, err = newRegistry(holders, handler, dependents); err != nil {
		return nil, err
	}
	set.Assistant, err = newRegistry(assistant, handler, dependents)
	return set, err
}

// Names lists the names of all tools of all callers.
func (s *Set) Names() []string {
	names := slices.Concat(s.Assistant.Names(), s.Holders.Names())
	slices.Sort(names)
	return slices.Compact(names)
}

func newRegistry(tools []entry, handler http.Handler, dependents Dependents) (*Registry, error) {
	registry := &Registry{tools: tools, byName: map[string]*entry{}, handler: handler, dependents: dependents}
	slices.SortFunc(registry.tools, func(a, b entry) int { return strings.Compare(a.tool.Name, b.tool.Name) })
	for i := range registry.tools {
		name := registry.tools[i].tool.Name
		if registry.byName[name] != nil {
			return nil, fmt.Errorf("two routes make the tool %s", name)
		}
		registry.byName[name] = &registry.tools[i]
	}
	return registry, nil
}

// NameOf returns the name of the tool of an operation.
func NameOf(operation string) string { return strings.ReplaceAll(operation, ".", "_") }

// Tool returns a tool by its name.
func (r *Registry) Tool(name string) (conversation.Tool, bool) {
	found := r.byName[name]
	if found == nil {
		return conversation.Tool{}, false
	}
	return found.tool, true
}

// Names lists the names of all tools.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.byName)) }

// All lists the tools that an audience sees, by name.
func (r *Registry) All(audience *conversation.Audience) []conversation.Tool {
	return r.AllWhere(audience.Sees)
}

// AllWhere returns the tools for which sees reports true.
func (r *Registry) AllWhere(sees func(tool *conversation.Tool) bool) (out []conversation.Tool) {
	for i := range r.tools {
		if sees(&r.tools[i].tool) {
			out = append(out, r.tools[i].tool)
		}
	}
	return out
}

// starters lists the tools of a model before it searches for more.
func starters() []string {
	return []string{"analytics_overview", "analytics_breakdown", "analytics_timeseries", "apps_get"}
}

// Starters lists the initial tools of an audience.
func (r *Registry) Starters(audience *conversation.Audience) (out []conversation.Tool) {
	for _, name := range starters() {
		if found := r.byName[name]; found != nil && audience.Sees(&found.tool) {
			out = append(out, found.tool)
		}
	}
	return out
}

// Find lists the tools that an audience sees and that match words best, the best first.
func (r *Registry) Find(audience *conversation.Audience, query string, limit int) []conversation.Tool {
	return r.FindWhere(audience.Sees, query, limit)
}

// FindWhere is Find among the tools for which sees reports true.
func (r *Registry) FindWhere(sees func(tool *conversation.Tool) bool, query string, limit int) (out []conversation.Tool) {
	type scored struct {
		tool  *conversation.Tool
		score int
	}
	asked := wordsOf(query)
	var found []scored
	for i := range r.tools {
		candidate := &r.tools[i]
		score := 0
		for word := range asked {
			score += candidate.words[word]
		}
		if strings.Contains(query, candidate.tool.Name) {
			score += exactName
		}
		if score > 0 && sees(&candidate.tool) {
			found = append(found, scored{&candidate.tool, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return b.score - a.score })
	for _, one := range found[:min(limit, len(found))] {
		out = append(out, *one.tool)
	}
	return out
}

// The weights of a word by its location.
const (
	exactName   = 100
	nameWord    = 5
	summaryWord = 3
	memberWord  = 1
)

// wordsOf returns the words of a text in a form in which related ones are equal.
func wordsOf(text string) map[string]bool {
	out := map[string]bool{}
	var spaced strings.Builder
	for i, r := range text {
		if i > 0 && r >= 'A' && r <= 'Z' {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(spaced.String()), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		out[stem(word)] = true
	}
	return out
}

// meanings maps words that people use to the words of the routes.
func meanings() map[string]string {
	return map[string]string{
		"visit": "session", "traffic": "overview", "kpi": "overview", "headline": "overview", "crash": "error", "exception": "error", "bug": "error", "issue": "error",
		"toggle": "flag", "feature": "flag", "customer": "people", "user": "people", "person": "people", "contact": "people", "country": "breakdown",
		"referrer": "breakdown", "source": "breakdown", "page": "breakdown", "trend": "timeseries", "chart": "timeseries", "graph": "timeseries", "series": "timeseries",
		"conversion": "goal", "cohort": "retention", "churn": "retention", "uptime": "monitor", "outage": "incident", "documentation": "doc", "manual": "doc", "help": "doc",
		"setting": "app", "application": "app", "now": "live", "online": "live", "remove": "delete", "add": "create", "new": "create", "change": "update", "edit": "update",
	}
}

// stem cuts the endings of English plurals and maps words of one meaning to one.
func stem(word string) string {
	switch {
	case word == "series", word == "timeseries", word == "analytics":
	case len(word) > 4 && strings.HasSuffix(word, "ies"):
		word = word[:len(word)-3] + "y"
	case len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss"):
		word = word[:len(word)-1]
	}
	if meaning := meanings()[word]; meaning != "" {
		return meaning
	}
	return word
}

// weigh counts the words of a tool.
func weigh(name, summary string, members []string) map[string]int {
	out := map[string]int{}
	for word := range wordsOf(strings.ReplaceAll(name, "_", " ")) {
		out[word] += nameWord
	}
	for word := range wordsOf(summary) {
		out[word] += summaryWord
	}
	for _, member := range members {
		for word := range wordsOf(member) {
			out[word] += memberWord
		}
	}
	return out
}
