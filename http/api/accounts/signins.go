package accounts

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/signin"
	"svc/http/api"
	"svc/http/route"
)

// Client describes the browser of a request by its kind and the place of its address. Both may be empty.
type Client func(r *http.Request) (device, place string)

func (c Client) of(call *route.Call) (device, place string) {
	if c == nil {
		return "", ""
	}
	return c(call.Request())
}

// ownSessions serves the rows of the signed-in person's sessions.
type ownSessions struct {
	sessions      Sessions
	organizations Organizations
}

func ownSessionRoutes(ports Ports) []route.Route {
	own := ownSessions{ports.Sessions, ports.Organizations}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/me/sessions", Operation: "console.me.sessions.list", Addition: true, Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the console sessions of the signed-in person, the newest first", Handler: route.Typed(own.list),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/me/sessions/{id}", Operation: "console.me.sessions.end", Addition: true, Scope: domain.ScopeWrite, Effect: route.Destructive, Ledger: "session.ended", Rate: domain.RateDefault,
			Summary: "End a console session", Status: 204, Handler: route.Typed(own.end),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/me/sessions", Operation: "console.me.sessions.endOthers", Addition: true, Scope: domain.ScopeWrite, Effect: route.Destructive, Ledger: "session.ended", Rate: domain.RateDefault,
			Summary: "End all console sessions of the person except this one", Status: 204, Handler: route.Typed(own.endOthers),
		},
		{
			Surface: route.Console, Method: "GET", Path: "/me/signins", Operation: "console.me.signins.list", Addition: true, Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the last 50 sign-ins of the person and those that failed, the newest first", Handler: route.Typed(own.signIns),
		},
	}
}

// ownSession is a console session as its person sees it.
type ownSession struct {
	ID         string     `json:"id"`
	Current    bool       `json:"current" doc:"This is the session of the request."`
	By         string     `json:"by" open:"true" doc:"passkey, or console for a session that the operator opened."`
	PasskeyID  *string    `json:"passkeyId" doc:"The passkey that opened the session."`
	Device     string     `json:"device" doc:"Browser and system; empty if they are not known."`
	Place      string     `json:"place" doc:"City, region and country of the address that signed in; empty if they are not known."`
	CreatedAt  route.Time `json:"createdAt"`
	LastUsedAt route.Time `json:"lastUsedAt" doc:"Late by ten minutes at most."`
	ExpiresAt  route.Time `json:"expiresAt"`
}

func (o ownSessions) list(ctx context.Context, call *route.Call, in api.Paging) (domain.Page[ownSession], error) {
	person, err := api.SignedIn(call)
	if err != nil {
		return domain.Page[ownSession]{}, err
	}
	rows, err := o.sessions.Sessions(ctx, person)
	if err != nil {
		return domain.Page[ownSession]{}, err
	}
	return newestFirst(call, api.Convert(rows, func(s *signin.ConsoleSession) ownSession {
		row := ownSession{
			ID: s.ID, Current: s.ID == call.Grant.Token.ID, By: s.By, Device: s.Device, Place: s.Place,
			CreatedAt: route.Time(s.CreatedAt), LastUsedAt: route.Time(s.LastUsedAt), ExpiresAt: route.Time(s.ExpiresAt),
		}
		if s.Passkey != "" {
			row.PasskeyID = &s.Passkey
		}
		return row
	}), in, func(row ownSession) string { return row.ID })
}

// newestFirst makes a page of rows. The ids of the rows grow with time.
func newestFirst[Row any](call *route.Call, rows []Row, in api.Paging, id func(Row) string) (domain.Page[Row], error) {
	after, err := call.Keyset(in.Cursor, 1)
	if err != nil {
		return domain.Page[Row]{}, err
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(id(b), id(a)) })
	if after != nil {
		rows = slices.DeleteFunc(rows, func(row Row) bool { return id(row) >= after[0] })
	}
	shown := rows[:min(len(rows), int(in.Limit))]
	return route.PageOf(call, shown, len(rows) > len(shown), func(last Row) []string { return []string{id(last)} }), nil
}

type sessionPath struct {
	ID string `path:"id" doc:"The session's id."`
}

func (o ownSessions) end(ctx context.Context, call *route.Call, in sessionPath) (route.Empty, error) {
	person, err := api.SignedIn(call)
	if err == nil {
		err = concernHomes(ctx, call, o.organizations)
	}
	if err != nil {
		return route.Empty{}, err
	}
	call.About(in.ID)
	return route.Empty{}, o.sessions.EndSessionOf(ctx, person, in.ID)
}

func (o ownSessions) endOthers(ctx context.Context, call *route.Call, _ struct{}) (route.Empty, error) {
	person, err := api.SignedIn(call)
	if err == nil {
		err = concernHomes(ctx, call, o.organizations)
	}
	if err != nil {
		return route.Empty{}, err
	}
	call.About(person.ID)
	return route.Empty{}, o.sessions.EndOtherSessions(ctx, person, call.Grant.Token.ID)
}

// signInRow is a sign-in as its person sees it.
type signInRow struct {
	ID        string              `json:"id"`
	At        route.Time          `json:"at"`
	Method    signin.SignInMethod `json:"method" open:"true"`
	Device    string              `json:"device"`
	Place     string              `json:"place"`
	Succeeded bool                `json:"succeeded"`
	Reason    *string             `json:"reason" doc:"Why it failed; null if it succeeded."`
}

func (o ownSessions) signIns(ctx context.Context, call *route.Call, in api.Paging) (domain.Page[signInRow], error) {
	person, err := api.SignedIn(call)
	if err != nil {
		return domain.Page[signInRow]{}, err
	}
	rows, err := o.sessions.SignIns(ctx, person)
	if err != nil {
		return domain.Page[signInRow]{}, err
	}
	return newestFirst(call, api.Convert(rows, func(s *signin.SignIn) signInRow {
		row := signInRow{ID: s.ID, At: route.Time(s.At), Method: s.Method, Device: s.Device, Place: s.Place, Succeeded: s.Failure == ""}
		if s.Failure != "" {
			row.Reason = &s.Failure
		}
		return row
	}), in, func(row signInRow) string { return row.ID })
}
