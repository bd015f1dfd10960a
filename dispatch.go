package svc

import (
	"crypto/sha256"
	"encoding/base64"
	"time"
)

// DispatchStatus is the state of the delivery of a conversion (contract 73).
type DispatchStatus string

// The statuses. A parked delivery has used its retries up, or found no place in the queue; it is kept for
// ParkedFor and can be replayed.
const (
	DispatchAccepted DispatchStatus = "accepted"
	DispatchRetrying DispatchStatus = "retrying"
	DispatchFailed   DispatchStatus = "failed"
	DispatchParked   DispatchStatus = "parked"
)

// Values returns the statuses, for descriptions.
func (DispatchStatus) Values() []DispatchStatus {
	return []DispatchStatus{DispatchAccepted, DispatchRetrying, DispatchFailed, DispatchParked}
}

const (
	// DispatchTime bounds one attempt.
	DispatchTime = 10 * time.Second
	// ParkedFor is how long a parked delivery can be replayed.
	ParkedFor = 7 * 24 * time.Hour
	// maxRetryAfter bounds how long a receiver may put a retry off.
	maxRetryAfter = 15 * time.Minute
)

// Dispatch is a record of the delivery log: a conversion's delivery as of its latest attempt.
type Dispatch struct {
	ID            string
	App           AppRef
	DestinationID string
	// CreatedAt is when the conversion arrived, At when the latest attempt ended.
	CreatedAt, At time.Time
	Conversion    *Conversion
	EventID       string
	EventName     string
	SourceEvent   string
	Status        DispatchStatus
	Attempts      int
	// NextAt is when a delivery that is retried is sent again.
	NextAt     time.Time
	StatusCode int
	Latency    time.Duration
	Error      string
	// Request and Response are redacted.
	Request, Response string
	Test              bool
}

// DispatchID names the delivery of an event to a destination; it is the same for every attempt and replay.
func DispatchID(destination, eventID string) string {
	sum := sha256.Sum256([]byte(destination + "\x00" + eventID))
	return "dlv_" + base64.RawURLEncoding.EncodeToString(sum[:15])
}

// DispatchOutcome is the end of one attempt.
type DispatchOutcome struct {
	OK bool
	// Retry reports whether another attempt may succeed; RetryAfter is what the receiver asked for.
	Retry      bool
	RetryAfter time.Duration
	StatusCode int
	Error      string
	Latency    time.Duration
	// Request and Response are what was sent and answered, without secrets and persons.
	Request, Response string
}

// NextDispatch returns the status of a delivery after an attempt, and when it is sent again where it is
// retried. attempts counts those that were made, this one included.
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
	App           AppRef
	DestinationID string
	// Status selects deliveries of one status, all where it is empty.
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

// DestinationState is how a destination fares.
type DestinationState struct {
	LastDispatchAt time.Time `json:"lastDispatchAt,omitzero"`
	LastError      string    `json:"lastError,omitempty"`
	// Waiting counts the deliveries in the queue.
	Waiting int `json:"waiting"`
}

// DispatchRequest is one attempt for some conversions.
type DispatchRequest struct {
	Destination *Destination
	Credential  DestinationCredential
	Items       []DispatchItem
}

// DispatchItem is a conversion that is sent.
type DispatchItem struct {
	// ID is that of the delivery, Attempt the number of the attempt, from 1.
	ID         string
	Attempt    int
	Conversion *Conversion
	// Contact is nil where nothing of the person is sent or known.
	Contact *Contact
}

// TestEvent is the name of a conversion that tests a destination.
const TestEvent = "test"

// TestConversion returns a made-up conversion.
func TestConversion(id, environment string, now time.Time) Conversion {
	value := 1.0
	return Conversion{
		EventID: id, Name: TestEvent, SourceEvent: TestEvent, At: now.UTC(), ReceivedAt: now.UTC(), Environment: environment,
		DistinctID: "test", Value: &value, Currency: "EUR", RetentionDays: 30, Properties: []byte(`{"test":true}`),
		Context: ConversionContext{URL: "https://example.com/test", Path: "/test"}, UserAgent: "svc-destinations/1",
	}
}
