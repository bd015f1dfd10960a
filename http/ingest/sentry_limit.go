package ingest

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
	"svc/domain/ingest"
	"svc/http/sentry"
)

// SentryMetrics counts the items on Sentry's paths.
type SentryMetrics struct {
	// Items counts the received items by category. Discarded counts the items that clients report as not sent, by
	// reason and category. Spooled counts the errors that the log did not accept at once.
	Items     *prometheus.CounterVec
	Discarded *prometheus.CounterVec
	Spooled   prometheus.Counter
}

// NewSentryMetrics registers the figures.
func NewSentryMetrics(registerer prometheus.Registerer) *SentryMetrics {
	m := &SentryMetrics{
		Items:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_sentry_items_total", Help: "Items of envelopes, by category."}, []string{"category"}),
		Discarded: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_sentry_client_discarded_total", Help: "What SDKs report that they did not send, by reason and category."}, []string{"reason", "category"}),
		Spooled:   prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_sentry_spooled_total", Help: "Errors that were kept on disk because the log did not take them."}),
	}
	registerer.MustRegister(m.Items, m.Discarded, m.Spooled)
	return m
}

// knownReasons are the reasons of Sentry's SDKs. Others, which any client may invent, are counted together.
func knownReasons() []string {
	return []string{
		"queue_overflow", "cache_overflow", "buffer_overflow", "ratelimit_backoff", "network_error", "sample_rate", "before_send",
		"event_processor", "send_error", "internal_sdk_error", "insufficient_data", "backpressure", "ignored", "invalid",
	}
}

// knownReason returns the reason under which a reason is counted.
func knownReason(reason string) string {
	for _, known := range knownReasons() {
		if reason == known {
			return known
		}
	}
	return "other"
}

// signalOfCategory returns the signal for a category of Sentry. It is empty for categories that are not accepted:
// traces, profiles, replays, logs, attachments.
func signalOfCategory(category string) ingest.Signal {
	switch category {
	case "error", "default", "security":
		return ingest.SignalErrors
	case "session":
		return ingest.SignalMetrics
	}
	return ""
}

// maxDiscarded bounds the number in one entry of a report.
const maxDiscarded = 1_000_000

func (m *SentryMetrics) discarded(d sentry.Discarded) {
	reason, category := knownReason(d.Reason), "other"
	for _, known := range []string{"default", "error", "security", "transaction", "session", "attachment", "replay", "log_item", "monitor", "feedback", "span", "profile"} {
		if d.Category == known {
			category = known
		}
	}
	m.Discarded.WithLabelValues(reason, category).Add(float64(d.Quantity))
}

// ErrorLimiter bounds the errors of each key on this node, so that one broken release does not crowd out other
// applications.
type ErrorLimiter struct {
	// PerMinute is the number of errors of a key and minute; zero switches the limit off.
	PerMinute int

	mu     sync.Mutex
	meters map[string]*domain.Meter
}

// rateErrors is the rate class of errors.
const rateErrors domain.RateClass = "errors"

// maxLimited bounds the remembered keys; it is far above the number of keys in use.
const maxLimited = 100_000

// take counts one error of a key and returns the time that the key must wait, zero if it need not.
func (l *ErrorLimiter) take(key string, now time.Time) time.Duration {
	if l == nil || l.PerMinute <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.meters == nil || len(l.meters) > maxLimited {
		l.meters = map[string]*domain.Meter{}
	}
	meter := l.meters[key]
	if meter == nil {
		meter = &domain.Meter{}
		l.meters[key] = meter
	}
	_, wait := meter.Take(now, rateErrors, l.PerMinute)
	return wait
}
