package ingest

import (
	"strconv"
	"time"

	"svc/http/sentry"
)

// security takes the body that a browser sends to the address of a policy's reports. Release
// and environment may stand in that address.
func (s *Sentry) security(sub *submission) error {
	if err := s.authenticate(sub, ""); err != nil {
		return err
	}
	s.Metrics.Items.WithLabelValues("security").Inc()
	return s.reports(sub, 0, sub.body)
}

// reports takes the reports of browsers in a body or an item. One that cannot be read is
// rejected alone; where nothing else was in the request, it is refused.
func (s *Sentry) reports(sub *submission, index int, payload []byte) error {
	if len(payload) > sentry.MaxEventBytes {
		return tooLarge("The reports are over %d bytes.", sentry.MaxEventBytes)
	}
	found, left, err := sentry.ParseSecurity(payload)
	if err != nil {
		return malformed(err)
	}
	if left > 0 {
		sub.reject(index, "too_many", strconv.Itoa(left)+" reports are beyond the "+strconv.Itoa(sentry.MaxReports)+" that are read.")
	}
	query, sent := sub.request.URL.Query(), sub.now
	if at, err := time.Parse(time.RFC3339Nano, sub.envelope.SentAt); err == nil {
		sent = at
	}
	var refused error
	for n := range found {
		report := &found[n]
		place := index*sentry.MaxReports + n
		if report.Err != nil {
			sub.reject(place, "malformed", report.Err.Error())
			refused = malformed(report.Err)
			continue
		}
		event := report.Event
		event.Release, event.Environment = query.Get("sentry_release"), query.Get("sentry_environment")
		if report.Age > 0 {
			event.Timestamp = sent.Add(-report.Age)
		}
		s.take(sub, place, event, report.Payload)
	}
	if sub.accepted > 0 {
		return nil
	}
	return refused
}
