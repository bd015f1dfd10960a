package ingest

import (
	"slices"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/issue"
	"svc/domain/metric"
	"svc/http/sentry"
	"svc/protos"
)

// security accepts the body that a browser sends to the address of a policy's reports. That address may contain release
// and environment.
func (s *Sentry) security(sub *submission) error {
	if err := s.authenticate(sub, ""); err != nil {
		return err
	}
	s.Metrics.Items.WithLabelValues("security").Inc()
	return s.reports(sub, 0, sub.body)
}

// reports accepts the reports of browsers in a body or an item. An unreadable report is rejected alone. If the request
// contains nothing else, the request is refused.
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

// sessions accepts an item of type session or sessions and makes points of issue.SessionMetric of it. The SDK gets no
// error for an unreadable item, since it could not fix it.
func (s *Sentry) sessions(sub *submission, index int, payload []byte, parse func(payload []byte) ([]sentry.Sessions, error)) {
	if !slices.Contains(sub.collector.Modules, domain.ModuleErrors) {
		return
	}
	counted, err := parse(payload)
	if err != nil {
		sub.reject(index, "malformed", err.Error())
		return
	}
	sum := sumJSON(payload)
	for n, one := range counted {
		at := one.At
		if at.After(sub.now.Add(event.FutureTolerance)) || !sub.isKept(at.UnixMilli()) {
			at = sub.now
		}
		point := &protos.MetricPoint{
			Id: one.ID, TsMs: at.UnixMilli(), Name: issue.SessionMetric, Kind: string(metric.Counter), Values: []float64{float64(one.Count)},
		}
		if point.Id == "" {
			point.Id = sub.derivedID(pointPrefix+strconv.Itoa(n)+"_", sum, at.Format(time.RFC3339Nano), index, false)
		}
		labels := []metric.Label{{Key: "release", Value: one.Release}, {Key: "status", Value: string(one.Status)}}
		if code, message := sub.putPoint(point, labels); code != "" {
			sub.reject(index, code, message)
		}
	}
}
