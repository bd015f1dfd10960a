package sentry

import (
	"bytes"
	"encoding/json"
	"time"

	"svc/domain"
	"svc/domain/issue"
)

// Sessions counts sessions of programs of one release with one status.
type Sessions struct {
	Release string
	Status  issue.SessionStatus
	Count   uint64
	// At is the time at which they started, zero if the client does not send it.
	At time.Time
	// ID is the same for every report of the same session and status, empty for sums of sessions.
	ID string
}

// Bounds of the data of sessions.
const (
	maxSessionGroups = 200
	maxSessionID     = 64
	// maxSessionSum bounds a number of sessions, so that sums stay whole numbers.
	maxSessionSum = 1 << 32
)

// sessionItem is an item of type session.
type sessionItem struct {
	SID       string          `json:"sid"`
	Init      bool            `json:"init"`
	Status    string          `json:"status"`
	Errors    float64         `json:"errors"`
	Started   json.RawMessage `json:"started"`
	Timestamp json.RawMessage `json:"timestamp"`
	Attrs     sessionAttrs    `json:"attrs"`
}

// sessionAttrs are the common attributes of sessions.
type sessionAttrs struct {
	Release string `json:"release"`
}

// sessionGroup is one element of an item of type sessions.
type sessionGroup struct {
	Started  json.RawMessage `json:"started"`
	Exited   uint64          `json:"exited"`
	Errored  uint64          `json:"errored"`
	Crashed  uint64          `json:"crashed"`
	Abnormal uint64          `json:"abnormal"`
}

// ParseSession reads an item of type session. A session that begins counts as started. A session that ended badly
// additionally counts by its status. A session without a release counts nothing. It fails with *Malformed.
func ParseSession(payload []byte) ([]Sessions, error) {
	var item sessionItem
	if err := domain.DecodeJSON(payload, &item); err != nil {
		return nil, malformed("invalid session")
	}
	if item.SID == "" || len(item.SID) > maxSessionID {
		return nil, malformed("invalid session: no usable sid")
	}
	at := sessionTime(item.Started)
	if at.IsZero() {
		at = sessionTime(item.Timestamp)
	}
	var out []Sessions
	add := func(status issue.SessionStatus) {
		if item.Attrs.Release != "" {
			out = append(out, Sessions{Release: item.Attrs.Release, Status: status, Count: 1, At: at, ID: "session:" + item.SID + ":" + string(status)})
		}
	}
	if item.Init {
		add(issue.SessionStarted)
	}
	switch item.Status {
	case "crashed":
		add(issue.SessionCrashed)
	case "abnormal":
		add(issue.SessionAbnormal)
	case "exited", "errored":
		if item.Errors > 0 || item.Status == "errored" {
			add(issue.SessionErrored)
		}
	}
	return out, nil
}

// ParseSessions reads an item of type sessions, the sums of many. It fails with *Malformed.
func ParseSessions(payload []byte) ([]Sessions, error) {
	var item struct {
		Aggregates []sessionGroup `json:"aggregates"`
		Attrs      sessionAttrs   `json:"attrs"`
	}
	if err := domain.DecodeJSON(payload, &item); err != nil {
		return nil, malformed("invalid sums of sessions")
	}
	if len(item.Aggregates) > maxSessionGroups {
		return nil, malformed("invalid sums of sessions: too many groups")
	}
	var out []Sessions
	for _, group := range item.Aggregates {
		if max(group.Exited, group.Errored, group.Crashed, group.Abnormal) > maxSessionSum {
			return nil, malformed("invalid sums of sessions: a number is too great")
		}
		for _, sum := range []struct {
			status issue.SessionStatus
			count  uint64
		}{
			{issue.SessionStarted, group.Exited + group.Errored + group.Crashed + group.Abnormal},
			{issue.SessionErrored, group.Errored},
			{issue.SessionCrashed, group.Crashed},
			{issue.SessionAbnormal, group.Abnormal},
		} {
			if sum.count > 0 && item.Attrs.Release != "" {
				out = append(out, Sessions{Release: item.Attrs.Release, Status: sum.status, Count: sum.count, At: sessionTime(group.Started)})
			}
		}
	}
	return out, nil
}

// sessionTime reads a time: a text of RFC 3339, or seconds since the epoch. It is zero for anything else.
func sessionTime(raw json.RawMessage) time.Time {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		at, _ := time.Parse(time.RFC3339Nano, text)
		return at
	}
	var seconds float64
	if json.Unmarshal(bytes.TrimSpace(raw), &seconds) == nil && seconds > 0 && seconds < 1e11 {
		return time.UnixMilli(int64(seconds * 1e3)).UTC()
	}
	return time.Time{}
}
