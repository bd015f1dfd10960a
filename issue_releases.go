package svc

import "time"

// ErrorRelease is a release in which errors or sessions occurred.
type ErrorRelease struct {
	Release string
	// Events and Issues are what occurred in it, NewIssues the issues that began with it.
	Events, Issues, NewIssues uint64
	// RegressedIssues came back in it last, ResolvedIssues are resolved by it.
	RegressedIssues, ResolvedIssues uint64
	Sessions                        SessionCounts
	FirstSeenAt, LastSeenAt         time.Time
}

// SessionCounts are the sessions of a release: what their programs reported.
type SessionCounts struct{ Started, Crashed, Abnormal, Errored uint64 }

// CrashFree returns the share of sessions that did not crash, nil where none is known.
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

// The statuses. Every session counts as started, and as one of the others where it ended so.
const (
	SessionStarted  SessionStatus = "started"
	SessionCrashed  SessionStatus = "crashed"
	SessionAbnormal SessionStatus = "abnormal"
	SessionErrored  SessionStatus = "errored"
)

// ErrorReleasesQuery selects a page of the releases of an environment.
type ErrorReleasesQuery struct {
	Environment Environment
	// Search keeps the releases whose name holds it, in any case.
	Search string
	After  *ErrorReleaseKey
	Limit  int
}

// ErrorReleaseKey is a release's place in a list.
type ErrorReleaseKey struct {
	LastSeenMs int64
	Release    string
}

// Artifact is a source map that was uploaded, under one of the keys by which it is found.
type Artifact struct {
	Key string
	// DebugID is set for a map that is found by it; Release, Dist and File for one of a release.
	DebugID, Release, Dist, File string
	Bytes                        uint64
	UploadedAt                   time.Time
}

// ArtifactQuery selects a page of an application's source maps, the newest first.
type ArtifactQuery struct {
	// App is the application's id.
	App string
	// Release keeps the maps of one release; empty keeps all.
	Release string
	After   *ArtifactKey
	Limit   int
}

// ArtifactKey is a map's place in a list.
type ArtifactKey struct {
	UploadedMs int64
	Key        string
}

// UnmappedFrames are frames of recent errors that no source map gave the original place of.
type UnmappedFrames struct {
	Reason, File, Release string
	Frames                uint64
	LastSeenAt            time.Time
}

// Bounds of what is said about unmapped frames: those of the latest UnmappedSample occurrences, the
// most frequent UnmappedRows of them.
const (
	UnmappedSample = 2_000
	UnmappedRows   = 20
)
