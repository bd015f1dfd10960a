package route

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/julienschmidt/httprouter"
)

// pathValue is one parameter of a matched path.
type pathValue struct{ name, value string }

// serveRoute answers a request that matched a row.
type serveRoute func(w *Response, r *http.Request, values []pathValue)

// target is one row as the router sees it.
type target struct {
	segments []string
	serve    serveRoute
}

// register adds the targets of one method. httprouter cannot register a literal next to a parameter, such as
// errors/overview and errors/{issueId}. Such targets share one registration; its handler selects the target, and the
// one with the literal wins.
func register(router *httprouter.Router, method string, targets []target) error {
	shapes := map[string][]target{}
	order := []string{}
	groupShapes(targets, 0, nil, func(shape []string, group []target) {
		pattern := "/" + strings.Join(shape, "/")
		if len(shapes[pattern]) == 0 {
			order = append(order, pattern)
		}
		shapes[pattern] = append(shapes[pattern], group...)
	})
	for _, pattern := range order {
		branch, err := newBranch(pattern, shapes[pattern])
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, pattern, err)
		}
		router.Handle(method, pattern, branch.serve)
	}
	return nil
}

// groupShapes walks the targets segment by segment. If any target of a group has a parameter, all of them are
// registered under one parameter named after its position; else the group divides by literal. It reports each finished
// shape with its targets.
func groupShapes(targets []target, depth int, shape []string, report func([]string, []target)) {
	var ended []target
	rest := map[string][]target{}
	var names []string
	wild := slices.ContainsFunc(targets, func(t target) bool { return depth < len(t.segments) && isParam(t.segments[depth]) })
	for _, t := range targets {
		if depth == len(t.segments) {
			ended = append(ended, t)
			continue
		}
		name := t.segments[depth]
		switch {
		case isRest(name):
			name = "*rest"
		case wild && name != "": // A parameter is never empty, so a trailing slash can be registered next to it.
			name = ":p" + strconv.Itoa(depth)
		}
		if _, seen := rest[name]; !seen {
			names = append(names, name)
		}
		rest[name] = append(rest[name], t)
	}
	if len(ended) > 0 {
		report(slices.Clone(shape), ended)
	}
	for _, name := range names {
		groupShapes(rest[name], depth+1, append(slices.Clone(shape), name), report)
	}
}

func isParam(segment string) bool { return strings.HasPrefix(segment, "{") && !isRest(segment) }

func isRest(segment string) bool { return strings.HasSuffix(segment, "...}") }

// branch selects among the targets of one registration by their literals.
type branch []choice

// choice is one target with the positions of its parameters among the values that the router reports.
type choice struct {
	literals map[int]string
	names    map[int]string
	serve    serveRoute
}

// newBranch orders the targets of a shape, the ones with more literals first. It refuses two targets that match the
// same paths.
func newBranch(pattern string, targets []target) (branch, error) {
	var choices branch
	for _, t := range targets {
		c := choice{literals: map[int]string{}, names: map[int]string{}, serve: t.serve}
		place := 0
		for i, segment := range strings.Split(pattern[1:], "/") {
			if !strings.HasPrefix(segment, ":") && !strings.HasPrefix(segment, "*") {
				continue
			}
			if name := t.segments[i]; strings.HasPrefix(name, "{") {
				c.names[place] = strings.TrimSuffix(strings.Trim(name, "{}"), "...")
			} else {
				c.literals[place] = name
			}
			place++
		}
		if slices.ContainsFunc(choices, func(other choice) bool { return equalLiterals(other.literals, c.literals) }) {
			return nil, fmt.Errorf("two rows have the same path")
		}
		choices = append(choices, c)
	}
	slices.SortStableFunc(choices, func(a, b choice) int { return len(b.literals) - len(a.literals) })
	return choices, nil
}

func equalLiterals(a, b map[int]string) bool {
	if len(a) != len(b) {
		return false
	}
	for place, literal := range a {
		if other, ok := b[place]; !ok || other != literal {
			return false
		}
	}
	return true
}

// serve answers with the first choice whose literals match the path.
func (b branch) serve(w http.ResponseWriter, r *http.Request, params httprouter.Params) {
	response := w.(*Response)
	for i := range b {
		if values, ok := b[i].match(params); ok {
			b[i].serve(response, r, values)
			return
		}
	}
	response.notFound(r)
}

// match returns the choice's parameters, false if a literal differs or a parameter is empty. Only the rest of a path
// may be empty.
func (c *choice) match(params httprouter.Params) ([]pathValue, bool) {
	for place, literal := range c.literals {
		if params[place].Value != literal {
			return nil, false
		}
	}
	if len(c.names) == 0 {
		return nil, true
	}
	values := make([]pathValue, 0, len(c.names))
	for place := range params {
		if name, ok := c.names[place]; ok {
			if params[place].Value == "" {
				return nil, false
			}
			// The router returns the rest of a path with its leading slash.
			values = append(values, pathValue{name, strings.TrimPrefix(params[place].Value, "/")})
		}
	}
	return values, true
}
