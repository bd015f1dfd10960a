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

	"svc"
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
	if sub.switchedOff(index, svc.SignalEvents) {
		return
	}
	event := &sub.event
	event.Reset()
	if code, message := sub.fill(event, index, it, kind); code != "" {
		sub.reject(index, code, message)
		return
	}
	if sub.exclude(svc.SignalEvents, event) {
		return
	}
	if sub.turnAway(index, svc.SignalEvents, sub.admitEvent(event)) {
		return
	}
	event.DropBots = sub.telemetry.Policy.Events.DropBots
	if err := sub.emit(event); err != nil {
		sub.reject(index, "invalid_value", "The item cannot be encoded.")
	}
}

// fill makes the event of an item, or returns the code and message of its refusal.
func (sub *submission) fill(event *protos.Event, index int, it *item, kind itemKind) (code, message string) {
	properties, code, message := nameEvent(event, it, kind)
	if code != "" {
		return code, message
	}
	if code, message = sub.checkModule(kind); code != "" {
		return code, message
	}
	if code, message = sub.checkUserHash(it, kind); code != "" {
		return code, message
	}
	sub.identify(event, it)
	if kind == itemAlias && it.PreviousID != "" {
		event.AnonymousId = it.PreviousID
	}
	sub.place(event, it)
	sub.contextualise(event, it)
	if code, message = sub.state(event, it); code != "" {
		return code, message
	}
	if code, message = checkWords(event); code != "" {
		return code, message
	}
	if code, message = checkIDs(it, kind); code != "" {
		return code, message
	}
	if code, message = sub.stamp(event, it); code != "" {
		return code, message
	}
	if code, message = sub.fillProperties(event, properties); code != "" {
		return code, message
	}
	if event.Id == "" {
		var err error
		if event.Id, err = sub.eventID(index, it, kind); err != nil {
			return "invalid_value", "The item cannot be encoded."
		}
	}
	if event.SizeVT() > svc.MaxEventBytes {
		return "too_large", "The event is over 65536 bytes."
	}
	if event.Name != svc.IdentifyEvent {
		event.Properties = limitProperties(event.Properties, &sub.telemetry.Policy.Events)
	}
	return "", ""
}

