package sentry

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object with members that are read one by one, so that a member of an invalid form does not affect
// the others.
type object map[string]json.RawMessage

// reader collects the names of members that could not be read.
type reader struct{ problems []string }

// maxProblems bounds the recorded problems of one event.
const maxProblems = 20

func (r *reader) problem(name string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, name)
	}
}

// into reads a member into target and notes an invalid form under its name.
func (r *reader) into(name string, raw json.RawMessage, target any) {
	if absent(raw) {
		return
	}
	if err := json.Unmarshal(raw, target); err != nil {
		r.problem(name)
	}
}

// object reads a member that should be an object. PHP writes an empty object as a list.
func (r *reader) object(name string, raw json.RawMessage) object {
	var out object
	if !bytes.Equal(raw, []byte("[]")) {
		r.into(name, raw, &out)
	}
	return out
}

// text reads a member that should be a text. It accepts numbers and truth values as their texts, and joins the texts of
// a list.
func (r *reader) text(name string, raw json.RawMessage) string {
	word, ok := joined(raw)
	if !ok && !absent(raw) {
		r.problem(name)
	}
	return word
}

// anyText reads a member like text; for anything else it returns the JSON.
func anyText(raw json.RawMessage) string {
	if word, ok := joined(raw); ok || absent(raw) {
		return word
	}
	return string(raw)
}

// number reads a member that should be a whole number; it accepts a number in a text.
func (r *reader) number(name string, raw json.RawMessage) int {
	if absent(raw) {
		return 0
	}
	word, _ := scalar(raw)
	value, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(value) || math.Abs(value) > math.MaxInt32 {
		r.problem(name)
		return 0
	}
	return int(value)
}

// truth reads a member that should be true or false; nil if it is missing.
func (r *reader) truth(name string, raw json.RawMessage) *bool {
	var value *bool
	r.into(name, raw, &value)
	return value
}

// list reads a member that should be a list, bare or as the member values of an object; a single object is a list of
// one. PHP writes a list with gaps as an object with numbers as names.
func (r *reader) list(name string, raw json.RawMessage) []json.RawMessage {
	if absent(raw) {
		return nil
	}
	if raw[0] == '{' {
		wrapped := r.object(name, raw)
		inner, isWrapped := wrapped["values"]
		switch {
		case isWrapped && absent(inner):
			return nil
		case isWrapped && inner[0] == '{':
			return numbered(r.object(name, inner))
		case isWrapped:
			raw = inner
		default:
			if listed := numbered(wrapped); listed != nil {
				return listed
			}
			return []json.RawMessage{raw}
		}
	}
	var out []json.RawMessage
	r.into(name, raw, &out)
	return out
}

// numbered returns the members of an object by their numbers, nil if a name is not a number.
func numbered(members object) []json.RawMessage {
	names := map[int]string{}
	for name := range members {
		number, err := strconv.Atoi(name)
		if err != nil {
			return nil
		}
		names[number] = name
	}
	var out []json.RawMessage
	for _, number := range slices.Sorted(maps.Keys(names)) {
		out = append(out, members[names[number]])
	}
	return out
}

// pairs reads a member that is an object or a list of pairs, each [key, value] or {key, value}. It joins the values of
// one key. It notes and omits a value that is an object.
func (r *reader) pairs(name string, raw json.RawMessage) map[string]string {
	out := map[string]string{}
	r.eachPair(name, raw, func(key string, value json.RawMessage) {
		word, ok := joined(value)
		switch {
		case !ok || key == "":
			if !absent(value) {
				r.problem(name + "." + key)
			}
		case out[key] != "":
			out[key] += listSeparator + word
		default:
			out[key] = word
		}
	})
	return out
}

// query reads the query of an address: a text, an object or a list of pairs.
func (r *reader) query(name string, raw json.RawMessage) string {
	if word, ok := scalar(raw); ok || absent(raw) {
		return word
	}
	values := url.Values{}
	r.eachPair(name, raw, func(key string, value json.RawMessage) {
		listed := []json.RawMessage{value}
		if !absent(value) && value[0] == '[' {
			listed = r.list(name, value)
		}
		for _, one := range listed {
			values.Add(key, anyText(one))
		}
	})
	return values.Encode()
}

// eachPair calls add for the members of an object or the entries of a list of pairs.
func (r *reader) eachPair(name string, raw json.RawMessage, add func(key string, value json.RawMessage)) {
	switch {
	case absent(raw):
	case raw[0] == '{':
		for key, value := range r.object(name, raw) {
			add(key, value)
		}
	default:
		var entries []json.RawMessage
		r.into(name, raw, &entries)
		for _, entry := range entries {
			key, value, ok := pair(entry)
			if !ok {
				r.problem(name)
				continue
			}
			add(key, value)
		}
	}
}

// pair reads one [key, value] or {"key": …, "value": …}.
func pair(raw json.RawMessage) (key string, value json.RawMessage, ok bool) {
	var both []json.RawMessage
	if json.Unmarshal(raw, &both) == nil && len(both) == 2 {
		key, ok = scalar(both[0])
		return key, both[1], ok
	}
	var named struct {
		Key   json.RawMessage `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(raw, &named) != nil {
		return "", nil, false
	}
	key, ok = scalar(named.Key)
	return key, named.Value, ok
}

// absent reports whether a member is missing or null.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }

// scalar returns the text of a text, number or truth value.
func scalar(raw json.RawMessage) (string, bool) {
	if absent(raw) {
		return "", false
	}
	switch raw[0] {
	case '"':
		var word string
		err := json.Unmarshal(raw, &word)
		return word, err == nil
	case '{', '[':
		return "", false
	}
	return string(raw), true
}

// listSeparator separates the values of a list that is read as one text.
const listSeparator = ", "

// joined returns the text of a scalar, or the texts of a list, joined; PHP's messages (PSR-7)
// have a list for each header.
func joined(raw json.RawMessage) (string, bool) {
	if absent(raw) || raw[0] != '[' {
		return scalar(raw)
	}
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		return "", false
	}
	words := make([]string, 0, len(entries))
	for _, entry := range entries {
		word, ok := scalar(entry)
		switch {
		case ok:
			words = append(words, word)
		case !absent(entry):
			return "", false
		}
	}
	return strings.Join(words, listSeparator), true
}

// parseTime reads seconds since the epoch or an ISO 8601 timestamp; ok is false for anything else and for impossible
// instants.
func parseTime(raw json.RawMessage) (t time.Time, ok bool) {
	word, ok := scalar(raw)
	if !ok {
		return time.Time{}, false
	}
	if seconds, err := strconv.ParseFloat(word, 64); err == nil {
		if math.IsNaN(seconds) || seconds <= 0 || seconds > 1<<36 {
			return time.Time{}, false
		}
		return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(), true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if parsed, err := time.Parse(layout, word); err == nil {
			return parsed.UTC(), true
		}
	}
	return time.Time{}, false
}
