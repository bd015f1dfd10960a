package release

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"svc/domain"
	"svc/domain/event"
)

// Limits of the stored data about releases.
const (
	// MaxReleases and MaxReleasesBytes limit an organization's releases: new releases replace the oldest.
	MaxReleases      = 1000
	MaxReleasesBytes = 16 << 20
	// MaxReleaseCommits and MaxCommitsBytes limit the commits of one release. The first ones of a request are stored;
	// build tools send the newest first.
	MaxReleaseCommits = 1000
	MaxCommitsBytes   = 256 << 10
	// MaxReleaseDeploys limits the deploys of one release: the newest are stored.
	MaxReleaseDeploys = 100

	maxVersionBytes  = 200
	maxRefBytes      = 250
	maxLabelBytes    = 64
	maxReleaseApps   = 50
	releaseOverhead  = 256
	maxCommitID      = 64
	maxCommitTexts   = 200
	maxCommitMessage = event.MaxTextBytes
)

// Status says whether a release is in use.
type Status string

// The statuses of releases.
const (
	Open     Status = "open"
	Archived Status = "archived"
)

// Release is a version of an organization's applications, as build tools announce it.
type Release struct {
	Version string `json:"version"`
	// Apps are the slugs of the built applications.
	Apps       []string   `json:"apps"`
	Status     Status     `json:"status"`
	Ref        string     `json:"ref,omitempty"`
	URL        string     `json:"url,omitempty"`
	CreatedAt  time.Time  `json:"createdAt"`
	StartedAt  *time.Time `json:"startedAt,omitempty"`
	ReleasedAt *time.Time `json:"releasedAt,omitempty"`
	// Commits are ordered with the newest first.
	Commits []Commit `json:"commits,omitempty"`
	// Deploys are ordered with the oldest first.
	Deploys []Deploy `json:"deploys,omitempty"`
}

// Commit is one source change in a release.
type Commit struct {
	ID          string     `json:"id"`
	Repository  string     `json:"repository,omitempty"`
	Message     string     `json:"message,omitempty"`
	AuthorName  string     `json:"authorName,omitempty"`
	AuthorEmail string     `json:"authorEmail,omitempty"`
	At          *time.Time `json:"at,omitempty"`
}

// Deploy is the deployment of a release to an environment. Its ID counts the deploys of the release.
type Deploy struct {
	ID          int        `json:"id"`
	Environment string     `json:"environment"`
	Name        string     `json:"name,omitempty"`
	URL         string     `json:"url,omitempty"`
	StartedAt   *time.Time `json:"startedAt,omitempty"`
	FinishedAt  time.Time  `json:"finishedAt"`
}

// Count holds the counts of a release.
type Count struct {
	// issue.NewIssues is the number of issues that first occurred in it.
	NewIssues               int
	FirstSeenAt, LastSeenAt time.Time
}

// Patch is a build tool's change of a release; empty and nil fields leave the values unchanged.
type Patch struct {
	// Apps are added to the applications of the release.
	Apps       []string   `json:"apps"`
	Status     Status     `json:"status"`
	Ref        string     `json:"ref"`
	URL        string     `json:"url"`
	StartedAt  *time.Time `json:"startedAt"`
	ReleasedAt *time.Time `json:"releasedAt"`
	// Commits replace the commits of the release; an empty list removes them.
	Commits *[]Commit `json:"commits"`
}

