package destination

import (
	"crypto/sha256"
	"encoding/base64"
	"time"

	"svc/domain"
)

// DispatchStatus is the state of the delivery of a conversion (contract 73).
type DispatchStatus string

// The statuses. A parked delivery has used up its retries, or found no place in the queue. It is retained for ParkedFor
// and can be replayed.
const (
	DispatchAccepted DispatchStatus = "accepted"
	DispatchRetrying DispatchStatus = "retrying"
	DispatchFailed   DispatchStatus = "failed"
	DispatchParked   DispatchStatus = "parked"
)

// Values lists the statuses.
func (DispatchStatus) Values() []DispatchStatus {
	return []DispatchStatus{DispatchAccepted, DispatchRetrying, DispatchFailed, DispatchParked}
}

// OlderThanRestore is why a message to a chat is not sent after a restore: the installation before may have sent it.
const OlderThanRestore = "older_than_restore"

const (
	// DispatchTime limits one attempt.
	DispatchTime = 10 * time.Second
	// ParkedFor is how long a parked delivery can be replayed.
	ParkedFor = 7 * 24 * time.Hour
	// maxRetryAfter limits the delay of a retry that a receiver may request.
	maxRetryAfter = 15 * time.Minute
)

// Dispatch is an entry of the delivery log: the delivery of a conversion as of its latest attempt.
type Dispatch struct {
	ID            string
	App           domain.AppRef
	DestinationID string
	// CreatedAt is when the conversion arrived, At when the latest attempt ended.
	CreatedAt, At time.Time
	Conversion    *Conversion
	EventID       string
	EventName     string
	SourceEvent   string
	Status        DispatchStatus
	Attempts      int
	// NextAt is when a failed delivery is retried.
	NextAt     time.Time
	StatusCode int
	Latency    time.Duration
	Error      string
	// Request and Response are redacted.
	Request, Response string
	Test              bool
}

// DispatchID identifies the delivery of an event to a destination. It is the same for every attempt and replay.
func DispatchID(destination, eventID string) string {
	sum := sha256.Sum256([]byte(destination + "\x00" + eventID))
	return "dlv_" + base64.RawURLEncoding.EncodeToString(sum[:15])
}

// DispatchOutcome is the result of one attempt.
type DispatchOutcome struct {
	OK bool
	// Retry reports whether another attempt may succeed; RetryAfter is the delay that the receiver requested.
	Retry      bool
	RetryAfter time.Duration
	StatusCode int
	Error      string
	Latency    time.Duration
	// Request and Response are the request and the response, without secrets and personal data.
	Request, Response string
}

// NextDispatch returns the status of a delivery after an attempt, and the time of the retry, if any. attempts counts
// all attempts including this one.
func NextDispatch(outcome *DispatchOutcome, attempts int, now time.Time) (DispatchStatus, time.Time) {
	pauses := [...]time.Duration{30 * time.Second, 2 * time.Minute, 8 * time.Minute}
	switch {
	case outcome.OK:
		return DispatchAccepted, time.Time{}
	case !outcome.Retry:
		return DispatchFailed, time.Time{}
	case attempts > len(pauses):
		return DispatchParked, time.Time{}
	}
	return DispatchRetrying, now.Add(max(pauses[attempts-1], min(outcome.RetryAfter, maxRetryAfter)))
}

// DispatchQuery selects a page of the delivery log of a destination, the newest first.
type DispatchQuery struct {
	App           domain.AppRef
	DestinationID string
	// Status selects deliveries of one status; empty selects all.
	Status DispatchStatus
	// ID selects one delivery.
	ID     string
	Before *DispatchKey
	Limit  int
}

// DispatchKey is the place of a delivery in the log.
type DispatchKey struct {
	CreatedMs int64
	ID        string
}

// State is the health of a destination.
type State struct {
	LastDispatchAt time.Time `json:"lastDispatchAt,omitzero"`
	LastError      string    `json:"lastError,omitempty"`
	// Waiting counts the deliveries in the queue.
	Waiting int `json:"waiting"`
}

// DispatchRequest is one attempt to send some conversions.
type DispatchRequest struct {
	Destination *Destination
	Credential  Credential
	Items       []DispatchItem
}

// DispatchItem is a conversion to send.
type DispatchItem struct {
	// ID is the id of the delivery, Attempt the number of the attempt, from 1.
	ID         string
	Attempt    int
	Conversion *Conversion
	// Contact is nil if the person is not sent or not known.
	Contact *Contact
}

// TestEvent is the name of a conversion that tests a destination.
const TestEvent = "test"

// TestConversion returns an example conversion.
func TestConversion(id, environment string, now time.Time) Conversion {
	value := 1.0
	return Conversion{
		EventID: id, Name: TestEvent, SourceEvent: TestEvent, At: now.UTC(), ReceivedAt: now.UTC(), Environment: environment,
		DistinctID: "test", Value: &value, Currency: "EUR", RetentionDays: 30, Properties: []byte(`{"test":true}`),
		Context: ConversionContext{URL: "https://example.com/test", Path: "/test"}, UserAgent: "svc-destinations/1",
	}
}
