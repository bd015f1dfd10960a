package ingest

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/destination"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/protos"
)

// accept checks one item and emits its event, or rejects it.
func (sub *submission) accept(index int, it *item, kind itemKind) {
	if kind == itemAny || kind == itemEvent && it.Type != "" || kind == itemMetric && it.Type == itemVital {
		kind = it.Type
	}
	if kind == itemBilling {
		sub.acceptBilling(index)
		return
	}
	if it.broken != "" {
		sub.reject(index, "invalid_type", it.broken)
		return
	}
	if kind == itemError {
		sub.acceptError(index, it)
		return
	}
	if kind == itemMetric || kind == itemVital {
		sub.acceptMetric(index, it, kind)
		return
	}
	if sub.switchedOff(index, ingest.SignalEvents) {
		return
	}
	event := &sub.event
	event.Reset()
	if code, message := sub.fill(event, index, it, kind); code != "" {
		sub.reject(index, code, message)
		return
	}
	if sub.exclude(ingest.SignalEvents, event) {
		return
	}
	if sub.turnAway(index, ingest.SignalEvents, sub.admitEvent(event)) {
		return
	}
	event.DropBots = sub.telemetry.Policy.Events.DropBots
	if err := sub.emit(event); err != nil {
		sub.reject(index, "invalid_value", "The item cannot be encoded.")
	}
}

// fill makes the event of an item, or returns the code and message of its refusal.
func (sub *submission) fill(e *protos.Event, index int, it *item, kind itemKind) (code, message string) {
	properties, code, message := nameEvent(e, it, kind)
	if code != "" {
		return code, message
	}
	if code, message = sub.checkModule(kind); code != "" {
		return code, message
	}
	if code, message = sub.checkUserHash(it, kind); code != "" {
		return code, message
	}
	sub.identify(e, it)
	if kind == itemAlias && it.PreviousID != "" {
		e.AnonymousId = it.PreviousID
	}
	sub.place(e, it)
	sub.contextualise(e, it)
	if code, message = sub.state(e, it); code != "" {
		return code, message
	}
	if code, message = checkWords(e); code != "" {
		return code, message
	}
	if code, message = checkIDs(it, kind); code != "" {
		return code, message
	}
	if code, message = sub.stamp(e, it); code != "" {
		return code, message
	}
	if code, message = sub.fillProperties(e, properties); code != "" {
		return code, message
	}
	if e.Id == "" {
		var err error
		if e.Id, err = sub.eventID(index, it, kind); err != nil {
			return "invalid_value", "The item cannot be encoded."
		}
	}
	if e.SizeVT() > event.MaxEventBytes {
		return "too_large", "The event is over 65536 bytes."
	}
	if e.Name != event.IdentifyEvent {
		e.Properties = limitProperties(e.Properties, &sub.telemetry.Policy.Events)
	}
	return "", ""
}

// nameEvent gives the event the name of its kind and returns its properties, or the code and message of a refusal.
func nameEvent(e *protos.Event, it *item, kind itemKind) (properties stdjson.RawMessage, code, message string) {
	switch kind {
	case itemEvent:
		e.Name = it.Name
	case itemPage:
		e.Name = cmp.Or(it.Name, event.PageView)
	case itemIdentify:
		e.Name = event.IdentifyEvent
		return it.Traits, "", ""
	case itemAlias:
		e.Name = event.AliasEvent
	case itemGroup:
		e.Name = event.IdentifyEvent
		return groupTraits(it)
	case itemAny:
		return nil, "missing_value", "type is missing; allowed are event, page, identify, alias, group, error, metric and vital."
	default:
		return nil, "unknown_type", "Unknown type; allowed are event, page, identify, alias, group, error, metric and vital."
	}
	return it.Properties, "", ""
}

// checkModule refuses items of a module that is off. Items that identify a visitor serve both analytics and people.
func (sub *submission) checkModule(kind itemKind) (code, message string) {
	modules := sub.collector.Modules
	identity := kind == itemIdentify || kind == itemAlias || kind == itemGroup
	if slices.Contains(modules, domain.ModuleAnalytics) || identity && slices.Contains(modules, domain.ModulePeople) {
		return "", ""
	}
	return string(domain.CodeModuleDisabled), "The application has switched the module analytics off."
}

// identify fills in the visitor, the environment and the retention.
func (sub *submission) identify(event *protos.Event, it *item) {
	event.Environment = sub.collector.Environment.Number
	event.RetentionDays = uint32(sub.collector.RetentionDays)
	event.Id, event.SessionId = it.ID, it.SessionID
	event.DistinctId, event.AnonymousId = it.DistinctID, it.AnonymousID
	event.Value, event.Currency, event.Release = it.Value, it.Currency, it.Release
	event.EngagedMs = it.EngagedMs
	if integrations := withheldBy(it.Integrations, sub.envelope.Integrations); len(integrations) > 0 {
		event.Withheld = destination.Withheld(integrations)
	}
	event.Ip, event.UserAgent = sub.remoteIP, sub.userAgent
}