// nameEvent gives the event the name of its kind and returns its properties, or the code and message of a refusal.
func nameEvent(event *protos.Event, it *item, kind itemKind) (properties stdjson.RawMessage, code, message string) {
	switch kind {
	case itemEvent:
		event.Name = it.Name
	case itemPage:
		event.Name = cmp.Or(it.Name, svc.PageView)
	case itemIdentify:
		event.Name = svc.IdentifyEvent
		return it.Traits, "", ""
	case itemAlias:
		event.Name = svc.AliasEvent
	case itemGroup:
		event.Name = svc.IdentifyEvent
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
	if slices.Contains(modules, svc.ModuleAnalytics) || identity && slices.Contains(modules, svc.ModulePeople) {
		return "", ""
	}
	return string(svc.CodeModuleDisabled), "The application has switched the module analytics off."
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
		event.Withheld = svc.Withheld(integrations)
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
func (sub *submission) place(event *protos.Event, it *item) {
	event.Url, event.Path, event.Referrer, event.Title = it.URL, it.Path, it.Referrer, it.Title
	for _, context := range [...]*itemContext{&it.Context, &sub.envelope.Context} {
		event.Url = cmp.Or(event.Url, context.URL)
		event.Path = cmp.Or(event.Path, context.Path)
		event.Referrer = cmp.Or(event.Referrer, context.Referrer)
		event.Title = cmp.Or(event.Title, context.Title)
	}
	if event.Path == "" && event.Url != "" {
		event.Path = svc.PathOf(event.Url)
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
	if sub.collector.Kind != svc.KeySecret {
		return
	}
	for _, context := range [...]*itemContext{&sub.envelope.Context, &it.Context} {
		event.Ip, event.UserAgent = cmp.Or(context.IP, event.Ip), cmp.Or(context.UserAgent, event.UserAgent)
	}
}

// state takes over the place and the client that a server states.
func (sub *submission) state(event *protos.Event, it *item) (code, message string) {
	place, client := cmp.Or(it.Context.Place, sub.envelope.Context.Place), cmp.Or(it.Context.Client, sub.envelope.Context.Client)
	if place == nil && client == nil {
		return "", ""
	}
	if sub.collector.Kind != svc.KeySecret {
		field := "context.place"
		if place == nil {
			field = "context.client"
		}
		return "secret_key_required", field + " is accepted with a secret key only."
	}
	if place != nil {
		event.Place = &protos.Place{Country: place.Country, Region: place.Region, City: place.City}
		if country := place.Country; country != "" && (len(country) != 2 || strings.Trim(country, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "") {
			return "invalid_value", "context.place.country must be two capital letters (ISO 3166), such as DE."
		}
	}
	if client != nil {
		event.Client = &protos.Client{Device: client.Device, Browser: client.Browser, BrowserVersion: client.BrowserVersion, Os: client.OS, OsVersion: client.OSVersion}
		if client.Device != "" && !slices.Contains(svc.Devices(), client.Device) {
			return "invalid_value", "context.client.device must be one of " + strings.Join(svc.Devices(), ", ") + "."
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
func checkWords(event *protos.Event) (code, message string) {
	for _, word := range [...]struct {
		field, value string
		limit        int
		required     bool
	}{
		{"name", event.Name, svc.MaxNameBytes, true},
		{"id", event.Id, svc.MaxIDBytes, false},
		{"distinctId", event.DistinctId, svc.MaxIDBytes, false},
		{"anonymousId", event.AnonymousId, svc.MaxIDBytes, false},
		{"sessionId", event.SessionId, svc.MaxIDBytes, false},
		{"url", event.Url, svc.MaxURLBytes, false},
		{"path", event.Path, svc.MaxURLBytes, false},
		{"referrer", event.Referrer, svc.MaxURLBytes, false},
		{"title", event.Title, svc.MaxTextBytes, false},
		{"locale", event.Locale, svc.MaxNameBytes, false},
		{"screen", event.Screen, svc.MaxNameBytes, false},
		{"library", event.Library, svc.MaxNameBytes, false},
		{"release", event.Release, svc.MaxNameBytes, false},
		{"currency", event.Currency, 16, false},
		{"context.place.region", event.GetPlace().GetRegion(), svc.MaxNameBytes, false},
		{"context.place.city", event.GetPlace().GetCity(), svc.MaxNameBytes, false},
		{"context.client.browser", event.GetClient().GetBrowser(), svc.MaxNameBytes, false},
		{"context.client.browserVersion", event.GetClient().GetBrowserVersion(), svc.MaxNameBytes, false},
		{"context.client.os", event.GetClient().GetOs(), svc.MaxNameBytes, false},
		{"context.client.osVersion", event.GetClient().GetOsVersion(), svc.MaxNameBytes, false},
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
	if event.DistinctId == "" && event.AnonymousId == "" {
		return "missing_value", "distinctId or anonymousId is missing."
	}
	if event.Value != nil && (math.IsNaN(*event.Value) || math.IsInf(*event.Value, 0)) {
		return "invalid_value", "value is not finite."
	}
	if longest := svc.MaxEngagement.Milliseconds(); event.EngagedMs < 0 || event.EngagedMs > longest {
		return "invalid_value", "engagedMs must be from 0 to " + strconv.FormatInt(longest, 10) + ", which is a day."
	}
	event.UserAgent = event.UserAgent[:min(len(event.UserAgent), svc.MaxTextBytes)]
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
		if id.value != "" && svc.IsPlaceholderID(id.value) {
			return svc.CodePlaceholderID, svc.PlaceholderProblem(id.field)
		}
	}
	return "", ""
}

// stamp sets the times. It corrects the client's time by the difference between the stated sending time and the arrival
// of the request. The result may not be later than now plus a tolerance, nor earlier than the key's kind permits.
func (sub *submission) stamp(event *protos.Event, it *item) (code, message string) {
	event.ReceivedMs = sub.now.UnixMilli()
	event.TsMs = event.ReceivedMs
	if it.Ts != "" {
		ts, err := time.Parse(time.RFC3339Nano, it.Ts)
		if err != nil {
			return "invalid_value", "ts" + mustBeTime
		}
		event.TsMs = ts.UnixMilli()
		if sub.envelope.SentAt != "" {
			sent, err := time.Parse(time.RFC3339Nano, sub.envelope.SentAt)
			if err != nil {
				return "invalid_value", "sentAt" + mustBeTime
			}
			event.TsMs += event.ReceivedMs - sent.UnixMilli()
		}
	}
	event.TsMs = min(event.TsMs, sub.now.Add(svc.FutureTolerance).UnixMilli())
	return sub.checkAge(event.TsMs)
}

// checkAge refuses items that are older than the key's kind may send.
func (sub *submission) checkAge(tsMs int64) (code, message string) {
	oldest := sub.now.Add(-svc.PublicEventAge)
	if sub.collector.Kind == svc.KeySecret {
		oldest = sub.now.AddDate(0, 0, -sub.collector.RetentionDays)
	}
	if tsMs < oldest.UnixMilli() {
		return "too_old", "ts is older than this key may send."
	}
	return "", ""
}
