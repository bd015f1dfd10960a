package ingest

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"slices"

	"svc/domain"
	"svc/http/sentry"
)

// minidumpField is the field of a form with the minidump.
const minidumpField = "upload_file_minidump"

// These are the bounds of the form around a minidump.
const (
	maxFormParts = 200
	maxFormField = 1 << 20
)

// minidump accepts the memory image of a native program that crashed. The image comes alone, or in a form as Breakpad,
// Crashpad and Unreal send it. The image is read and not stored.
func (s *Sentry) minidump(sub *submission) error {
	if err := s.authenticate(sub, ""); err != nil {
		return err
	}
	s.Metrics.Items.WithLabelValues("error").Inc()
	content, fields := sub.body, map[string]string(nil)
	if !sentry.IsMinidump(content) {
		var err error
		if content, fields, err = readForm(headerOf(sub.request, "Content-Type"), sub.body); err != nil {
			return err
		}
	}
	return s.crash(sub, 0, sentry.CrashEvent(fields), content)
}

// crash accepts the event of a minidump.
func (s *Sentry) crash(sub *submission, index int, payload, content []byte) error {
	dump, err := sentry.ParseMinidump(content)
	if err != nil {
		return malformed(err)
	}
	if len(payload) > sentry.MaxEventBytes {
		return tooLarge("The event is over %d bytes.", sentry.MaxEventBytes)
	}
	event, err := sentry.ParseEvent(payload)
	if err != nil {
		return malformed(err)
	}
	if sub.answered == "" {
		sub.answered = event.ID
	}
	event.Crash(dump)
	// If the event has no id, the id is derived from its bytes and from the first bytes of the image.
	s.take(sub, index, event, append(payload[:len(payload):len(payload)], content[:min(len(content), 4<<10)]...))
	return nil
}

// crashWith returns a function that accepts the event of a minidump.
func (s *Sentry) crashWith(content []byte) func(sub *submission, index int, payload []byte) error {
	return func(sub *submission, index int, payload []byte) error { return s.crash(sub, index, payload, content) }
}

// withMinidump returns the items of an envelope and its minidump. The minidump is nil if the envelope has no minidump.
// The minidump belongs to the envelope's event. If the envelope has no event, one is added.
func withMinidump(items []sentry.Item, id string) ([]sentry.Item, []byte) {
	at := slices.IndexFunc(items, func(item sentry.Item) bool { return item.Attachment == "event.minidump" })
	if at < 0 {
		return items, nil
	}
	if !slices.ContainsFunc(items, func(item sentry.Item) bool { return item.Type == "event" }) {
		items = append(items, sentry.Item{Type: "event", Payload: sentry.EventOfID(id), Count: 1})
	}
	return items, items[at].Payload
}

// readForm returns the minidump of a form and its other fields.
func readForm(contentType string, body []byte) (content []byte, fields map[string]string, err error) {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || parameters["boundary"] == "" {
		return nil, nil, domain.Invalid(domain.FieldError{Code: "malformed", Message: "The body is no minidump and no form: multipart/form-data with a boundary is needed."})
	}
	fields = map[string]string{}
	form := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	for range maxFormParts {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, domain.Invalid(domain.FieldError{Code: "malformed", Message: "The form cannot be read: " + err.Error()})
		}
		limit := int64(maxFormField)
		if part.FormName() == minidumpField {
			limit = maxEnvelopeBytes
		}
		value, err := io.ReadAll(io.LimitReader(part, limit))
		switch {
		case err != nil:
			return nil, nil, domain.Invalid(domain.FieldError{Code: "malformed", Message: "The form cannot be read: " + err.Error()})
		case part.FormName() == minidumpField || content == nil && sentry.IsMinidump(value):
			content = value
		case part.FileName() == "":
			fields[part.FormName()] = string(value)
		}
	}
	if content == nil {
		return nil, nil, domain.Invalid(domain.FieldError{Field: minidumpField, Code: "missing_value", Message: "The form has no " + minidumpField + "."})
	}
	return content, fields, nil
}
