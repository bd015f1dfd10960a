package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file is the table of surfaces. For each route, it defines the data that a caller without people.pii.read may
// read, ask for and write. A route without an entry gets the strictest treatment. Its answer is masked, and its
// parameters and body may not ask for masked data.

// PersonalSurface defines how a route treats personal data.
type PersonalSurface struct {
	// Unmasked is true if answers contain nothing about measured people, only about the organization and its members.
	Unmasked bool
	// Links are the members of answers that hold addresses of the service itself, including its tokens.
	Links []string
	// Hooks are the permissions to write the addresses that answers show. Secrets in them are hidden from callers that
	// lack one of these permissions.
	Hooks []Permission
	// Writes is true if a body holds texts of a member or addresses of receivers. Such a body asks for nothing.
	Writes bool
}

// PersonalSurfaceOf returns the row of an operation. Console rows are treated like the operation with the same name.
func PersonalSurfaceOf(operation string) PersonalSurface {
	noun, _, _ := strings.Cut(strings.TrimPrefix(operation, "console."), ".")
	operation = strings.TrimPrefix(operation, "console.")
	surface := PersonalSurface{
		Unmasked: slices.Contains(strings.Fields("me members invitations sessions passkeys tokens orgTokens orgs keys docs"), noun) || operation == "apps.install",
		Writes: slices.Contains(strings.Fields("me members invitations sessions passkeys tokens orgTokens orgs keys apps ai annotations channels monitors incidents exclusions share connector billing telemetry"), noun) ||
			slices.Contains(strings.Fields("people.update people.note people.merge people.split errors.comment errors.update errors.updateMany"), operation),
	}
	switch noun {
	case "destinations":
		surface.Hooks = []Permission{PermDestinationsWrite}
	case "channels", "incidents", "alerts":
		surface.Hooks = []Permission{PermMetricsWrite}
	case "approvals", "ledger":
		surface.Hooks = []Permission{PermMetricsWrite, PermDestinationsWrite}
	}
	if operation == "ai.actions" {
		surface.Hooks = []Permission{PermMetricsWrite, PermDestinationsWrite}
	}
	surface.Links = []string{"secret", "token"} // shown once, to the caller that made them
	switch noun {
	case "exports", "share", "billing", "apps", "ai":
		surface.Links = append(surface.Links, "url", "downloadUrl", "publicUrl", "embedUrl", "embed", "link", "endpoint", "webhookUrl")
	}
	return surface
}

// receiverFields are the members of bodies that hold the receivers of messages.
//
//nolint:gochecknoglobals // never changed
var receiverFields = map[string]bool{"recipients": true, "to": true, "replyTo": true, "from": true, "testAddress": true, "credential": true, "secret": true}

// referenceFields are the members of bodies that name a field without a prefix.
//
//nolint:gochecknoglobals // never changed
var referenceFields = map[string]bool{"field": true, "property": true, "trait": true, "attribute": true, "valueProperty": true, "groupBy": true, "breakdown": true, "dimension": true, "bucketBy": true}

// partialOps compare a part of a text. Repeated questions with them would spell out a masked value.
//
//nolint:gochecknoglobals // never changed
var partialOps = map[string]bool{
	"contains": true, "not_contains": true, "starts_with": true, "ends_with": true, "not_starts_with": true, "not_ends_with": true, "matches": true, "not_matches": true, "regex": true,
}

// freeFields are the fields without a prefix that hold texts from strangers and members.
//
//nolint:gochecknoglobals // never changed
var freeFields = map[string]bool{
	"distinctId": true, "anonymousId": true, "company": true, "tag": true, "first_source": true, "url": true, "path": true, "title": true, "referrer": true,
	"entry_path": true, "exit_path": true, "source": true, "medium": true, "utm_source": true, "utm_medium": true, "utm_campaign": true, "utm_term": true, "utm_content": true,
}

// PersonalQuestion checks the questions and definitions of a caller without people.pii.read.
type PersonalQuestion struct {
	Fields PersonalFields
	// Writes is true if the surface has Writes.
	Writes bool
}

