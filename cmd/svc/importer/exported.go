package importer

import "encoding/json"

// exported returns the item of a row in an export of events, nil if the row is not an event. It omits values that the
// service derives again (source, medium, client). The name determines the kind of the item: $identify and $alias carry
// identities.
func exported(members map[string]json.RawMessage) map[string]json.RawMessage {
	if members["receivedAt"] == nil || members["isBot"] == nil || members["type"] != nil {
		return nil
	}
	item := map[string]json.RawMessage{"type": json.RawMessage(`"event"`)}
	for _, name := range []string{"id", "ts", "name", "url", "path", "title", "referrer", "distinctId", "anonymousId", "sessionId", "value", "currency", "properties", "release"} {
		if value := members[name]; len(value) > 0 && string(value) != "null" {
			item[name] = value
		}
	}
	// Without a user agent, the event would get this program's own, which counts as a bot.
	agent := "-"
	if string(members["isBot"]) == "true" {
		agent = "bot"
	}
	context := map[string]any{"userAgent": agent}
	if locale := word(members["locale"]); locale != "" {
		context["locale"] = locale
	}
	item["context"], _ = json.Marshal(context) // consists of texts
	return item
}
