package route

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/share"
)

// Surface is the group of routes for one kind of caller.
type Surface string

// The surfaces. Paths of manage and console rows are relative to the surface's base; paths of collect, share and agents
// rows are absolute.
const (
	Manage  Surface = "manage"
	Console Surface = "console"
	Collect Surface = "collect"
	Share   Surface = "share"
	Agents  Surface = "agents"
)

// Base returns the prefix of the paths of a surface.
func (s Surface) Base() string {
	switch s {
	case Manage:
		return "/api/v1"
	case Console:
		return "/console/api/v1"
	case Collect, Share, Agents:
	}
	return ""
}

// Effect is the extent of a call's changes; the assistant's tiers follow it.
type Effect = conversation.Effect

// The effects.
const (
	Read        = conversation.EffectRead
	Write       = conversation.EffectWrite
	Destructive = conversation.EffectDestructive
	External    = conversation.EffectExternal
)

// Route is one row of the table. Registration, gates, OpenAPI and the tests of every row are derived from it.
type Route struct {
	Surface Surface
	Method  string
	// Path has parameters in braces, for example /apps/{org}/{app}/keys/{id}. A last parameter of the form {slug...}
	// takes the rest of the path.
	Path string
	// Operation names the row: noun.verb, unique in the table.
	Operation string
	// Addition marks a row of the surfaces manage and console beyond the registry of the specification, which has 163
	// rows (docs/decisions/0069-register-routes-completely-or-fail.md).
	Addition bool
	Module   domain.Module
	// Open marks a console row for people that are not signed in yet. It requires no credentials; its requests must
	// come from the console's own pages.
	Open       bool
	Scope      domain.Scope
	Permission domain.Permission
	// AppPart is the part of the path's application that the handler finds in Call.Parts. The gate reads it together
	// with the application, so the handler makes no request for it.
	AppPart share.AppPart
	// Role is the lowest role that a console row requires; empty means none.
	Role   domain.Role
	Effect Effect
	// Ledger is the kind of entry that a successful call leaves in the ledger of the path's organization. If the path
	// has none, the entry goes to the organizations that the call names (Call.Concerns). Empty means no entry.
	Ledger domain.LedgerKind
	// Unrecorded is the reason why a row with an effect leaves no entry; such a row has either this or Ledger.
	Unrecorded string
	Rate       domain.RateClass
	Summary    string
	// Private reports whether a value of the path parameter id is personal data. The audit then stores the name of the
	// parameter instead. Nil means that no value is personal.
	Private func(id string) bool
	// Status is the status of a successful answer; zero means 200.
	Status int
	// Also is the status of another successful answer of the same shape, for rows that create or change. Zero means
	// none.
	Also int
	// Codes lists the codes that the row may answer in addition to the codes of its gates.
	Codes []domain.Code
	// Events describes the stream of a row that has one.
	Events  string
	Handler Endpoint
	// Raw serves a row of the surfaces collect, share and agents instead of Handler.
	Raw RawHandler
}

// Pattern returns the row's full path, parameters in braces.
func (r *Route) Pattern() string { return r.Surface.Base() + r.Path }

// HasParam reports whether the path has a parameter.
func (r *Route) HasParam(name string) bool {
	return strings.Contains(r.Path, "{"+name+"}") || strings.HasSuffix(r.Path, "{"+name+"...}")
}

// gated reports whether the row's requests pass the gates.
func (r *Route) gated() bool { return r.Surface == Manage || r.Surface == Console }

// status returns the status of a successful answer.
func (r *Route) status() int {
	if r.Status == 0 {
		return http.StatusOK
	}
	return r.Status
}

// Empty is the output of rows that answer 204 without a body.
type Empty struct{}

// Endpoint is a typed handler with its input and output types.
type Endpoint struct {
	Input, Output reflect.Type

	decode func(call *Call, request *http.Request) (input any, body []byte, err error)
	call   func(ctx context.Context, call *Call, input any) (any, error)
	// streamOnly is true if the endpoint answers only a stream.
	streamOnly bool
	// stream is nil for endpoints that answer JSON only.
	stream func(ctx context.Context, call *Call, input any, yield func(Frame) bool) error
	// lines is set for endpoints that answer lines of JSON.
	lines func(ctx context.Context, call *Call, input any, yield func(line any) error) error
}

