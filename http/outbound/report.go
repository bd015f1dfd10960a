package outbound

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	texttemplate "text/template"
	"time"

	"svc/domain/report"
)

//go:embed report.txt report.html
var reportForms embed.FS

// Reports sends the letters of reports.
type Reports struct {
	mail      Mail
	publicURL string
	text      *texttemplate.Template
	html      *htmltemplate.Template
}

// NewReports returns a sender with links that begin with a scheme and a host.
func NewReports(mail Mail, publicURL string) (*Reports, error) {
	text, err := texttemplate.ParseFS(reportForms, "report.txt")
	if err != nil {
		return nil, fmt.Errorf("reading the text of reports: %w", err)
	}
	html, err := htmltemplate.ParseFS(reportForms, "report.html")
	if err != nil {
		return nil, fmt.Errorf("reading the page of reports: %w", err)
	}
	return &Reports{mail: mail, publicURL: publicURL, text: text, html: html}, nil
}

// SendReport makes one attempt to send a letter. If it fails, retry reports whether another attempt may succeed.
func (r *Reports) SendReport(ctx context.Context, mail *report.Mail) (retry bool, err error) {
	l, err := r.letter(mail)
	if err != nil {
		return false, err
	}
	err = r.mail.send(ctx, l)
	return err != nil && !errors.Is(err, ErrNoMail), err
}

// letter makes a letter.
func (r *Reports) letter(mail *report.Mail) (letter, error) {
	page, err := r.pageOf(mail)
	if err != nil {
		return letter{}, err
	}
	var text, html strings.Builder
	if err := r.text.Execute(&text, page); err != nil {
		return letter{}, fmt.Errorf("writing a report: %w", err)
	}
	if err := r.html.Execute(&html, page); err != nil {
		return letter{}, fmt.Errorf("writing a report: %w", err)
	}
	return letter{id: mail.Letter.ID, to: []string{mail.Letter.To}, subject: page.Title, text: text.String(), html: html.String(), unsubscribe: mail.Unsubscribe}, nil
}

// reportPage is the data of the templates.
type reportPage struct {
	Title, Lead, Link, Unsubscribe string
	Figures                        []reportFigure
	Lists                          []reportList
}

// reportFigure is a headline number with its change.
type reportFigure struct {
	Name, Value, Change string
	// Worse is true for an undesired change, Better for a desired one.
	Worse, Better bool
}

type reportList struct {
	Title string
	Rows  []reportRow
}

type reportRow struct{ Value, Name string }

// pageOf returns the page of a letter.
func (r *Reports) pageOf(mail *report.Mail) (*reportPage, error) {
	page := &reportPage{Unsubscribe: mail.Unsubscribe}
	name := strings.Join(strings.Fields(mail.AppName), " ")
	query := url.Values{"env": {mail.Environment}}
	if spike := mail.Letter.Spike; spike != nil {
		page.Title = fmt.Sprintf("%s: %s visitors at a time", name, grouped(spike.Visitors))
		page.Lead = fmt.Sprintf("On %s, %s visitors were there within five minutes; you asked to be told from %s on.",
			spike.At.In(mail.Location).Format("Monday, 2 January 2006 at 15:04 (MST)"), grouped(spike.Visitors), grouped(mail.Threshold))
		page.Lists = lists(reportList{"Sources", rowsOf(spike.Sources)}, reportList{"Pages", rowsOf(spike.Pages)})
		query.Set("range", "24h")
	} else {
		if err := page.fill(name, mail); err != nil {
			return nil, err
		}
		query.Set("range", mail.Letter.Period.Range())
	}
	page.Link = r.publicURL + "/console#/apps/" + mail.App.String() + "/overview?" + query.Encode()
	return page, nil
}

// fill fills in a regular report.
func (p *reportPage) fill(name string, mail *report.Mail) error {
	const day = "Monday, 2 January 2006"
	from, err := time.Parse(time.DateOnly, mail.Letter.Period.From)
	if err != nil {
		return fmt.Errorf("reading the period of a report: %w", err)
	}
	to, err := time.Parse(time.DateOnly, mail.Letter.Period.To)
	if err != nil {
		return fmt.Errorf("reading the period of a report: %w", err)
	}
	p.Title = fmt.Sprintf("%s: the week of %s", name, from.Format("2 January 2006"))
	if mail.Kind == report.Monthly {
		p.Title = fmt.Sprintf("%s: %s", name, from.Format("January 2006"))
	}
	p.Lead = fmt.Sprintf("%s to %s, %s (%s), against the time before.", from.Format(day), to.Format(day), mail.Environment, mail.Location)
	now, before := mail.Content.Overview.Current, mail.Content.Overview.Previous
	p.Figures = []reportFigure{
		counted("Visitors", now.Visitors, before.Visitors),
		counted("Page views", now.Pageviews, before.Pageviews),
		counted("Sessions", now.Sessions, before.Sessions),
		bounced(now.BounceRate, before.BounceRate, before.Sessions > 0),
		lasted(now.AvgDurationMs, before.AvgDurationMs),
		counted("Conversions", now.Conversions, before.Conversions),
	}
	goals := reportList{Title: "Goals"}
	for i := range mail.Content.Goals {
		if one := &mail.Content.Goals[i]; one.Goal.DeletedAt == nil {
			goals.Rows = append(goals.Rows, reportRow{grouped(one.Conversions), one.Goal.Name})
		}
	}
	p.Lists = lists(reportList{"Pages", rowsOf(mail.Content.Pages)}, reportList{"Sources", rowsOf(mail.Content.Sources)}, goals)
	return nil
}

// lists returns the lists that have rows.
func lists(all ...reportList) (some []reportList) {
	for _, one := range all {
		if len(one.Rows) > 0 {
			one.Rows = one.Rows[:min(len(one.Rows), report.Rows)]
			some = append(some, one)
		}
	}
	return some
}

func rowsOf(values []report.Value) (rows []reportRow) {
	for _, one := range values {
		rows = append(rows, reportRow{grouped(one.Visitors), cmp.Or(one.Value, "(not known)")})
	}
	return rows
}

// counted is a figure for which more is better.
func counted(name string, now, before uint64) reportFigure {
	return reportFigure{Name: name, Value: grouped(now), Change: change(float64(now), float64(before)), Better: now > before, Worse: now < before}
}

// bounced is the share of sessions that ended at once, for which less is better.
func bounced(now, before float64, known bool) reportFigure {
	percent := func(share float64) int { return int(math.Round(share * 100)) } //nolint:mnd // percent
	figure := reportFigure{Name: "Bounce rate", Value: strconv.Itoa(percent(now)) + " %"}
	points := percent(now) - percent(before)
	switch {
	case points == 0:
		figure.Change = "unchanged"
	case !known:
		figure.Change = "new"
	default:
		figure.Change = fmt.Sprintf("%+d points", points)
		figure.Worse, figure.Better = points > 0, points < 0
	}
	return figure
}

// lasted is the length of visits.
func lasted(now, before uint64) reportFigure {
	length := (time.Duration(now) * time.Millisecond).Round(time.Second)
	return reportFigure{Name: "Visit time", Value: strings.Replace(length.String(), "m", "m ", 1), Change: change(float64(now), float64(before)), Better: now > before, Worse: now < before}
}

// change describes the change of a number since the one before.
func change(now, before float64) string {
	switch {
	case now == before:
		return "unchanged"
	case before == 0:
		return "new"
	}
	return fmt.Sprintf("%+d %%", int(math.Round((now-before)/before*100))) //nolint:mnd // percent
}

// grouped writes a number with a comma between thousands.
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
