package occurrence

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode"

	"svc/domain"
	"svc/domain/event"
)

// ProcessingError is a part of a report that was left out or replaced, so that the rest could be stored.
type ProcessingError struct {
	Field  string `json:"field" doc:"The member of the report."`
	Reason string `json:"reason" doc:"What was wrong with it, and what became of it."`
}

// Details is the context of an occurrence. It is shown only with the single occurrence.
type Details struct {
	// User describes the user of the application as the client reports it, without IP addresses.
	User map[string]string `json:"user,omitempty"`
	// Query, Headers and Data belong to the HTTP request during which the error happened; Data is any JSON.
	Query   string            `json:"query,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Data    json.RawMessage   `json:"data,omitempty"`
	// Problems are in the order of their detection.
	Problems []ProcessingError `json:"problems,omitempty"`
}

// Limits of the details of an error.
const (
	MaxErrorUser    = 20
	MaxErrorHeaders = 50
	MaxHeaderBytes  = 1 << 10
	MaxRequestData  = 16 << 10
	MaxProblems     = 20
)

// Note adds a problem; problems beyond MaxProblems are dropped.
func (d *Details) Note(field, reason string) {
	if len(d.Problems) < MaxProblems {
		d.Problems = append(d.Problems, ProcessingError{Field: domain.Truncate(field, event.MaxNameBytes), Reason: domain.Truncate(reason, MaxFrameText)})
	}
}

// empty reports whether there is nothing to store.
func (d *Details) empty() bool {
	return len(d.User) == 0 && d.Query == "" && len(d.Headers) == 0 && len(d.Data) == 0 && len(d.Problems) == 0
}

// JSON returns the details as they are stored, nothing if they are empty.
func (d *Details) JSON() ([]byte, error) {
	if d.empty() {
		return nil, nil
	}
	return json.Marshal(d)
}

// trim cuts every text and list to its limit.
func (d *Details) trim() {
	d.User = firstPairs(d.User, MaxErrorUser, MaxTagBytes)
	d.Headers = firstPairs(d.Headers, MaxErrorHeaders, MaxHeaderBytes)
	d.Query = domain.Truncate(d.Query, event.MaxURLBytes)
	if len(d.Data) > MaxRequestData {
		d.Data = nil
		d.Note("request.data", "It is over "+strconv.Itoa(MaxRequestData)+" bytes and was left out.")
	}
}

// firstPairs retains at most most pairs, the first by name, with values of at most bytes bytes.
func firstPairs(pairs map[string]string, most, bytes int) map[string]string {
	if len(pairs) == 0 {
		return nil
	}
	kept := make(map[string]string, min(len(pairs), most))
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		if short := domain.Truncate(name, MaxTagBytes); short != "" && len(kept) < most {
			kept[short] = domain.Truncate(pairs[name], bytes)
		}
	}
	return kept
}

// mask hides the e-mail-like values.
func (d *Details) mask() {
	d.User, d.Headers = maskPairs(d.User), maskPairs(d.Headers)
	d.Query, d.Data = domain.MaskShapes(d.Query), domain.MaskJSON(d.Data)
}

func maskPairs(pairs map[string]string) map[string]string {
	if pairs == nil {
		return nil
	}
	masked := make(map[string]string, len(pairs))
	for name, value := range pairs {
		if domain.IsPersonal(name) {
			value = domain.MaskText(value)
		}
		masked[domain.MaskShapes(name)] = domain.MaskShapes(value)
	}
	return masked
}

// IDFault returns why a text cannot be an id of a report, a person or a session; empty if it can.
func IDFault(id string) string {
	switch {
	case len(id) > event.MaxIDBytes:
		return "It is over " + strconv.Itoa(event.MaxIDBytes) + " bytes"
	case slices.ContainsFunc([]rune(id), unicode.IsControl):
		return "It holds a control character"
	}
	return ""
}
