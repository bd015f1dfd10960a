package alert

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// NoticeState is the outcome of a notice.
type NoticeState string

// The states.
const (
	NoticeWaiting   NoticeState = "waiting"
	NoticeDelivered NoticeState = "delivered"
	NoticeFailed    NoticeState = "failed"
	// NoticeDropped is a notice with a channel that was deleted before the delivery.
	NoticeDropped NoticeState = "dropped"
)

// Values lists the states.
func (NoticeState) Values() []NoticeState {
	return []NoticeState{NoticeWaiting, NoticeDelivered, NoticeFailed, NoticeDropped}
}

// NoticeRecord records the delivery of a notice to one channel.
type NoticeRecord struct {
	ID          string      `json:"id"`
	IncidentID  string      `json:"incidentId"`
	Event       NoticeEvent `json:"event"`
	ChannelID   string      `json:"channelId"`
	ChannelName string      `json:"channelName"`
	ChannelKind ChannelKind `json:"channelKind"`
	State       NoticeState `json:"state"`
	Attempts    int         `json:"attempts"`
	CreatedAt   time.Time   `json:"createdAt"`
	// AttemptedAt is when the latest attempt was made, NextAt when the next one is due; zero if none.
	AttemptedAt time.Time `json:"attemptedAt,omitzero"`
	NextAt      time.Time `json:"nextAt,omitzero"`
	// Answer is the outcome of the latest attempt.
	Answer string `json:"answer,omitempty"`
}

// Key names the record in the store; records of one incident have a common prefix.
func (r *NoticeRecord) Key() string { return r.IncidentID + "." + r.ID }

// MaxAnswerBytes limits the stored part of an answer.
const MaxAnswerBytes = 300

// RecordOf returns the record of a delivery to a channel after its latest attempt.
func RecordOf(d *Delivery, channel *Channel, state NoticeState, now time.Time, answer string) NoticeRecord {
	record := NoticeRecord{
		ID: d.ID, IncidentID: d.Notice.Incident.ID, Event: d.Notice.Event, ChannelID: d.ChannelID, ChannelName: channel.Name, ChannelKind: channel.Kind,
		State: state, Attempts: d.Attempts, CreatedAt: d.CreatedAt, Answer: domain.Truncate(answer, MaxAnswerBytes),
	}
	if state == NoticeWaiting {
		record.NextAt = d.Next
	}
	if d.Attempts > 0 {
		record.AttemptedAt = now
	}
	return record
}

// SortNotices orders records by the time of their notices.
func SortNotices(records []NoticeRecord) {
	slices.SortFunc(records, func(a, b NoticeRecord) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
}