// Typed makes an endpoint of a function from input to output. The fields of In are bound by their tags: path:"name",
// query:"name", and body:"json" for one struct that holds the JSON body; embedded structs group fields. In must be a
// struct whose field types match these tags, or New refuses the table.
func Typed[In, Out any](handle func(ctx context.Context, call *Call, in In) (Out, error)) Endpoint {
	plan := planInput(reflect.TypeFor[In]())
	return Endpoint{
		Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out](),
		decode: func(call *Call, request *http.Request) (any, []byte, error) {
			in := new(In)
			body, err := plan.fill(call, request, reflect.ValueOf(in).Elem())
			return in, body, err
		},
		call: func(ctx context.Context, call *Call, input any) (any, error) {
			return handle(ctx, call, *input.(*In))
		},
	}
}

// Shape describes the input and output of a raw row, for its description alone; the types follow the rules of Typed.
func Shape[In, Out any]() Endpoint {
	return Endpoint{Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out]()}
}

// checkTable returns the first contradiction between the rows of a table.
func checkTable(routes []Route) error {
	operations := map[string]bool{}
	for i := range routes {
		route := &routes[i]
		if operations[route.Operation] || route.Operation == "" {
			return fmt.Errorf("route %s %s: operation %q is empty or taken", route.Method, route.Path, route.Operation)
		}
		operations[route.Operation] = true
		if err := checkRoute(route); err != nil {
			return fmt.Errorf("route %s: %w", route.Operation, err)
		}
	}
	return nil
}

// checkRoute returns the first contradiction within a row.
func checkRoute(route *Route) error {
	switch {
	case !strings.HasPrefix(route.Path, "/") || route.Path != "/" && strings.HasSuffix(route.Path, "/"):
		return fmt.Errorf("path %q must begin with a slash and not end with one", route.Path)
	case route.gated() == (route.Handler.call == nil), route.gated() == (route.Raw != nil):
		return fmt.Errorf("surface %q does not suit the kind of handler", route.Surface)
	case !route.gated():
		return nil
	case route.Open && (route.Surface != Console || route.Scope != "" || route.Permission != "" || route.Role != "" || route.HasParam("org")):
		return errors.New("an open row is of the console, asks for no rights and addresses no organization")
	case !route.Open && !slices.Contains(domain.Scopes(), route.Scope):
		return fmt.Errorf("unknown scope %q", route.Scope)
	case route.Summary == "":
		return errors.New("the summary is empty")
	case route.Permission != "" && !slices.Contains(domain.Permissions(), route.Permission):
		return fmt.Errorf("unknown permission %q", route.Permission)
	case route.Module != "" && !(route.HasParam("org") && route.HasParam("app")):
		return fmt.Errorf("module %q needs an application in the path", route.Module)
	case route.AppPart != "" && !(route.HasParam("org") && route.HasParam("app")):
		return fmt.Errorf("part %q needs an application in the path", route.AppPart)
	case route.AppPart != "" && !slices.Contains(share.AppPartNames(), route.AppPart):
		return fmt.Errorf("unknown part %q of an application", route.AppPart)
	case route.Method == http.MethodGet && route.Effect != Read, route.Effect == Read && route.Method != http.MethodGet && route.Method != http.MethodPost:
		return fmt.Errorf("effect %q does not suit %s", route.Effect, route.Method)
	}
	return errors.Join(checkRecord(route), checkInput(route))
}

// checkRecord returns an error for a row with an effect that has neither a ledger entry nor a reason for leaving none.
func checkRecord(route *Route) error {
	recorded, excused := route.Ledger != "", route.Unrecorded != ""
	switch {
	case route.Effect == Read && (recorded || excused):
		return errors.New("a read leaves nothing in the ledger")
	case route.Effect != Read && recorded == excused:
		return fmt.Errorf("effect %q needs a kind of ledger entry, or in Unrecorded the reason why there is none", route.Effect)
	}
	return nil
}
