package analytics

import (
	"encoding/json"

	"svc"
)

// EventLine returns an event as the feed shows it, as JSON without a line break. It is masked for callers that may not
// see personal fields. The application adds names of fields to the list.
func EventLine(e *svc.Event, masked bool, fields svc.PersonalFields) ([]byte, error) {
	if masked {
		e.Mask()
	}
	line, err := json.Marshal(eventOf(e))
	if masked && err == nil {
		line = svc.MaskDocument(line, svc.PersonalMask{Fields: fields})
	}
	return line, err
}
