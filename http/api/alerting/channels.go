package alerting

import (
	"context"

	"svc/domain"
	"svc/domain/alert"
	"svc/http/api"
	"svc/http/route"
)

// Channels stores the channels through which people are notified of incidents.
type Channels interface {
	Channels(ctx context.Context, ref domain.AppRef) ([]alert.Channel, error)
	// CreateChannel makes a channel of a specification. It returns the secret that signs the notices of a webhook this
	// once; for other kinds the secret is empty. It fails with invalid_request like alert.ChannelSpec.Validate, and also
	// if the URL's host resolves to an address that is not public.
	CreateChannel(ctx context.Context, ref domain.AppRef, spec alert.ChannelSpec) (alert.Channel, domain.Secret, error)
	// DeleteChannel fails with conflict while an alert rule names the channel.
	DeleteChannel(ctx context.Context, ref domain.AppRef, id string) error
	// TestChannel sends a notice that is marked as a test. It returns the problem in a sentence, "" if the notice was
	// accepted.
	TestChannel(ctx context.Context, ref domain.AppRef, id string) (problem string, err error)
}

// ChannelChanges changes channels.
type ChannelChanges interface {
	// UpdateChannel changes the name or the destination of a channel. It fails with not_found if the channel does not
	// exist, and with invalid_request as CreateChannel does.
	UpdateChannel(ctx context.Context, ref domain.AppRef, id string, patch alert.ChannelPatch) (alert.Channel, error)
}

// channels serves the routes of channels, on both surfaces.
type channels struct {
	channels Channels
	changes  ChannelChanges
}

func channelRoutes(ports Ports) []route.Route {
	channels := channels{ports.Channels, ports.Changes}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/channels", Operation: "channels.list", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the channels of notices, whose ids alert rules name", Handler: route.Typed(channels.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/channels/{id}/test", Operation: "channels.test", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.External, Unrecorded: "a test changes nothing", Rate: domain.RateDefault,
			Summary: "Send a notice to a channel that says that it is a test", Handler: route.Typed(channels.test),
		},
		{
			Surface: route.Console, Method: "GET", Path: "/apps/{org}/{app}/channels", Operation: "console.channels.list", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the channels of notices", Handler: route.Typed(channels.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/channels", Operation: "console.channels.create", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.Write, Ledger: "channel.created", Rate: domain.RateDefault,
			Summary: "Add a channel; the answer shows a webhook's secret once", Status: 201, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(channels.create),
		},
		{
			Surface: route.Console, Method: "PATCH", Path: "/apps/{org}/{app}/channels/{id}", Operation: "console.channels.update", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.Write, Ledger: "channel.updated", Rate: domain.RateDefault,
			Summary: "Rename a channel, or change where it leads; a webhook keeps its secret", Handler: route.Typed(channels.update),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/apps/{org}/{app}/channels/{id}", Operation: "console.channels.delete", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.Destructive, Ledger: "channel.deleted", Rate: domain.RateDefault,
			Summary: "Delete a channel that no alert rule names", Status: 204, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(channels.delete),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/channels/{id}/test", Operation: "console.channels.test", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.External, Unrecorded: "a test changes nothing", Rate: domain.RateDefault,
			Summary: "Send a notice that says that it is a test", Handler: route.Typed(channels.test),
		},
	}
}

// channel is a channel as answers show it; its address is a secret.
type channel struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Kind      alert.ChannelKind `json:"kind" open:"true"`
	CreatedAt route.Time        `json:"createdAt"`
}

func channelOf(c *alert.Channel) channel {
	return channel{ID: c.ID, Name: c.Name, Kind: c.Kind, CreatedAt: route.Time(c.CreatedAt)}
}

// createdChannel shows the secret of a webhook once.
type createdChannel struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Kind      alert.ChannelKind `json:"kind" open:"true"`
	CreatedAt route.Time        `json:"createdAt"`
	Secret    *string           `json:"secret" doc:"What signs the notices of a webhook; it is shown this once."`
}

type listChannels struct {
	api.AppPath
	api.Paging
}

func (c channels) list(ctx context.Context, call *route.Call, in listChannels) (domain.Page[channel], error) {
	all, err := c.channels.Channels(ctx, call.Ref())
	if err != nil {
		return domain.Page[channel]{}, err
	}
	return api.PageOfAll(call, api.Convert(all, channelOf), in.Paging, func(row channel) string { return row.ID })
}

type createChannel struct {
	api.AppPath
	Body newChannel `body:"json"`
}

// newChannel is the body of POST …/channels.
type newChannel struct {
	Name string    `json:"name" required:"true" doc:"The name that people read."`
	Kind string    `json:"kind" required:"true" enum:"webhook,slack,email"`
	URL  *string   `json:"url" doc:"Where a webhook or a chat is told: a public http or https address."`
	To   *[]string `json:"to" doc:"The addresses of an e-mail channel."`
}

func (c channels) create(ctx context.Context, call *route.Call, in createChannel) (createdChannel, error) {
	spec := alert.ChannelSpec{Name: in.Body.Name, Kind: alert.ChannelKind(in.Body.Kind), URL: valueOf(in.Body.URL)}
	if in.Body.To != nil {
		spec.To = *in.Body.To
	}
	made, secret, err := c.channels.CreateChannel(ctx, call.Ref(), spec)
	if err != nil {
		return createdChannel{}, err
	}
	call.Created("/apps/" + call.Ref().String() + "/channels/" + made.ID)
	return createdChannel{ID: made.ID, Name: made.Name, Kind: made.Kind, CreatedAt: route.Time(made.CreatedAt), Secret: api.OrNull(secret.Reveal())}, nil
}

type channelPath struct {
	api.AppPath
	ID string `path:"id" doc:"The channel's id."`
}

func (c channels) delete(ctx context.Context, call *route.Call, in channelPath) (route.Empty, error) {
	return route.Empty{}, c.channels.DeleteChannel(ctx, call.Ref(), in.ID)
}

// testedChannel is the result of a test.
type testedChannel struct {
	OK    bool    `json:"ok"`
	Error *string `json:"error"`
}

func (c channels) test(ctx context.Context, call *route.Call, in channelPath) (testedChannel, error) {
	problem, err := c.channels.TestChannel(ctx, call.Ref(), in.ID)
	return testedChannel{OK: problem == "", Error: api.OrNull(problem)}, err
}

type updateChannel struct {
	channelPath
	Body channelPatch `body:"json"`
}

// channelPatch is the body of PATCH …/channels/{id}; absent fields stay unchanged.
type channelPatch struct {
	Name *string   `json:"name"`
	URL  *string   `json:"url" doc:"Where a webhook or a chat is told: a public http or https address."`
	To   *[]string `json:"to" doc:"The addresses of an e-mail channel."`
}

// Check refuses an empty body.
func (u *updateChannel) Check(*route.Call) []domain.FieldError {
	if u.Body == (channelPatch{}) {
		return []domain.FieldError{{Code: "empty_body", Message: "The body changes nothing; send name, url or to."}}
	}
	return nil
}

func (c channels) update(ctx context.Context, call *route.Call, in updateChannel) (channel, error) {
	changed, err := c.changes.UpdateChannel(ctx, call.Ref(), in.ID, alert.ChannelPatch(in.Body))
	if err != nil {
		return channel{}, err
	}
	return channelOf(&changed), nil
}
