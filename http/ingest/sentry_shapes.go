package ingest

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/release"
	"svc/http/route"
)

// releaseSpec is a release as a build tool announces it.
type releaseSpec struct {
	Version      string         `json:"version" doc:"The release; for new ones."`
	Projects     []string       `json:"projects" doc:"Slugs of applications; they are added to those of the release."`
	Status       release.Status `json:"status" enum:"open,archived"`
	Ref          string         `json:"ref"`
	URL          string         `json:"url"`
	DateStarted  *time.Time     `json:"dateStarted"`
	DateReleased *time.Time     `json:"dateReleased" doc:"When it was released; this finalizes it."`
	Commits      *[]commitSpec  `json:"commits" doc:"The commits of the release, the newest first; they replace those that are kept."`
	Refs         []refSpec      `json:"refs" doc:"One commit per repository, in place of commits."`
}

// commitSpec is a commit as sentry-cli reads it from a repository on disk.
type commitSpec struct {
	ID          string     `json:"id"`
	Repository  string     `json:"repository"`
	Message     string     `json:"message"`
	AuthorName  string     `json:"author_name"`
	AuthorEmail string     `json:"author_email"`
	Timestamp   *time.Time `json:"timestamp"`
}

// refSpec is the newest commit of a repository.
type refSpec struct {
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
}

// deploySpec is the deployment of a release to an environment.
type deploySpec struct {
	Environment  string     `json:"environment"`
	Name         string     `json:"name"`
	URL          string     `json:"url"`
	DateStarted  *time.Time `json:"dateStarted"`
	DateFinished *time.Time `json:"dateFinished" doc:"The time of arrival where it is not given."`
}

// releaseAnswer is a release as sentry-cli reads it.
type releaseAnswer struct {
	Version      string           `json:"version"`
	ShortVersion string           `json:"shortVersion"`
	Status       release.Status   `json:"status" open:"true"`
	Ref          *string          `json:"ref"`
	URL          *string          `json:"url"`
	DateCreated  route.Time       `json:"dateCreated"`
	DateStarted  *route.Time      `json:"dateStarted"`
	DateReleased *route.Time      `json:"dateReleased"`
	Projects     []releaseProject `json:"projects"`
	LastCommit   *commitAnswer    `json:"lastCommit"`
	DeployCount  int              `json:"deployCount"`
	NewGroups    int              `json:"newGroups" doc:"How many issues occurred in this release first; counted where releases are read."`
	FirstEvent   *route.Time      `json:"firstEvent"`
	LastEvent    *route.Time      `json:"lastEvent"`
}

type releaseProject struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

type commitAnswer struct {
	ID          string             `json:"id"`
	Message     string             `json:"message"`
	DateCreated *route.Time        `json:"dateCreated"`
	Repository  *commitRepository  `json:"repository"`
	Author      commitAuthorAnswer `json:"author"`
}

type commitRepository struct {
	Name string `json:"name"`
}

type commitAuthorAnswer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

type deployAnswer struct {
	ID           string      `json:"id"`
	Environment  string      `json:"environment"`
	Name         *string     `json:"name"`
	URL          *string     `json:"url"`
	DateStarted  *route.Time `json:"dateStarted"`
	DateFinished route.Time  `json:"dateFinished"`
}

// The types of the paths, for an organization and for one of its applications.
type (
	releasePaging struct {
		Cursor  string `query:"cursor" doc:"From the header Link of the page before."`
		PerPage int    `query:"per_page" doc:"At most 100, which is also the default."`
	}
	orgReleases struct {
		uploadPath
		releasePaging
	}
	projectPath struct {
		uploadPath
		Project string `path:"project" doc:"The application's slug."`
	}
	projectReleases struct {
		projectPath
		releasePaging
	}
	versionPath struct {
		Version string `path:"version" doc:"The release."`
	}
	orgRelease struct {
		uploadPath
		versionPath
	}
	projectRelease struct {
		projectPath
		versionPath
	}
	newOrgRelease struct {
		uploadPath
		Body releaseSpec `body:"json"`
	}
	newProjectRelease struct {
		projectPath
		Body releaseSpec `body:"json"`
	}
	changeOrgRelease struct {
		orgRelease
		Body releaseSpec `body:"json"`
	}
	changeProjectRelease struct {
		projectRelease
		Body releaseSpec `body:"json"`
	}
	newDeploy struct {
		orgRelease
		Body deploySpec `body:"json"`
	}
	repository struct {
		Name string `json:"name"`
	}
)

