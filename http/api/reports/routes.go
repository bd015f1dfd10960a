// Package reports has the routes of e-mail reports, and the page on which their recipients unsubscribe.
package reports

import (
	"context"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/report"
	"svc/http/api"
	"svc/http/route"
)

// Reports stores reports and their recipients.
type Reports interface {
	// Reports returns the reports of an application, ordered by environment and kind.
	Reports(ctx context.Context, app domain.AppRef) ([]report.Report, error)
	// PutReport makes the report of a kind and an environment under an id, or changes the existing one.
	PutReport(ctx context.Context, app *domain.Application, id string, spec report.Spec) (report.Report, error)
	// DeleteReport fails with not_found if the application has no report with the id.
	DeleteReport(ctx context.Context, app domain.AppRef, id string) error
	// Unsubscribe removes a recipient from a report; report.RecipientHash identifies the recipient. It may be repeated.
	Unsubscribe(ctx context.Context, app domain.AppRef, id, recipient string) error
}

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	Reports Reports
	Links   Links
	// Mails reports whether a mail server is configured.
	Mails bool
	NewID func(prefix string) string
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	r := reports{ports}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/reports", Operation: "reports.list", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "The e-mail reports: weekly, monthly, and notices of many visitors", Handler: route.Typed(r.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/reports", Operation: "reports.put", Module: domain.ModuleAnalytics, Scope: domain.ScopeWrite, Permission: domain.PermAnalyticsWrite, Effect: route.Write, Ledger: "report.updated", Rate: domain.RateDefault,
			Summary: "Make the report of a kind for an environment, or change the one that is there", Handler: route.Typed(r.put),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/reports/{id}", Operation: "reports.delete", Module: domain.ModuleAnalytics, Scope: domain.ScopeWrite, Permission: domain.PermAnalyticsWrite, Effect: route.Destructive, Ledger: "report.deleted", Rate: domain.RateDefault,
			Summary: "Delete a report; letters on their way are not sent any more", Status: 204, Handler: route.Typed(r.delete),
		},
	}
}

// reports serves the routes.
type reports struct{ Ports }

// reportJSON is a report as answers show it.
type reportJSON struct {
	ID          string      `json:"id"`
	Kind        report.Kind `json:"kind"`
	Environment string      `json:"environment"`
	Recipients  []string    `json:"recipients" doc:"Masked for callers who may not see personal data."`
	Threshold   *uint64     `json:"threshold" doc:"How many visitors at a time a notice of kind spike is sent for."`
	Enabled     bool        `json:"enabled"`
	NextAt      *route.Time `json:"nextAt" doc:"When the next report is due, at eight o'clock in the time zone of the application; null for a spike, and for a report that is off."`
	SentAt      *route.Time `json:"sentAt" doc:"When the mail server took a letter last."`
	Problem     *string     `json:"problem" doc:"Why the mail server did not take the latest letter."`
	CreatedAt   route.Time  `json:"createdAt"`
	UpdatedAt   route.Time  `json:"updatedAt"`
}

// noMail is the problem of every report if the service cannot send mail.
const noMail = "No mail server is configured: SVC_MAIL_SERVER names none."

func (r reports) shown(call *route.Call) func(one *report.Report) reportJSON {
	return func(one *report.Report) reportJSON {
		row := reportJSON{
			ID: one.ID, Kind: one.Kind, Environment: one.Environment, Recipients: slices.Clone(one.Recipients), Enabled: one.Enabled, Problem: api.OrNull(one.Problem),
			CreatedAt: route.Time(one.CreatedAt), UpdatedAt: route.Time(one.UpdatedAt),
		}
		if row.Recipients == nil {
			row.Recipients = []string{}
		}
		if !call.Grant.May(domain.PermPeoplePIIRead) {
			for i := range row.Recipients {
				row.Recipients[i] = domain.MaskShapes(row.Recipients[i])
			}
		}
		if one.Kind == report.ReportSpike {
			row.Threshold = &one.Threshold
		}
		if next := one.Kind.Next(call.Now, call.App.Location()); one.Enabled && !next.IsZero() {
			row.NextAt = route.TimeOf(&next)
		}
		if !one.SentAt.IsZero() {
			row.SentAt = route.TimeOf(&one.SentAt)
		}
		if !r.Mails {
			row.Problem = api.OrNull(noMail)
		}
		return row
	}
}

type listReports struct {
	api.AppPath
	api.Paging
}

func (r reports) list(ctx context.Context, call *route.Call, in listReports) (domain.Page[reportJSON], error) {
	all, err := r.Reports.Reports(ctx, call.Ref())
	if err != nil {
		return domain.Page[reportJSON]{}, err
	}
	return api.PageOfAll(call, api.Convert(all, r.shown(call)), in.Paging, func(row reportJSON) string {
		return row.Environment + " " + string(row.Kind)
	})
}

type putReport struct {
	api.AppPath
	Env  api.Env    `query:"env" doc:"The environment's slug."`
	Body reportBody `body:"json"`
}

// reportBody is the body of POST …/reports.
type reportBody struct {
	Kind       report.Kind `json:"kind" required:"true" doc:"weekly: on Monday morning, of Monday to Sunday. monthly: on the first of a month, of the month before. spike: when there are many visitors, every 12 hours at most."`
	Recipients []string    `json:"recipients" required:"true" doc:"1 to 20 e-mail addresses. Each gets a letter of its own, with a link by which it leaves."`
	Threshold  uint64      `json:"threshold" doc:"From how many visitors within five minutes on a notice of kind spike is sent."`
	Enabled    *bool       `json:"enabled" doc:"true where it is absent."`
}

func (p *putReport) spec() report.Spec {
	recipients := []string{}
	for _, address := range p.Body.Recipients {
		if !slices.Contains(recipients, address) {
			recipients = append(recipients, address)
		}
	}
	return report.Spec{
		Kind: p.Body.Kind, Environment: p.Env.Slug, Number: p.Env.Number, Recipients: recipients, Threshold: p.Body.Threshold, Enabled: p.Body.Enabled == nil || *p.Body.Enabled,
	}
}

// Check applies the rules of reports.
func (p *putReport) Check(*route.Call) []domain.FieldError {
	spec := p.spec()
	return spec.Validate()
}

func (r reports) put(ctx context.Context, call *route.Call, in putReport) (reportJSON, error) {
	made, err := r.Reports.PutReport(ctx, &call.App, r.NewID("rpt_"), in.spec())
	if err != nil {
		return reportJSON{}, err
	}
	call.About(made.ID)
	return r.shown(call)(&made), nil
}

type reportPath struct {
	api.AppPath
	ID string `path:"id" doc:"The report's id."`
}

func (r reports) delete(ctx context.Context, call *route.Call, in reportPath) (route.Empty, error) {
	return route.Empty{}, r.Reports.DeleteReport(ctx, call.Ref(), in.ID)
}

// leaveTime bounds the work of an unsubscription.
const leaveTime = 10 * time.Second
