package importer

import (
	"encoding/json"
	"strings"
)

// exported returns the item of a row in an export of events, nil if the row is not an event. It states place and client, since the
// export has no address and no user agent; the service derives the source again. The name determines the kind of the item: $identify
// and $alias carry identities.
func exported(members map[string]json.RawMessage) map[string]json.RawMessage {
	if members["receivedAt"] == nil || members["isBot"] == nil || members["type"] != nil {
		return nil
	}
	// said copies the members that are known; "member>name" gives one another name.
	said := func(to map[string]json.RawMessage, names ...string) map[string]json.RawMessage {
		for _, name := range names {
			member, name, renamed := strings.Cut(name, ">")
			if !renamed {
				name = member
			}
			if value := members[member]; len(value) > 0 && string(value) != "null" {
				to[name] = value
			}
		}
		return to
	}
	// Without a user agent, the event would get this program's own, which counts as a bot.
	context := said(map[string]json.RawMessage{"userAgent": json.RawMessage(`"-"`)}, "locale", "screen", "library")
	if string(members["isBot"]) == "true" {
		context["userAgent"] = json.RawMessage(`"bot"`)
	}
	for group, names := range map[string][]string{
		"place":    {"country", "region", "city"},
		"client":   {"device", "browser", "browserVersion", "os", "osVersion"},
		"campaign": {"utmSource>source", "utmMedium>medium", "utmCampaign>name", "utmTerm>term", "utmContent>content"},
	} {
		context[group], _ = json.Marshal(said(map[string]json.RawMessage{}, names...)) // of JSON
	}
	item := said(map[string]json.RawMessage{"type": json.RawMessage(`"event"`)},
		"id", "ts", "name", "url", "path", "title", "referrer", "distinctId", "anonymousId", "sessionId", "value", "currency", "properties", "release")
	item["context"], _ = json.Marshal(context) // of JSON
	return item
}
