package posthog

import (
	"encoding/json"
	"strings"
)

// onceMember is the native trait that holds the set-once traits. The first item that sets such a trait determines its
// value.
const onceMember = "$set_once"

// traits returns the traits that an event sets for the person, in the native form. It omits the notes of SDKs about the
// first and the last visit. Set-once traits are in a member of their own, and removed traits are null. A value of $set
// takes precedence over one of $set_once. Several events of the request may set the same trait for the same time. Then
// the last value is returned. For a set-once trait, the first value is returned.
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
		if err == nil { // Marshalling texts, numbers and valid JSON never fails.
			traits[onceMember] = encoded
		}
	}
	return traits
}
