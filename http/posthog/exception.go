package posthog

import (
	"cmp"
	"encoding/json"
	"slices"

	"svc/domain/occurrence"
)

// thrown is an entry of $exception_list. It has the same form as an entry of Sentry.
type thrown struct {
	Type      string `json:"type"`
	Value     string `json:"value"`
	Mechanism struct {
		Handled *bool  `json:"handled"`
		Type    string `json:"type"`
	} `json:"mechanism"`
	Stacktrace struct {
		Frames []struct {
			Filename string `json:"filename"`
			AbsPath  string `json:"abs_path"`
			Function string `json:"function"`
			Module   string `json:"module"`
			Line     int    `json:"lineno"`
			Column   int    `json:"colno"`
			InApp    *bool  `json:"in_app"`
		} `json:"frames"`
	} `json:"stacktrace"`
}

// frames returns the calls of an error, the throwing call first.
func (e *thrown) frames() []item {
	frames := make([]item, 0, len(e.Stacktrace.Frames))
	for _, called := range slices.Backward(e.Stacktrace.Frames) {
		frame := item{"file": cmp.Or(called.Filename, called.AbsPath), "function": called.Function, "module": called.Module, "line": called.Line, "column": called.Column}
		if called.InApp != nil {
			frame["inApp"] = *called.InApp
		}
		frames = append(frames, frame)
	}
	return frames
}

// exception adds an error. The first entry of the list is the thrown error, and the other entries are its causes. The
// frames of an entry end with the frame that threw it.
func (t *translation) exception(e *capture, shared item) {
	var list []thrown
	_ = json.Unmarshal(e.Properties["$exception_list"], &list)
	if len(list) == 0 {
		list = []thrown{{Type: e.text("$exception_type"), Value: e.text("$exception_message")}}
	}
	first := list[0]
	shared["type"], shared["name"], shared["message"] = "error", first.Type, first.Value
	if level := e.text("$exception_level"); level != "" {
		shared["level"] = level
	}
	if first.Mechanism.Handled != nil {
		shared["handled"] = *first.Mechanism.Handled
	}
	if first.Mechanism.Type != "" {
		shared["mechanism"] = first.Mechanism.Type
	}
	if frames := first.frames(); len(frames) > 0 {
		shared["frames"] = frames
	}
	var causes []item
	for i := range list[1:] {
		cause := &list[i+1]
		causes = append(causes, item{"name": cause.Type, "message": cause.Value, "frames": cause.frames()})
	}
	if len(causes) > 0 {
		shared["causes"] = causes
	}
	if grouped := fingerprintOf(e.Properties["$exception_fingerprint"]); len(grouped) > 0 {
		shared["fingerprint"] = grouped
	}
	if release := e.text("$release"); release != "" {
		shared["release"] = release
	}
	if own := e.own(); len(own) > 0 {
		shared["extra"] = own
	}
	t.add(shared)
}

// fingerprintOf reads the words by which the customer groups an exception. They are one text or a list of texts.
func fingerprintOf(raw json.RawMessage) []string {
	if word := idOf(raw); word != "" {
		return []string{word}
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list)
	words := make([]string, 0, len(list))
	for _, one := range list {
		if word := idOf(one); word != "" {
			words = append(words, word)
		}
	}
	return words[:min(len(words), occurrence.MaxFingerprint)]
}