// refusal returns the error for a question about masked data.
func (q *PersonalQuestion) refusal(where, why string) error {
	return &Error{
		Code: CodeForbidden, Reason: "personal_data", Required: &Required{Permission: PermPeoplePIIRead},
		Message: fmt.Sprintf("%s %s, which is masked to you; it needs people.pii.read.", where, why),
		Fields:  []FieldError{{Field: where, Code: "personal_data", Message: "The value " + why + "."}},
	}
}

const (
	namesField = "names a personal field"
	holdsValue = "holds a personal value"
	asksPart   = "looks for a part of a free text"
	sendsData  = "sends personal fields"
	comesBack  = "holds a masked value"
)

// Parameter checks the value of a parameter.
func (q *PersonalQuestion) Parameter(name, value string) error {
	if len(value) > 1 && (value[0] == '{' || value[0] == '[') {
		inner := *q
		inner.Writes = false
		if err := inner.Body([]byte(value)); err != nil {
			return err
		}
	}
	if HasShape(value) {
		return q.refusal(name, holdsValue)
	}
	reference, _, _ := strings.Cut(value, ":")
	key, label := strings.CutPrefix(name, "label.")
	if q.names(reference) || label && q.Fields.Has(key) {
		return q.refusal(name, namesField)
	}
	return nil
}

// names reports whether a text begins with a reference to a personal field, such as trait.email.
func (q *PersonalQuestion) names(text string) bool {
	key := FieldKey(text)
	if key == text {
		return false
	}
	end := strings.IndexAny(key, " :=<>!,()")
	if end >= 0 {
		key = key[:end]
	}
	return q.Fields.Has(key)
}

// Body checks a JSON body. A body that is not JSON passes, because the decoder of the route refuses it.
func (q *PersonalQuestion) Body(body []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil //nolint:nilerr // the decoder of the route refuses it
	}
	return q.check("body", "", value)
}

// check walks through a value. name is the member that holds it.
func (q *PersonalQuestion) check(path, name string, value any) error {
	switch value := value.(type) {
	case string:
		return q.checkText(path, name, value)
	case []any:
		for i := range value {
			if err := q.check(fmt.Sprintf("%s[%d]", path, i), name, value[i]); err != nil {
				return err
			}
		}
	case map[string]any:
		return q.checkObject(path, name, value)
	}
	return nil
}

func (q *PersonalQuestion) checkText(path, name, text string) error {
	switch {
	case name == "personFields" && text != "none":
		return q.refusal(path, sendsData)
	case q.names(text), referenceFields[name] && q.Fields.Has(text), q.placeholders(text):
		return q.refusal(path, namesField)
	case q.Writes, receiverFields[name]:
		return nil
	case HasShape(text):
		return q.refusal(path, holdsValue)
	case isMasked(text):
		return q.refusal(path, comesBack)
	case (name == "match" || name == "path") && strings.HasSuffix(text, "*") && !strings.HasSuffix(text, "/*"):
		return q.refusal(path, asksPart)
	}
	return nil
}

// placeholders reports whether a text of a message has a placeholder for a personal field.
func (q *PersonalQuestion) placeholders(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "{{")
		if !found {
			return false
		}
		name, after, _ := strings.Cut(rest, "}}")
		name, _, _ = strings.Cut(name, "|")
		if q.Fields.Has(FieldKey(strings.TrimSpace(name))) {
			return true
		}
		text = after
	}
}

// isMasked reports whether a text looks like a result of MaskText that the reader sent back.
func isMasked(text string) bool {
	at := strings.Index(text, "****")
	return at > 0 && text[at-1] != '/' && text[at-1] != ' '
}

func (q *PersonalQuestion) checkObject(path, holder string, object map[string]any) error {
	op, _ := object["op"].(string)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := object[name]
		text, isText := value.(string)
		if partialOps[op] && isText && referenceFields[name] && (freeFields[text] || FieldKey(text) != text) && !(strings.HasPrefix(text, "property.") && name == "field") {
			return q.refusal(path+"."+name, asksPart)
		}
		if holder == "labels" && q.Fields.Has(name) {
			return q.refusal(path+"."+name, namesField)
		}
		if !q.Writes && HasShape(name) {
			return q.refusal(path, holdsValue)
		}
		if err := q.check(path+"."+name, name, value); err != nil {
			return err
		}
	}
	return nil
}
