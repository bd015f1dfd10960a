package destinations

import (
	"context"
	"strconv"

	"svc/domain"
	"svc/domain/destination"
	"svc/http/api"
	"svc/http/route"
)

// deliveries serves the routes of deliveries.
type deliveries struct{ deliveries Deliveries }

func deliveryRoutes(ports Ports) []route.Route {
	d := deliveries{ports.Deliveries}
	return []route.Route{
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/destinations/test/{id}", Operation: "destinations.test", Module: domain.ModuleDestinations, Scope: domain.ScopeWrite, Permission: domain.PermDestinationsWrite, Effect: route.External, Ledger: "destination.tested", Rate: domain.RateDefault,
			Summary: "Send a made-up conversion to a destination", Handler: route.Typed(d.test),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/destinations/{id}/deliveries", Operation: "destinations.deliveries", Module: domain.ModuleDestinations, Scope: domain.ScopeRead, Permission: domain.PermDestinationsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "What became of the conversions for a destination, newest first", Handler: route.Typed(d.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/destinations/{id}/replay", Operation: "destinations.replay", Module: domain.ModuleDestinations, Scope: domain.ScopeWrite, Permission: domain.PermDestinationsWrite, Effect: route.External, Ledger: "destination.replayed", Rate: domain.RateDefault,
			Summary: "Send parked deliveries again, one or all, under the same ids", Handler: route.Typed(d.replay),
		},
	}
}

// testedDestination is the result of a test.
type testedDestination struct {
	OK         bool    `json:"ok"`
	Error      *string `json:"error"`
	DeliveryID string  `json:"deliveryId"`
}

func (d deliveries) test(ctx context.Context, call *route.Call, in destinationPath) (testedDestination, error) {
	call.About(in.ID)
	problem, delivery, err := d.deliveries.Test(ctx, call.Ref(), in.ID)
	return testedDestination{OK: problem == "", Error: api.OrNull(problem), DeliveryID: delivery}, err
}

// delivery is a delivery as answers show it.
type delivery struct {
	ID            string                     `json:"id"`
	EventID       string                     `json:"eventId"`
	Event         string                     `json:"event" doc:"What the destination calls the event."`
	SourceEvent   string                     `json:"sourceEvent"`
	Status        destination.DispatchStatus `json:"status" open:"true"`
	Attempts      int                        `json:"attempts"`
	StatusCode    *int                       `json:"statusCode" doc:"The status of the latest answer; null where there was none."`
	LatencyMs     int64                      `json:"latencyMs"`
	Error         *string                    `json:"error"`
	Test          bool                       `json:"test"`
	CreatedAt     route.Time                 `json:"createdAt"`
	LastAttemptAt route.Time                 `json:"lastAttemptAt"`
	NextAttemptAt *route.Time                `json:"nextAttemptAt"`
	Request       string                     `json:"request" doc:"The latest request, without signature, credentials and person."`
	Response      string                     `json:"response" doc:"What was answered, at most 4 KiB."`
}

func deliveryOf(d *destination.Dispatch) delivery {
	row := delivery{
		ID: d.ID, EventID: d.EventID, Event: d.EventName, SourceEvent: d.SourceEvent, Status: d.Status, Attempts: d.Attempts, LatencyMs: d.Latency.Milliseconds(),
		Error: api.OrNull(d.Error), Test: d.Test, CreatedAt: route.Time(d.CreatedAt), LastAttemptAt: route.Time(d.At), Request: d.Request, Response: d.Response,
	}
	if d.StatusCode != 0 {
		row.StatusCode = &d.StatusCode
	}
	if !d.NextAt.IsZero() {
		row.NextAttemptAt = route.TimeOf(&d.NextAt)
	}
	return row
}

type listDeliveries struct {
	destinationPath
	api.Paging
	Status     wantedStatus `query:"status" doc:"Deliveries of this status only."`
	DeliveryID string       `query:"deliveryId" doc:"This delivery only."`
}

// wantedStatus is the parameter status of the list of deliveries; empty means all statuses.
type wantedStatus destination.DispatchStatus

func statusChoice() api.Choice {
	return api.Choice{Field: "status", What: "status of a delivery", Fallback: "all", Allowed: append(api.Words(destination.DispatchAccepted.Values()), "all")}
}

// Parse reads the status.
func (s *wantedStatus) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := statusChoice().Parse(words)
	if word != "all" {
		*s = wantedStatus(word)
	}
	return problems
}

// Schema describes the parameter.
func (wantedStatus) Schema() route.Schema { return statusChoice().Schema() }

func (d deliveries) list(ctx context.Context, call *route.Call, in listDeliveries) (domain.Page[delivery], error) {
	q := destination.DispatchQuery{App: call.Ref(), DestinationID: in.ID, ID: in.DeliveryID, Status: destination.DispatchStatus(in.Status), Limit: int(in.Limit) + 1}
	keyset, err := call.Keyset(in.Cursor, 2)
	if err != nil {
		return domain.Page[delivery]{}, err
	}
	if keyset != nil {
		created, err := strconv.ParseInt(keyset[0], 10, 64)
		if err != nil {
			return domain.Page[delivery]{}, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
		}
		q.Before = &destination.DispatchKey{CreatedMs: created, ID: keyset[1]}
	}
	rows, err := d.deliveries.Deliveries(ctx, q)
	if err != nil {
		return domain.Page[delivery]{}, err
	}
	shown := rows[:min(len(rows), int(in.Limit))]
	return route.PageOf(call, api.Convert(shown, deliveryOf), len(rows) > len(shown), func(last delivery) []string {
		return []string{strconv.FormatInt(shown[len(shown)-1].CreatedAt.UnixMilli(), 10), last.ID}
	}), nil
}

type replayDeliveries struct {
	destinationPath
	Body whichDeliveries `body:"json"`
}

// whichDeliveries is the body of POST …/destinations/{id}/replay.
type whichDeliveries struct {
	DeliveryID string `json:"deliveryId" doc:"The parked delivery; all parked ones where it is absent."`
}

// replayed is the answer to a replay.
type replayed struct {
	Replayed int  `json:"replayed" doc:"How many deliveries are queued again."`
	More     bool `json:"more" doc:"Whether more may be parked: repeat the call once these are sent."`
}

func (d deliveries) replay(ctx context.Context, call *route.Call, in replayDeliveries) (replayed, error) {
	call.About(in.ID)
	count, more, err := d.deliveries.Replay(ctx, call.Ref(), in.ID, in.Body.DeliveryID)
	if count == 0 {
		call.AboutEach(nil)
	}
	return replayed{Replayed: count, More: more}, err
}
