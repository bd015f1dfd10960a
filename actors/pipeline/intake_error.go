package pipeline

import (
	"net/netip"
	"time"

	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/occurrence"
	"svc/protos"
)

// RecentErrors is the least number of occurrence ids that a partition remembers: as many as a table of 2^17 slots
// holds.
const RecentErrors = 98_000

// foldOccurrence appends the row of one occurrence unless it is a duplicate.
func (i *Intake) foldOccurrence(o *protos.Occurrence) {
	if known(i.errorIDs, protos.OccurrenceKey(o.Issue, event.Visitor(o.DistinctId, o.AnonymousId), o.Id), o.Letter) {
		i.count(ingest.SignalErrors, ingest.FateDuplicate, countedOccurrence(o))
		return
	}
	i.Occurrences = append(i.Occurrences, occurrence.Row{})
	row := &i.Occurrences[len(i.Occurrences)-1]
	row.EnvironmentNumber, row.Issue, row.FormerIssue, row.Fingerprint, row.RetentionDays = o.Environment, o.Issue, o.Former, o.Fingerprint, o.RetentionDays
	row.FramesJSON, row.BreadcrumbsJSON, row.TagsJSON, row.DetailsJSON = o.Frames, o.Breadcrumbs, o.Tags, o.Details
	row.Occurrence = occurrence.Occurrence{
		ID: o.Id, Ts: time.UnixMilli(o.TsMs), ReceivedAt: time.UnixMilli(o.ReceivedMs),
		Level: occurrence.Level(o.Level), Name: o.Name, Message: o.Message, Culprit: o.Culprit, Handled: o.Handled, Mechanism: o.Mechanism,
		Release: o.Release, Stack: o.Stack, Extra: o.Extra,
		Request: occurrence.ErrorRequest{Method: o.RequestMethod, URL: o.RequestUrl, Status: int(o.RequestStatus)},
		URL:     o.Url, Path: o.Path, Referrer: o.Referrer,
		SessionID: o.SessionId, DistinctID: o.DistinctId, AnonymousID: o.AnonymousId,
		Locale: o.Locale, AppVersion: o.AppVersion,
	}
	row.Life = i.lives.Life(o.Environment, event.Visitor(o.DistinctId, o.AnonymousId), o.ReceivedMs)
	i.describeOccurrence(row, o)
	i.count(ingest.SignalErrors, ingest.FateStored, countedOccurrence(o))
}

// describeOccurrence fills the fields that the client reports about itself. The other fields follow from its user agent
// and address.
func (i *Intake) describeOccurrence(row *occurrence.Row, o *protos.Occurrence) {
	client := i.agents.Parse(o.UserAgent)
	row.Browser, row.BrowserVersion, row.OS, row.Device = client.Browser, client.BrowserVersion, client.OS, client.Device
	if o.Browser != "" {
		row.Browser, row.BrowserVersion = o.Browser, o.BrowserVersion
	}
	if o.Os != "" {
		row.OS = o.Os
	}
	if o.Device != "" {
		row.Device = o.Device
	}
	if address, err := netip.ParseAddr(o.Ip); err == nil {
		row.Country, row.Region, row.City = i.locator.Locate(address)
	}
}