// withheldBy returns the integrations of an item, or else of its envelope.
func withheldBy(item, envelope map[string]stdjson.RawMessage) map[string]stdjson.RawMessage {
	if len(item) > 0 {
		return item
	}
	return envelope
}

// place fills in the page of the event.
func (sub *submission) place(e *protos.Event, it *item) {
	e.Url, e.Path, e.Referrer, e.Title = it.URL, it.Path, it.Referrer, it.Title
	for _, context := range [...]*itemContext{&it.Context, &sub.envelope.Context} {
		e.Url = cmp.Or(e.Url, context.URL)
		e.Path = cmp.Or(e.Path, context.Path)
		e.Referrer = cmp.Or(e.Referrer, context.Referrer)
		e.Title = cmp.Or(e.Title, context.Title)
	}
	if e.Path == "" && e.Url != "" {
		e.Path = event.PathOf(e.Url)
	}
}

// contextualise fills in locale, screen, library and campaign. The address and the user agent in the
// context count for secret keys only.
func (sub *submission) contextualise(event *protos.Event, it *item) {
	for _, context := range [...]*itemContext{&it.Context, &sub.envelope.Context} {
		event.Locale = cmp.Or(event.Locale, context.Locale)
		event.Screen = cmp.Or(event.Screen, sub.screenOf(context.Screen))
		event.Library = cmp.Or(event.Library, libraryOf(context.Library))
		for _, stated := range [...]*campaign{&context.Campaign, &context.UTM} {
			if *stated != (campaign{}) && event.Campaign == nil {
				sub.campaign = protos.Campaign{Source: stated.Source, Medium: stated.Medium, Name: cmp.Or(stated.Name, stated.Campaign), Term: stated.Term, Content: stated.Content}
				event.Campaign = &sub.campaign
			}
		}
	}
	if sub.collector.Kind != domain.KeySecret {
		return
	}
	for _, context := range [...]*itemContext{&sub.envelope.Context, &it.Context} {
		event.Ip, event.UserAgent = cmp.Or(context.IP, event.Ip), cmp.Or(context.UserAgent, event.UserAgent)
	}
}

