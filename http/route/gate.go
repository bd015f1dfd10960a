package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/share"
)

// Applications reads applications, for the gate that checks modules.
type Applications interface {
	// Read returns an application and, if part is not empty, that part of it. It fails with not_found if the
	// application does not exist.
	Read(ctx context.Context, ref domain.AppRef, part share.AppPart) (domain.Application, share.AppParts, error)
}

// gate lets a call pass or refuses it with an error.
type gate struct {
	name string
	pass func(ctx context.Context, call *Call) error
}

// gates lists the gates in the order in which every gated request passes them. The request id and the recovery from
// panics come before them; reading the input, the handler and the audit come after them.
func (h *Handler) gates() []gate {
	return []gate{
		{"principal", h.principal},
		{"rate", h.rate},
		{"scope", passScope},
		{"permission", passPermission},
		{"module", h.module},
	}
}

// rate refuses a call over its token's limits. An organization outside the token's reach is
// refused after the rate check, so probing uses quota too.
func (h *Handler) rate(_ context.Context, call *Call) error {
	call.audited = call.Route.Effect != Read && !call.Route.Open && domain.CodeOf(call.refused) != domain.CodeRateLimited
	if domain.CodeOf(call.refused) == domain.CodeNotFound {
		return notAddressed(call.Route)
	}
	if call.refused != nil {
		return call.refused
	}
	slots, what := h.queries, "queries running"
	if call.streams {
		slots, what = h.streams, "streams open"
	}
	if (call.Route.Rate == domain.RateQuery || call.streams) && !slots.enter(call) {
		return &domain.Error{
			Code: domain.CodeRateLimited, RetryAfter: minRetry,
			Message: fmt.Sprintf("The token has %d %s; wait for one to end.", slots.limit, what),
		}
	}
	return nil
}

// notAddressed is the error both for resources that do not exist and for resources that the token cannot address. It
// depends on the route alone, so callers cannot distinguish the two cases.
func notAddressed(route *Route) error {
	if route.HasParam("app") {
		return domain.NotFound("application")
	}
	return domain.NotFound("organization")
}

// passScope refuses a token without the row's scope.
func passScope(_ context.Context, call *Call) error {
	if call.Grant.HasScope(call.Route.Scope) {
		return nil
	}
	return forbidden(call.Route, fmt.Sprintf("The token lacks the scope %s.", call.Route.Scope))
}

// passPermission refuses a grant without the row's permission or role.
func passPermission(_ context.Context, call *Call) error {
	route := call.Route
	if !call.Grant.May(route.Permission) {
		return forbidden(route, fmt.Sprintf("The token lacks the permission %s.", route.Permission))
	}
	if route.Role != "" && !call.Grant.Role.AtLeast(route.Role) {
		return &domain.Error{
			Code: domain.CodeForbidden, Reason: "role_required",
			Message: fmt.Sprintf("Only members of the role %s or above may do this.", route.Role),
		}
	}
	return nil
}

func forbidden(route *Route, message string) error {
	return &domain.Error{
		Code: domain.CodeForbidden, Message: message,
		Required: &domain.Required{Scope: route.Scope, Permission: route.Permission},
	}
}

// module reads the application of the path and refuses the call if the row's module is off.
func (h *Handler) module(ctx context.Context, call *Call) error {
	if !call.Route.HasParam("app") {
		return nil
	}
	app, parts, err := h.config.Applications.Read(ctx, call.Ref(), call.Route.AppPart)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return notAddressed(call.Route)
	}
	if err != nil {
		return fmt.Errorf("reading the application: %w", err)
	}
	call.App, call.Parts = app, parts
	if module := call.Route.Module; module != "" && !app.Has(module) {
		return &domain.Error{
			Code: domain.CodeModuleDisabled, Module: module,
			Message: fmt.Sprintf("The application has the module %s switched off.", module),
		}
	}
	return nil
}

// serveGated answers a request of a gated row. It is on the stack of every open stream, so it has few local variables.
func (h *Handler) serveGated(route *Route) serveRoute {
	return func(w *Response, r *http.Request, values []pathValue) {
		call := h.newCall(route, w, r, values)
		answer, err := h.answer(r.Context(), call)
		h.conclude(w, r, call, &answer, err)
	}
}