// commits returns the commits of a body, nil if it has none.
func (s *releaseSpec) commits() *[]release.Commit {
	if s.Commits == nil && len(s.Refs) == 0 {
		return nil
	}
	all := []release.Commit{}
	if s.Commits != nil {
		for _, c := range *s.Commits {
			all = append(all, release.Commit{ID: c.ID, Repository: c.Repository, Message: c.Message, AuthorName: c.AuthorName, AuthorEmail: c.AuthorEmail, At: c.Timestamp})
		}
	} else {
		for _, ref := range s.Refs {
			all = append(all, release.Commit{ID: ref.Commit, Repository: ref.Repository})
		}
	}
	return &all
}

// releaseCursor writes the position of a release in a list.
func releaseCursor(release *release.Release) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(release.CreatedAt.UnixNano(), 10) + ":" + release.Version))
}

// parseReleaseCursor reads the position of a release in a list, nil for the beginning.
func parseReleaseCursor(cursor string) (*release.Release, error) {
	if cursor == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	nanos, version, found := strings.Cut(string(text), ":")
	created, badNumber := strconv.ParseInt(nanos, 10, 64)
	if err != nil || badNumber != nil || !found {
		return nil, domain.Invalid(domain.FieldError{Field: "cursor", Code: "invalid_value", Message: "The cursor is none of this list."})
	}
	return &release.Release{Version: version, CreatedAt: time.Unix(0, created).UTC()}, nil
}

func answerRelease(r *release.Release) releaseAnswer {
	answer := releaseAnswer{
		Version: r.Version, ShortVersion: r.Version, Status: r.Status, Ref: nonEmpty(r.Ref), URL: nonEmpty(r.URL), DateCreated: route.Time(r.CreatedAt),
		DateStarted: route.TimeOf(r.StartedAt), DateReleased: route.TimeOf(r.ReleasedAt), Projects: []releaseProject{}, DeployCount: len(r.Deploys),
	}
	for _, slug := range r.Apps {
		answer.Projects = append(answer.Projects, releaseProject{Slug: slug, Name: slug})
	}
	if len(r.Commits) > 0 {
		last := answerCommit(&r.Commits[0])
		answer.LastCommit = &last
	}
	return answer
}

func answerCommit(c *release.Commit) commitAnswer {
	answer := commitAnswer{ID: c.ID, Message: c.Message, DateCreated: route.TimeOf(c.At), Author: commitAuthorAnswer{Name: c.AuthorName, Email: c.AuthorEmail}}
	if c.Repository != "" {
		answer.Repository = &commitRepository{Name: c.Repository}
	}
	return answer
}

func answerDeploy(d *release.Deploy) deployAnswer {
	return deployAnswer{
		ID: strconv.Itoa(d.ID), Environment: d.Environment, Name: nonEmpty(d.Name), URL: nonEmpty(d.URL),
		DateStarted: route.TimeOf(d.StartedAt), DateFinished: route.Time(d.FinishedAt),
	}
}

// nonEmpty returns a text, nil for none.
func nonEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// chunkTerms describes to a build tool how to send chunks.
type chunkTerms struct {
	URL              string   `json:"url"`
	ChunkSize        int      `json:"chunkSize"`
	ChunksPerRequest int      `json:"chunksPerRequest"`
	MaxFileSize      int      `json:"maxFileSize"`
	MaxRequestSize   int      `json:"maxRequestSize"`
	Concurrency      int      `json:"concurrency"`
	HashAlgorithm    string   `json:"hashAlgorithm"`
	Compression      []string `json:"compression"`
	Accept           []string `json:"accept"`
}

// assembleSpec lists the chunks that make up a file.
type assembleSpec struct {
	Checksum string   `json:"checksum" doc:"SHA-1 of the whole bundle."`
	Chunks   []string `json:"chunks" doc:"SHA-1 of its pieces, in order."`
	Projects []string `json:"projects" doc:"Slugs of applications."`
	Version  string   `json:"version" doc:"The release."`
	Dist     string   `json:"dist"`
}

// assembled is the state of an upload.
type assembled struct {
	State         string   `json:"state" enum:"not_found,ok,error"`
	MissingChunks []string `json:"missingChunks"`
	Detail        *string  `json:"detail"`
}

type uploadPath struct {
	Org string `path:"org" doc:"The organization's slug."`
}

type assembleInput struct {
	uploadPath
	Body assembleSpec `body:"json"`
}
