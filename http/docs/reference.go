package docs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc/domain"
	"svc/http/route"
)

// errorsSlug is the page to which the type of every problem points.
const errorsSlug = "errors"

// Describe adds the generated pages: errors, from the list of codes, and reference, with a page per noun below it, from
// a table of routes.
func (l *Library) Describe(routes []route.Route) error {
	if err := l.add(errorsSlug, errorPage()); err != nil {
		return err
	}
	described, err := route.Describe[schema](routes)
	if err != nil {
		return err
	}
	d := &description{described}
	operations := d.operations()
	if err := l.add("reference", referenceIndex(operations)); err != nil {
		return err
	}
	for _, noun := range slices.Sorted(maps.Keys(operations)) {
		if err := l.add("reference/"+nounSlug(noun), d.page(noun, operations[noun])); err != nil {
			return err
		}
	}
	return nil
}

// nounSlug is the last segment of a noun's page; eventNames becomes event-names.
func nounSlug(noun string) string {
	var out strings.Builder
	for _, r := range noun {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('-')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}

// errorPage lists every code; its anchors are the anchors of problem types.
func errorPage() string {
	var out strings.Builder
	out.WriteString("# Error codes\n\nEvery refusal is `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail` for a\nperson, `code` for a program, `requestId` for the operator, and `errors[]` with every problem of the\nrequest at once: `field`, `code`, `message`, and `allowed` where only some values are. Branch on `code`.\n")
	for _, info := range domain.Codes() {
		fmt.Fprintf(&out, "\n## %s\n\nStatus %d, %s. %s", info.Code, info.Status, info.Title, info.Meaning)
		if info.Retryable {
			out.WriteString(" The same request may succeed later.")
		}
		out.WriteString("\n")
	}
	return out.String()
}

// description describes the table; the reference is made from it.
type description struct{ *route.Description[schema] }

// operation is one row of the table.
type operation struct {
	route.Operation[schema]
	method, path string
}

// operations returns the rows by noun, each noun's in the order of path and method.
func (d *description) operations() map[string][]operation {
	byNoun := map[string][]operation{}
	for path, methods := range d.Paths {
		for method, described := range methods {
			noun := described.Tags[0]
			byNoun[noun] = append(byNoun[noun], operation{described, strings.ToUpper(method), path})
		}
	}
	for _, rows := range byNoun {
		slices.SortFunc(rows, func(a, b operation) int { return strings.Compare(a.path+" "+a.method, b.path+" "+b.method) })
	}
	return byNoun
}

// referenceIndex lists the nouns with their rows.
func referenceIndex(operations map[string][]operation) string {
	var out strings.Builder
	out.WriteString("# Reference\n\nEvery route, from the table that serves it. The same as OpenAPI 3.1: `/api/v1/openapi.json`.\n")
	for _, noun := range slices.Sorted(maps.Keys(operations)) {
		fmt.Fprintf(&out, "\n## [%s](reference/%s)\n\n| | | |\n|---|---|---|\n", noun, nounSlug(noun))
		for i := range operations[noun] {
			op := &operations[noun][i]
			fmt.Fprintf(&out, "| `%s` | `%s` | %s |\n", op.method, op.path, op.Summary)
		}
	}
	return out.String()
}

// page describes the rows of one noun.
func (d *description) page(noun string, rows []operation) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Reference: %s\n", noun)
	for i := range rows {
		d.write(&out, &rows[i])
	}
	return out.String()
}

// write describes one row.
func (d *description) write(out *strings.Builder, op *operation) {
	fmt.Fprintf(out, "\n## %s\n\n`%s %s`\n\n%s.\n\n", op.ID, op.method, op.path, op.Summary)
	var needs []string
	for _, need := range [][2]string{{"scope", op.Scope}, {"permission", op.Permission}, {"module", op.Module}, {"role", op.Role}, {"effect", op.Effect}} {
		if need[1] != "" {
			needs = append(needs, need[0]+" `"+need[1]+"`")
		}
	}
	if len(needs) > 0 {
		fmt.Fprintf(out, "Needs: %s.\n", strings.Join(needs, ", "))
	}
	if len(op.Parameters) > 0 {
		out.WriteString("\n| parameter | in | type | |\n|---|---|---|---|\n")
		for _, p := range op.Parameters {
			fmt.Fprintf(out, "| `%s`%s | %s | %s | %s |\n", p.Name, mark(p.Required), p.In, d.typeOf(p.Schema), cell(p.Description))
		}
	}
	if op.Body != nil {
		for _, kind := range slices.Sorted(maps.Keys(op.Body.Content)) {
			fmt.Fprintf(out, "\nBody, `%s`:\n\n%s", kind, d.fields(op.Body.Content[kind].Schema))
		}
	}
	out.WriteString("\nAnswers:\n\n")
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		answer := op.Responses[status]
		fmt.Fprintf(out, "- **%s** %s\n", status, answer.Description)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if good, ok := op.Responses[status].Content["application/json"]; ok {
			fmt.Fprintf(out, "\n%s", d.fields(good.Schema))
		}
	}
}

// mark shows whether a field is required.
func mark(required bool) string {
	if required {
		return " (required)"
	}
	return ""
}

// cell escapes a text for a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", "\\|"), "\n", " ")
}
