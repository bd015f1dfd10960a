package posthog

import (
	"encoding/json"
	"strings"
)

// onceMember is the native trait under which those stand that are kept from the first item that tells them.
const onceMember = "$set_once"

// traits returns what an event tells of the person, in the native form: without what SDKs note of the first and the last visit, those told
// once apart, and null for those taken away. What $set tells wins over $set_once. Of a trait that several events of the request tell for
// the same time, the last value is told, and of one told once the first.
func (t *translation) traits(e *capture, shared item) map[string]json.RawMessage {
	id, _ := shared["distinctId"].(string)
	ts, _ := shared["ts"].(string)
	traits, once := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	tell := func(name string, value json.RawMessage) {
		key := told{id: id, ts: ts, trait: name}
		if !strings.HasPrefix(name, "$") {
			delete(t.told[key], name)
			traits[name], t.told[key] = value, traits
		}
	}
	for _, set := range []map[string]json.RawMessage{e.object("$set_once"), e.SetOnce} {
		for name, value := range set {
			key := told{id: id, ts: ts, trait: name, once: true}
			if !strings.HasPrefix(name, "$") && (t.told[key] == nil || once[name] != nil) {
				once[name], t.told[key] = value, once
			}
		}
	}
	for _, set := range []map[string]json.RawMessage{e.object("$set"), e.Set} {
		for name, value := range set {
			tell(name, value)
		}
	}
	var gone []string
	_ = json.Unmarshal(e.Properties["$unset"], &gone)
	for _, name := range gone {
		tell(name, json.RawMessage("null"))
	}
	if len(once) > 0 {
		encoded, err := json.Marshal(once)
		if err == nil { // texts, numbers and valid JSON never fail
			traits[onceMember] = encoded
		}
	}
	return traits
}
