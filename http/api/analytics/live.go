package analytics

import (
	"context"
	"reflect"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/http/api"
	"svc/http/route"
)

// Presence reads the visitors that are active now.
type Presence interface {
	// Live returns the visitors that were active in the last five minutes.
	Live(ctx context.Context, env domain.Environment) (analytics.Live, error)
}

// live serves the live view, once or as a stream.
type live struct {
	presence Presence
	sampling Sampling
}

func liveRoutes(ports Ports) []route.Route {
	live := live{presence: ports.Presence, sampling: ports.Sampling}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/live", Operation: "analytics.live", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Visitors active in the last five minutes", Handler: route.TypedStream(live.get, live.stream),
		},
	}
}

type getLive struct {
	api.AppPath
	Env api.Env `query:"env" doc:"The environment's slug."`
}

// liveView is the answer of …/analytics/live.
type liveView struct {
	Visitors      uint64        `json:"visitors"`
	WindowSeconds int           `json:"windowSeconds"`
	AsOf          route.Time    `json:"asOf"`
	Environment   string        `json:"environment"`
	Pageviews     uint64        `json:"pageviews"`
	Pages         []livePage    `json:"pages"`
	Sources       []liveSource  `json:"sources"`
	Countries     []liveCountry `json:"countries"`
	Devices       []liveDevice  `json:"devices"`
	sampling
}

type livePage struct {
	Path     string `json:"path"`
	Visitors uint64 `json:"visitors"`
}

type liveSource struct {
	Source   string `json:"source"`
	Visitors uint64 `json:"visitors"`
}

type liveCountry struct {
	Country  string `json:"country"`
	Visitors uint64 `json:"visitors"`
}

type liveDevice struct {
	Device   string `json:"device"`
	Visitors uint64 `json:"visitors"`
}

func (l live) get(ctx context.Context, call *route.Call, in getLive) (liveView, error) {
	now, err := l.presence.Live(ctx, in.Env.Environment)
	if err != nil {
		return liveView{}, err
	}
	if !call.Grant.May(domain.PermPeoplePIIRead) {
		now.Mask()
	}
	view := liveView{
		Visitors: now.Visitors, WindowSeconds: analytics.LiveSeconds, AsOf: route.Time(now.AsOf), Environment: in.Env.Slug, Pageviews: now.Pageviews,
		Pages:     api.Convert(now.Pages, func(r *analytics.LiveRow) livePage { return livePage{r.Value, r.Visitors} }),
		Sources:   api.Convert(now.Sources, func(r *analytics.LiveRow) liveSource { return liveSource{r.Value, r.Visitors} }),
		Countries: api.Convert(now.Countries, func(r *analytics.LiveRow) liveCountry { return liveCountry{r.Value, r.Visitors} }),
		Devices:   api.Convert(now.Devices, func(r *analytics.LiveRow) liveDevice { return liveDevice{r.Value, r.Visitors} }),
	}
	if l.sampling != nil {
		view.mark(l.sampling(in.Env.Number, call.Now))
	}
	return view, nil
}

// liveEvery is the minimum time between two frames of a live stream (contract 47).
const liveEvery = time.Second

// stream yields the view at once and after each change.
func (l live) stream(ctx context.Context, call *route.Call, in getLive, yield func(route.Frame) bool) error {
	ticker := time.NewTicker(liveEvery)
	defer ticker.Stop()
	for shown := (*liveView)(nil); ; {
		view, err := l.get(ctx, call, in)
		if err != nil {
			return err
		}
		if shown == nil || view.differs(*shown) {
			if !yield(route.Frame{Data: view}) {
				return nil
			}
			shown = &view
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// differs reports whether a view differs from an earlier one.
func (v liveView) differs(earlier liveView) bool {
	earlier.AsOf = v.AsOf
	return !reflect.DeepEqual(v, earlier)
}