// CheckVersion returns the problem of a release's name, or nil. The rules are the ones of sentry-cli.
func CheckVersion(version string) *domain.FieldError {
	isControl := strings.ContainsFunc(version, unicode.IsControl)
	if version == "" || version == "." || version == ".." || len(version) > maxVersionBytes || isControl || strings.ContainsAny(version, `/\`) || strings.TrimSpace(version) != version {
		return &domain.FieldError{
			Field: "version", Code: "invalid_value",
			Message: fmt.Sprintf("A release is named by 1 to %d bytes without slashes, control characters and surrounding spaces, and not by . or ...", maxVersionBytes),
		}
	}
	return nil
}

// Validate returns every problem of a patch, none if it is valid.
func (p *Patch) Validate() []domain.FieldError {
	var problems []domain.FieldError
	if len(p.Apps) > maxReleaseApps {
		problems = append(problems, domain.FieldError{Field: "projects", Code: "too_many", Message: fmt.Sprintf("At most %d projects can be named.", maxReleaseApps)})
	}
	if p.Status != "" && p.Status != Open && p.Status != Archived {
		problems = append(problems, domain.FieldError{Field: "status", Code: "invalid_value", Message: "The status is open or archived."})
	}
	problems = append(problems, checkText("ref", p.Ref, maxRefBytes)...)
	problems = append(problems, checkAddress(p.URL)...)
	if p.Commits == nil {
		return problems
	}
	for i := range *p.Commits {
		field := fmt.Sprintf("commits[%d].id", i)
		if (*p.Commits)[i].ID == "" {
			problems = append(problems, domain.FieldError{Field: field, Code: "required", Message: "A commit is named by its hash."})
		}
		problems = append(problems, checkText(field, (*p.Commits)[i].ID, maxCommitID)...)
	}
	return problems
}

// Validate returns every problem of a deploy, none if it is valid.
func (d *Deploy) Validate() []domain.FieldError {
	var problems []domain.FieldError
	if d.Environment == "" {
		problems = append(problems, domain.FieldError{Field: "environment", Code: "required", Message: "A deploy goes to an environment."})
	}
	problems = append(problems, checkText("environment", d.Environment, maxLabelBytes)...)
	problems = append(problems, checkText("name", d.Name, maxLabelBytes)...)
	return append(problems, checkAddress(d.URL)...)
}

func checkText(field, text string, limit int) []domain.FieldError {
	if len(text) <= limit && !strings.ContainsFunc(text, unicode.IsControl) {
		return nil
	}
	return []domain.FieldError{{Field: field, Code: "invalid_value", Message: fmt.Sprintf("At most %d bytes without control characters are allowed.", limit)}}
}

// checkAddress accepts addresses that a page may link to.
func checkAddress(address string) []domain.FieldError {
	if address == "" {
		return nil
	}
	parsed, err := url.Parse(address)
	if err == nil && len(address) <= event.MaxTextBytes && (parsed.Scheme == "http" || parsed.Scheme == "https") {
		return nil
	}
	return []domain.FieldError{{Field: "url", Code: "invalid_value", Message: fmt.Sprintf("An address is at most %d bytes of http or https.", event.MaxTextBytes)}}
}

// NewRelease returns a release that is announced now.
func NewRelease(version string, patch Patch, now time.Time) Release {
	r := Release{Version: version, Status: Open, CreatedAt: now}
	return r.With(patch)
}

// With returns the release with a patch applied; the receiver is unchanged.
func (r Release) With(patch Patch) Release {
	r.Apps = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Apps, patch.Apps))))
	r.Status = cmp.Or(patch.Status, r.Status)
	r.Ref, r.URL = cmp.Or(patch.Ref, r.Ref), cmp.Or(patch.URL, r.URL)
	r.StartedAt, r.ReleasedAt = cmp.Or(patch.StartedAt, r.StartedAt), cmp.Or(patch.ReleasedAt, r.ReleasedAt)
	if patch.Commits != nil {
		if r.Commits = BoundedCommits(*patch.Commits); len(r.Commits) == 0 {
			r.Commits = nil
		}
	}
	return r
}

// WithDeploy returns the release with one more deploy, unless it already has the same one, and that deploy.
func (r Release) WithDeploy(d Deploy) (Release, Deploy) {
	for _, known := range r.Deploys {
		d.ID = known.ID
		if known.same(d) {
			return r, known
		}
	}
	d.ID++
	r.Deploys = append(slices.Clone(r.Deploys), d)
	r.Deploys = r.Deploys[max(0, len(r.Deploys)-MaxReleaseDeploys):]
	return r, d
}

// same reports whether two deploys are reports of the same one.
func (d Deploy) same(other Deploy) bool {
	begun := d.StartedAt == other.StartedAt || d.StartedAt != nil && other.StartedAt != nil && d.StartedAt.Equal(*other.StartedAt)
	return begun && d.Environment == other.Environment && d.Name == other.Name && d.URL == other.URL && d.FinishedAt.Equal(other.FinishedAt)
}

// BoundedCommits returns the first commits within the limits, with shortened texts.
func BoundedCommits(commits []Commit) []Commit {
	kept := []Commit{}
	size := 0
	for _, c := range commits[:min(len(commits), MaxReleaseCommits)] {
		c.Message = domain.Truncate(strings.TrimSpace(c.Message), maxCommitMessage)
		c.Repository, c.AuthorName, c.AuthorEmail = domain.Truncate(c.Repository, maxCommitTexts), domain.Truncate(c.AuthorName, maxCommitTexts), domain.Truncate(c.AuthorEmail, maxCommitTexts)
		if size += c.bytes(); size > MaxCommitsBytes {
			break
		}
		kept = append(kept, c)
	}
	return kept
}

// bytes is the approximate size of a commit.
func (c *Commit) bytes() int {
	return len(c.ID) + len(c.Repository) + len(c.Message) + len(c.AuthorName) + len(c.AuthorEmail) + releaseOverhead/2
}

// Bytes is the approximate size of a release.
func (r *Release) Bytes() int {
	size := releaseOverhead + len(r.Version) + len(r.Ref) + len(r.URL)
	for _, slug := range r.Apps {
		size += len(slug)
	}
	for i := range r.Commits {
		size += r.Commits[i].bytes()
	}
	for i := range r.Deploys {
		size += releaseOverhead + len(r.Deploys[i].Environment) + len(r.Deploys[i].Name) + len(r.Deploys[i].URL)
	}
	return size
}

// CompareCreated orders releases by the time of their announcement, the newest first.
func (r *Release) CompareCreated(other *Release) int {
	return cmp.Or(other.CreatedAt.Compare(r.CreatedAt), cmp.Compare(other.Version, r.Version))
}
