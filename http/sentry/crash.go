package sentry

import (
	"encoding/json"
	"fmt"
	"strings"
)

// nativeCrash begins the message of an event that has a minidump.
const nativeCrash = "Native crash"

// maxShownModules bounds the modules of a minidump that are stored.
const maxShownModules = 100

// Crash turns the event into the event of a native crash, based on its minidump. Other data from the client stays.
// Errors in the client's event become the causes.
func (e *Event) Crash(m *Minidump) {
	name, detail := m.Reason()
	crash := Exception{Type: name, Value: strings.TrimSuffix(nativeCrash+": "+detail, ": "), Mechanism: "minidump"}
	for i := len(m.Calls) - 1; i >= 0; i-- {
		crash.Frames = append(crash.Frames, m.frame(i))
	}
	e.Exceptions, e.Frames, e.Platform, e.Message, e.Template = append(e.Exceptions, crash), nil, "native", "", ""
	if e.Level == "" || e.Level == "error" {
		e.Level = "fatal"
	}
	e.addContext("os", map[string]any{"name": m.System})
	e.addContext("device", map[string]any{"arch": m.CPU})
	e.addContext("minidump", map[string]any{"modules": m.shownModules()})
}

// frame returns a call as its module and the offset in it. Only the address where the thread stopped is certain. So no
// other frame counts as a call of the application when issues are distinguished.
func (m *Minidump) frame(i int) Frame {
	address, certain := m.Calls[i], i == 0
	module := m.module(address)
	if module == nil {
		return Frame{Function: fmt.Sprintf("%#x", address), InApp: new(bool)}
	}
	frame := Frame{File: module.File, Package: module.File, Function: fmt.Sprintf("%s+%#x", baseName(module.File), address-module.Base)}
	if !certain {
		frame.InApp = new(bool)
	}
	return frame
}

// shownModules returns the names and addresses of the modules. The modules of the calls come first.
func (m *Minidump) shownModules() []string {
	var out []string
	shown := map[*DumpModule]bool{}
	add := func(module *DumpModule) {
		if module != nil && !shown[module] && len(out) < maxShownModules {
			shown[module] = true
			out = append(out, fmt.Sprintf("%s %#x-%#x", baseName(module.File), module.Base, module.Base+module.Size))
		}
	}
	for _, address := range m.Calls {
		add(m.module(address))
	}
	for i := range m.Modules {
		add(&m.Modules[i])
	}
	return out
}

// addContext adds a context, unless the client sent a context with the same name.
func (e *Event) addContext(name string, members map[string]any) {
	if e.Contexts[name] != nil {
		return
	}
	encoded, err := json.Marshal(members)
	if err != nil {
		return
	}
	if e.Contexts == nil {
		e.Contexts = map[string]json.RawMessage{}
	}
	e.Contexts[name] = encoded
}

// baseName returns the name of a file without its folders.
func baseName(file string) string { return file[strings.LastIndexAny(file, `/\`)+1:] }

// CrashEvent returns the payload of the event that the form fields of a minidump upload describe. sentry is an event.
// sentry__1, sentry__2 and so on are the pieces of one event. sentry[a][b] and sentry___a___b are members of the event.
// All other fields become extra data.
func CrashEvent(fields map[string]string) []byte {
	event := map[string]any{}
	text := fields["sentry"]
	for n := 1; fields[fmt.Sprintf("sentry__%d", n)] != ""; n++ {
		text += fields[fmt.Sprintf("sentry__%d", n)]
	}
	_ = json.Unmarshal([]byte(text), &event) // A text of another form has no members.
	if event == nil {
		event = map[string]any{}
	}
	extra, isObject := event["extra"].(map[string]any)
	if !isObject {
		extra = map[string]any{}
	}
	for name, value := range fields {
		switch {
		case strings.HasPrefix(name, "sentry["):
			put(event, strings.Split(strings.TrimSuffix(name[len("sentry["):], "]"), "]["), value)
		case strings.HasPrefix(name, "sentry___"):
			put(event, strings.Split(name[len("sentry___"):], "___"), value)
		case name != "sentry" && !strings.HasPrefix(name, "sentry__"):
			extra[name] = value
		}
	}
	if len(extra) > 0 {
		event["extra"] = extra
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return []byte("{}")
	}
	return payload
}

// put sets a member of an object at a path of names.
func put(into map[string]any, path []string, value string) {
	const deepest = 8
	for i, name := range path[:min(len(path), deepest)] {
		if i == len(path)-1 {
			into[name] = value
			return
		}
		inner, isObject := into[name].(map[string]any)
		if !isObject {
			inner = map[string]any{}
			into[name] = inner
		}
		into = inner
	}
}

// EventOfID returns the payload of an event that has only an id. If id is empty, the payload has no id either.
func EventOfID(id string) []byte {
	members := map[string]string{}
	if id != "" {
		members["event_id"] = id
	}
	payload, err := json.Marshal(members)
	if err != nil {
		return []byte("{}")
	}
	return payload
}
