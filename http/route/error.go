package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/telemetry"
)

// Problem is the body of every error answer (RFC 9457 with the extension members of contract 1).
type Problem struct {
	Type      string              `json:"type" doc:"The address of the code's description."`
	Title     string              `json:"title"`
	Status    int                 `json:"status"`
	Detail    string              `json:"detail" doc:"A sentence for a person."`
	Code      domain.Code         `json:"code" doc:"The class of the problem; callers may branch on it."`
	RequestID string              `json:"requestId" doc:"Finds the request in logs and audit rows."`
	Errors    []domain.FieldError `json:"errors,omitempty" doc:"Every problem of an invalid request."`
	Required  *domain.Required    `json:"required,omitempty" doc:"What a forbidden call would have needed."`
	Accepted  domain.Acceptance   `json:"accepted,omitempty" open:"true" doc:"Where events were sent and the status is 503: none, or unknown where some of them may be stored."`
	Reason    string              `json:"reason,omitempty" doc:"Refines a conflict or a refusal by one word."`
	Module    domain.Module       `json:"module,omitempty" doc:"The module that is off."`
	Endpoint  string              `json:"endpoint,omitempty" doc:"The endpoint whose module is off."`

	ConversationID string                    `json:"conversationId,omitempty" doc:"The conversation that a conflict is about."`
	ActionStatus   conversation.ActionStatus `json:"actionStatus,omitempty" doc:"Where an action stands that cannot be decided any more."`
	Actions        []PendingAction           `json:"actions,omitempty" doc:"The actions that must be decided first."`

	CurrentRevision *int64            `json:"currentRevision,omitempty" doc:"The revision that is there, where a change expected another one."`
	Policy          *telemetry.Policy `json:"policy,omitempty" doc:"The telemetry policy of that revision."`
}

// PendingAction is an action that must be decided first.
type PendingAction struct {
	ID        string `json:"id"`
	ExpiresAt Time   `json:"expiresAt"`
}

// shownText replaces the text of internal errors, which callers must not see.
const shownText = "Something failed here; the request id finds it in the log."

// publicError returns the error that a caller may see. An error of another type becomes internal. If the time ran out,
// a query gets query_timeout and any other call gets unavailable.
func publicError(err error, route *Route) *domain.Error {
	if known, ok := errors.AsType[*domain.Error](err); ok {
		if domain.InfoOf(known.Code).Code == domain.CodeInternal {
			return domain.Errorf(domain.CodeInternal, shownText)
		}
		return known
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) && route != nil && route.Rate == domain.RateQuery:
		return domain.Errorf(domain.CodeQueryTimeout, "The query took longer than 30 seconds; narrow the range, drop a filter, or use a coarser interval.")
	case errors.Is(err, context.DeadlineExceeded):
		return domain.Errorf(domain.CodeUnavailable, "A part of the service did not answer in time.")
	case errors.Is(err, context.Canceled):
		return domain.Errorf(domain.CodeUnavailable, "The request was given up before its answer was ready.")
	}
	return domain.Errorf(domain.CodeInternal, shownText)
}

// problemAnswer returns the answer of an error.
func (h *Handler) problemAnswer(err error, requestID string, route *Route) Answer {
	shown := publicError(err, route)
	info := domain.InfoOf(shown.Code)
	problem := Problem{
		Type: h.docs + "/errors#" + string(info.Code), Title: info.Title, Status: info.Status, Detail: shown.Message,
		Code: info.Code, RequestID: requestID, Errors: shown.Fields, Required: shown.Required,
		Accepted: shown.Accepted, Reason: shown.Reason, Module: shown.Module,
	}
	if turn := shown.Turn; turn != nil {
		problem.ConversationID, problem.ActionStatus = turn.ConversationID, conversation.ActionStatus(turn.ActionStatus)
		for _, action := range turn.Actions {
			problem.Actions = append(problem.Actions, PendingAction{ID: action.ID, ExpiresAt: Time(action.ExpiresAt)})
		}
	}
	if present := shown.Present; present != nil {
		problem.CurrentRevision = &present.Revision
		problem.Policy, _ = present.Policy.(*telemetry.Policy)
	}
	if shown.Code == domain.CodeModuleDisabled && route != nil {
		problem.Endpoint = route.Method + " " + route.Path
	}
	answer := Answer{Status: info.Status, Header: map[string]string{"Content-Type": "application/problem+json"}}
	if wait := RetryAfter(shown); wait > 0 {
		answer.Header["Retry-After"] = strconv.Itoa(wait)
	}
	if shown.Required != nil && route != nil {
		scope := cmp.Or(shown.Required.Scope, route.Scope)
		answer.Header["Www-Authenticate"] = fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s"`, scope)
	}
	if answer.Body, err = encodeJSON(problem); err != nil {
		answer.Body = nil
	}
	return answer
}

// minRetry is the Retry-After of an error that a later attempt may cure and that has no wait of its own.
const minRetry = time.Second

// RetryAfter returns the seconds of the Retry-After header, 0 for none.
func RetryAfter(err *domain.Error) int {
	if err.Code != domain.CodeRateLimited && err.Code != domain.CodeUnavailable {
		return 0
	}
	return int(math.Ceil(max(err.RetryAfter, minRetry).Seconds()))
}

// logError logs an error with a text that callers do not see.
func (h *Handler) logError(ctx context.Context, err error, route, requestID string) {
	if domain.CodeOf(err) != domain.CodeInternal || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	h.log.LogAttrs(ctx, slog.LevelError, "answering a request", slog.String("route", route),
		slog.String("request", requestID), slog.String("error", err.Error()))
}

// notFound answers a path that no row has.
func (w *Response) notFound(*http.Request) {
	writeAnswer(w, w.handler.problemAnswer(domain.Errorf(domain.CodeNotFound, "No such path."), w.id, nil))
}
