package analytics

import (
	"encoding/json"

	"svc/domain"
	"svc/domain/event"
)

// EventLine returns an event as the feed shows it, as JSON without a line break. It is masked for callers that may not
// see personal fields. The application adds names of fields to the list.
func EventLine(e *event.Event, masked bool, fields domain.PersonalFields) ([]byte, error) {
	if masked {
		e.Mask()
	}
	line, err := json.Marshal(eventOf(e))
	if masked && err == nil {
		line = domain.MaskDocument(line, domain.PersonalMask{Fields: fields})
	}
	return line, err
}