// state takes over the place and the client that a server states.
func (sub *submission) state(e *protos.Event, it *item) (code, message string) {
	place, client := cmp.Or(it.Context.Place, sub.envelope.Context.Place), cmp.Or(it.Context.Client, sub.envelope.Context.Client)
	if place == nil && client == nil {
		return "", ""
	}
	if sub.collector.Kind != domain.KeySecret {
		field := "context.place"
		if place == nil {
			field = "context.client"
		}
		return "secret_key_required", field + " is accepted with a secret key only."
	}
	if place != nil {
		e.Place = &protos.Place{Country: place.Country, Region: place.Region, City: place.City}
		if country := place.Country; country != "" && (len(country) != 2 || strings.Trim(country, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "") {
			return "invalid_value", "context.place.country must be two capital letters (ISO 3166), such as DE."
		}
	}
	if client != nil {
		e.Client = &protos.Client{Device: client.Device, Browser: client.Browser, BrowserVersion: client.BrowserVersion, Os: client.OS, OsVersion: client.OSVersion}
		if client.Device != "" && !slices.Contains(event.Devices(), client.Device) {
			return "invalid_value", "context.client.device must be one of " + strings.Join(event.Devices(), ", ") + "."
		}
	}
	return "", ""
}

// screenOf reads a screen as text or as {width, height}. The items of a request mostly come from one screen, so the
// last one is cached.
func (sub *submission) screenOf(raw stdjson.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	if !bytes.Equal(raw, sub.screenRaw) {
		sub.screenRaw, sub.screen = append(sub.screenRaw[:0], raw...), strings.Clone(screenText(raw))
	}
	return sub.screen
}

// maxScreen is the longest plausible side of a screen, in pixels.
const maxScreen = 1_000_000

func screenText(raw stdjson.RawMessage) string {
	var size struct {
		Width  float64 `json:"width"`
		Height float64 `json:"height"`
	}
	if raw[0] == '{' && parse(raw, &size) == nil && size.Width > 0 && size.Width < maxScreen && size.Height > 0 && size.Height < maxScreen {
		return strconv.Itoa(int(size.Width)) + "x" + strconv.Itoa(int(size.Height))
	}
	return textOf(raw)
}

// libraryOf reads a library as text or as {name, version}.
func libraryOf(raw stdjson.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var library struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if raw[0] == '{' && parse(raw, &library) == nil {
		return strings.TrimSuffix(library.Name+"/"+library.Version, "/")
	}
	return textOf(raw)
}

func textOf(raw stdjson.RawMessage) string {
	var text string
	if raw[0] == '"' && parse(raw, &text) == nil {
		return text
	}
	return ""
}

// checkWords checks the texts of an event against their limits.
func checkWords(e *protos.Event) (code, message string) {
	for _, word := range [...]struct {
		field, value string
		limit        int
		required     bool
	}{
		{"name", e.Name, event.MaxNameBytes, true},
		{"id", e.Id, event.MaxIDBytes, false},
		{"distinctId", e.DistinctId, event.MaxIDBytes, false},
		{"anonymousId", e.AnonymousId, event.MaxIDBytes, false},
		{"sessionId", e.SessionId, event.MaxIDBytes, false},
		{"url", e.Url, event.MaxURLBytes, false},
		{"path", e.Path, event.MaxURLBytes, false},
		{"referrer", e.Referrer, event.MaxURLBytes, false},
		{"title", e.Title, event.MaxTextBytes, false},
		{"locale", e.Locale, event.MaxNameBytes, false},
		{"screen", e.Screen, event.MaxNameBytes, false},
		{"library", e.Library, event.MaxNameBytes, false},
		{"release", e.Release, event.MaxNameBytes, false},
		{"currency", e.Currency, 16, false},
		{"context.place.region", e.GetPlace().GetRegion(), event.MaxNameBytes, false},
		{"context.place.city", e.GetPlace().GetCity(), event.MaxNameBytes, false},
		{"context.client.browser", e.GetClient().GetBrowser(), event.MaxNameBytes, false},
		{"context.client.browserVersion", e.GetClient().GetBrowserVersion(), event.MaxNameBytes, false},
		{"context.client.os", e.GetClient().GetOs(), event.MaxNameBytes, false},
		{"context.client.osVersion", e.GetClient().GetOsVersion(), event.MaxNameBytes, false},
	} {
		switch {
		case word.required && word.value == "":
			return "missing_value", word.field + " is missing."
		case len(word.value) > word.limit:
			return "too_long", word.field + " is over " + strconv.Itoa(word.limit) + " bytes."
		case strings.IndexByte(word.value, 0) >= 0:
			return "invalid_value", word.field + " holds a NUL character."
		}
	}
	if e.DistinctId == "" && e.AnonymousId == "" {
		return "missing_value", "distinctId or anonymousId is missing."
	}
	if e.Value != nil && (math.IsNaN(*e.Value) || math.IsInf(*e.Value, 0)) {
		return "invalid_value", "value is not finite."
	}
	if longest := event.MaxEngagement.Milliseconds(); e.EngagedMs < 0 || e.EngagedMs > longest {
		return "invalid_value", "engagedMs must be from 0 to " + strconv.FormatInt(longest, 10) + ", which is a day."
	}
	e.UserAgent = e.UserAgent[:min(len(e.UserAgent), event.MaxTextBytes)]
	return "", ""
}

// checkIDs refuses placeholder ids of people and of their company.
func checkIDs(it *item, kind itemKind) (code, message string) {
	named := [...]struct{ field, value string }{{"distinctId", it.DistinctID}, {"anonymousId", it.AnonymousID}, {}}
	switch kind { //nolint:exhaustive // the other kinds name no third id
	case itemAlias:
		named[2].field, named[2].value = "previousId", it.PreviousID
	case itemGroup:
		named[2].field, named[2].value = "groupId", it.GroupID
	case itemIdentify:
		named[2].field, named[2].value = "traits.company", companyOf(it.Traits)
	}
	for _, id := range named {
		if id.value != "" && domain.IsPlaceholderID(id.value) {
			return domain.CodePlaceholderID, domain.PlaceholderProblem(id.field)
		}
	}
	return "", ""
}

// stamp sets the times. It corrects the client's time by the difference between the stated sending time and the arrival
// of the request. The result may not be later than now plus a tolerance, nor earlier than the key's kind permits.
func (sub *submission) stamp(e *protos.Event, it *item) (code, message string) {
	e.ReceivedMs = sub.now.UnixMilli()
	e.TsMs = e.ReceivedMs
	if it.Ts != "" {
		ts, err := time.Parse(time.RFC3339Nano, it.Ts)
		if err != nil {
			return "invalid_value", "ts" + mustBeTime
		}
		e.TsMs = ts.UnixMilli()
		if sub.envelope.SentAt != "" {
			sent, err := time.Parse(time.RFC3339Nano, sub.envelope.SentAt)
			if err != nil {
				return "invalid_value", "sentAt" + mustBeTime
			}
			e.TsMs += e.ReceivedMs - sent.UnixMilli()
		}
	}
	e.TsMs = min(e.TsMs, sub.now.Add(event.FutureTolerance).UnixMilli())
	return sub.checkAge(e.TsMs)
}

// checkAge refuses items that are older than the key's kind may send.
func (sub *submission) checkAge(tsMs int64) (code, message string) {
	oldest := sub.now.Add(-event.PublicEventAge)
	if sub.collector.Kind == domain.KeySecret {
		oldest = sub.now.AddDate(0, 0, -sub.collector.RetentionDays)
	}
	if tsMs < oldest.UnixMilli() {
		return "too_old", "ts is older than this key may send."
	}
	return "", ""
}