func (h *Handler) newCall(route *Route, w *Response, r *http.Request, values []pathValue) *Call {
	return &Call{
		Route: route, RequestID: w.id, Now: h.config.Now(), request: r, path: values,
		cursors: h.config.Cursors, header: http.Header{}, status: route.status(),
		trailID: newTrailID(), response: w, streams: route.streams(r), public: cmp.Or(h.config.PublicURL, h.config.Origin), site: h.site(r),
	}
}

// conclude writes the answer of a call, unless it was a stream, and records it.
func (h *Handler) conclude(w *Response, r *http.Request, call *Call, answer *Answer, err error) {
	ctx := r.Context()
	if answer.streamed {
		h.audit(ctx, call, http.StatusOK, nil)
		w.metrics = h.streamed // The duration of a stream says nothing about the latency of the row.
		return
	}
	if err != nil {
		h.logError(ctx, err, call.Route.Operation, call.RequestID)
		*answer = h.problemAnswer(err, call.RequestID, call.Route)
		if limited, ok := errors.AsType[*domain.Error](err); ok && limited.Rate != nil {
			call.rate = *limited.Rate
		}
		answer.Body = call.shownProblem(answer.Body)
		if challenge := call.header.Get("Www-Authenticate"); challenge != "" {
			answer.Header["Www-Authenticate"] = challenge
		}
	}
	h.audit(ctx, call, answer.Status, err)
	w.Header().Set("X-Api-Revision", h.config.Revision)
	setRateHeaders(w.Header(), call.rate)
	writeAnswer(w, *answer)
}

// answer runs the gates, reads the input and calls the handler.
func (h *Handler) answer(ctx context.Context, call *Call) (Answer, error) {
	ctx, cancel := call.within(ctx, h.config.QueryTimeout)
	defer cancel()
	defer func() { call.queries.leave(call) }()
	input, body, err := h.admit(ctx, call)
	if err != nil {
		return Answer{}, err
	}
	if call.streams {
		answer := h.stream
		if call.Route.Handler.lines != nil {
			answer = h.sendLines
		}
		err := answer(ctx, call, input)
		return Answer{streamed: err == nil}, err
	}
	return h.once(ctx, call, body, func(ctx context.Context) (Answer, error) { return h.perform(ctx, call, input) })
}

// admit runs the gates and reads the input.
func (h *Handler) admit(ctx context.Context, call *Call) (input any, body []byte, err error) {
	for _, gate := range h.passes {
		if err := gate.pass(ctx, call); err != nil {
			return nil, nil, err
		}
	}
	input, body, err = call.Route.Handler.decode(call, call.request)
	if err == nil {
		err = call.asksNothingMasked(body)
	}
	if err == nil && call.Route.readsApp() {
		h.config.Reads(ctx, call.readsOn())
	}
	return input, body, err
}

// readsOn returns the minimum time for which the caller continues to read. For a stream it covers the time until the
// next report.
func (c *Call) readsOn() time.Duration {
	if c.streams {
		return recheckEvery + recheckEvery/2
	}
	return 0
}

// readsApp reports whether the row reads an application's data and changes nothing.
func (r *Route) readsApp() bool { return r.Effect == Read && r.HasParam("app") }

// perform calls the handler; a panic becomes an internal error.
func (h *Handler) perform(ctx context.Context, call *Call, input any) (answer Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			h.metrics.panics.Inc()
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	output, err := call.Route.Handler.call(h.carried(ctx, call), call, input)
	if err == nil {
		err = h.enter(ctx, call)
	}
	if err != nil {
		return Answer{}, err
	}
	return answerOf(call, output)
}

// setRateHeaders sets the headers of the limit's state (IETF httpapi draft, structured fields). A limit that is
// switched off sets none.
func setRateHeaders(header http.Header, state domain.RateState) {
	if state.Quota <= 0 {
		return
	}
	name := `"` + string(state.Class) + `"`
	header.Set("RateLimit-Policy", name+";q="+strconv.Itoa(state.Quota)+";w="+strconv.Itoa(int(state.Window.Seconds())))
	header.Set("RateLimit", name+";r="+strconv.Itoa(state.Remaining)+";t="+strconv.Itoa(ceilSeconds(state.Reset)))
}
