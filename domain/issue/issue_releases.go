package issue

import (
	"time"

	"svc/domain"
)

// ErrorRelease is a release in which errors or sessions occurred.
type ErrorRelease struct {
	Release string
	// Events and Issues occurred in the release; NewIssues are the issues that began with it.
	Events, Issues, NewIssues uint64
	// RegressedIssues last regressed in the release, ResolvedIssues are resolved by it.
	RegressedIssues, ResolvedIssues uint64
	Sessions                        SessionCounts
	FirstSeenAt, LastSeenAt         time.Time
}

// SessionCounts are the sessions of a release, as programs report them.
type SessionCounts struct{ Started, Crashed, Abnormal, Errored uint64 }

// CrashFree returns the share of sessions that did not crash, nil if no session is known.
func (c *SessionCounts) CrashFree() *float64 {
	if c.Started == 0 {
		return nil
	}
	share := 1 - float64(min(c.Crashed, c.Started))/float64(c.Started)
	return &share
}

// SessionMetric is the metric that counts sessions of programs. Its labels are release and status.
const SessionMetric = "svc.sessions"

// SessionStatus is a value of the label status of SessionMetric.
type SessionStatus string

// The statuses. Every session counts as started, and additionally as one of the others if it ended that way.
const (
	SessionStarted  SessionStatus = "started"
	SessionCrashed  SessionStatus = "crashed"
	SessionAbnormal SessionStatus = "abnormal"
	SessionErrored  SessionStatus = "errored"
)

// ErrorReleasesQuery selects a page of the releases of an environment.
type ErrorReleasesQuery struct {
	Environment domain.Environment
	// Search selects the releases with a name that contains it, ignoring case.
	Search string
	After  *ErrorReleaseKey
	Limit  int
}

// ErrorReleaseKey is a release's place in a list.
type ErrorReleaseKey struct {
	LastSeenMs int64
	Release    string
}

// Artifact is an uploaded source map under one of its keys.
type Artifact struct {
	Key string
	// DebugID is set for a map with a debug id; Release, Dist and File are set for a map of a release.
	DebugID, Release, Dist, File string
	Bytes                        uint64
	UploadedAt                   time.Time
}

// ArtifactQuery selects a page of an application's source maps, the newest first.
type ArtifactQuery struct {
	// App is the application's id.
	App string
	// Release selects the maps of one release; empty selects all.
	Release string
	After   *ArtifactKey
	Limit   int
}

// ArtifactKey is a map's place in a list.
type ArtifactKey struct {
	UploadedMs int64
	Key        string
}

// UnmappedFrames are frames of recent errors for which no source map gave the original place.
type UnmappedFrames struct {
	Reason, File, Release string
	Frames                uint64
	LastSeenAt            time.Time
}

// Limits of the list of unmapped frames: it considers the latest UnmappedSample occurrences and shows the most frequent
// UnmappedRows frames.
const (
	UnmappedSample = 2_000
	UnmappedRows   = 20
)
