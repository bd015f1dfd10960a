package sentry

import (
	"encoding/json"
	"fmt"
	"strings"
)

// nativeCrash begins the message of an event that a minidump came with.
const nativeCrash = "Native crash"

// maxShownModules bounds the modules that are kept of a minidump.
const maxShownModules = 100

// Crash makes the event one of a native crash, from the minidump that came with it. What the client says of the
// event itself stays; errors of its own become the causes.
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

// frame returns a call as its module and the offset in it. Only the place where the thread stopped is certain; no
// other one distinguishes issues as a call of the application.
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

// shownModules returns the modules by name and place, those of the calls first.
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

// addContext adds a context, unless the client sent one of its name.
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

// CrashEvent returns the payload of the event that the fields of an upload of a minidump describe: sentry is an
// event, sentry__1, sentry__2 and so on are the pieces of one, and sentry[a][b] and sentry___a___b are its members.
// The other fields become extra data.
func CrashEvent(fields map[string]string) []byte {
	event := map[string]any{}
	text := fields["sentry"]
	for n := 1; fields[fmt.Sprintf("sentry__%d", n)] != ""; n++ {
		text += fields[fmt.Sprintf("sentry__%d", n)]
	}
	_ = json.Unmarshal([]byte(text), &event) // a text of another form has no members
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

// put sets a member of an object below a path of names.
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

// EventOfID returns the payload of an event that has an id alone, or none.
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
