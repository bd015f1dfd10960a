package analytics

import (
	"encoding/json"

	"svc"
)

// EventLine returns an event as the feed shows it, as JSON without a line break. It is masked for callers that may not
// see personal fields.
func EventLine(e *svc.Event, masked bool) ([]byte, error) {
	if masked {
		e.Mask()
	}
	return json.Marshal(eventOf(e))
}
