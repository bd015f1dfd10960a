package sentry

import "svc/domain"

// Discarded is the number of things of a category that the client did not send, and the reason.
type Discarded struct {
	Reason, Category string
	Quantity         int
}

// ParseReport reads an item of type client_report. It fails with *Malformed.
func ParseReport(payload []byte) ([]Discarded, error) {
	var report struct {
		Events []struct {
			Reason   string `json:"reason"`
			Category string `json:"category"`
			Quantity int    `json:"quantity"`
		} `json:"discarded_events"`
	}
	if err := domain.DecodeJSON(payload, &report); err != nil {
		return nil, malformed("invalid client report")
	}
	out := make([]Discarded, 0, len(report.Events))
	for _, entry := range report.Events {
		if entry.Quantity > 0 {
			out = append(out, Discarded(entry))
		}
	}
	return out, nil
}

// Category returns the category of rate limits to which an item belongs.
func Category(itemType string) string {
	switch itemType {
	case "event":
		return "error"
	case "raw_security":
		return "security"
	case "sessions":
		return "session"
	case "profile_chunk":
		return "profile"
	case "replay_event", "replay_recording", "replay_video":
		return "replay"
	case "check_in":
		return "monitor"
	case "log":
		return "log_item"
	case "statsd", "metric_buckets":
		return "metric_bucket"
	case "transaction", "session", "attachment", "profile", "feedback", "span", "trace_metric":
		return itemType
	}
	return "default"
}
