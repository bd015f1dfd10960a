package issues

import (
	"context"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/release"
)

// Releases is the client of the releases actors.
type Releases struct{ Actors grain.Caller }

// PutRelease makes a release of an organization or changes it, and reports whether it made it. It fails with
// invalid_request if a new release names no application.
func (r *Releases) PutRelease(ctx context.Context, org, version string, patch release.Patch) (release.Release, bool, error) {
	answer, err := r.put(ctx, org, putRelease{Version: version, Patch: patch, Create: true})
	return answer.Release, answer.Created, err
}

// ChangeRelease changes a release. It fails with not_found if there is no such release, or if it does not belong to the
// named application.
func (r *Releases) ChangeRelease(ctx context.Context, org, app, version string, patch release.Patch) (release.Release, error) {
	answer, err := r.put(ctx, org, putRelease{Version: version, App: app, Patch: patch})
	return answer.Release, err
}

func (r *Releases) put(ctx context.Context, org string, message putRelease) (putAnswer, error) {
	problems := message.Patch.Validate()
	if problem := release.CheckVersion(message.Version); problem != nil {
		problems = append(problems, *problem)
	}
	if len(problems) > 0 {
		return putAnswer{}, domain.Invalid(problems...)
	}
	if message.Patch.Commits != nil {
		kept := release.BoundedCommits(*message.Patch.Commits) // the rest need not go to another node
		message.Patch.Commits = &kept
	}
	return releasesPut.Ask(ctx, r.Actors, org, message)
}

// Release returns a release. If an application is named, the release must belong to it.
func (r *Releases) Release(ctx context.Context, org, app, version string) (release.Release, error) {
	return releasesGet.Ask(ctx, r.Actors, org, findRelease{Version: version, App: app})
}

// Releases returns releases with the first commit of each, the newest first, beginning after a given one, and whether
// more follow.
func (r *Releases) Releases(ctx context.Context, org, app string, after *release.Release, limit int) ([]release.Release, bool, error) {
	list, err := releasesList.Ask(ctx, r.Actors, org, listReleases{App: app, After: after, Limit: limit})
	return list.Releases, list.More, err
}

// PreviousRelease returns the newest earlier release of the same applications that has commits, with the newest of
// them. It returns nil if there is no such release.
func (r *Releases) PreviousRelease(ctx context.Context, org, version string) (*release.Release, error) {
	answer, err := releasesPrevious.Ask(ctx, r.Actors, org, findRelease{Version: version})
	return answer.Release, err
}

// Announced returns when releases of an organization were announced; other releases are missing.
func (r *Releases) Announced(ctx context.Context, org string, versions []string) (map[string]time.Time, error) {
	return releasesAnnounced.Ask(ctx, r.Actors, org, announcedReleases{versions})
}

// AddDeploy records that a release was deployed to an environment.
func (r *Releases) AddDeploy(ctx context.Context, org, version string, deploy release.Deploy) (release.Deploy, error) {
	if problems := deploy.Validate(); len(problems) > 0 {
		return release.Deploy{}, domain.Invalid(problems...)
	}
	return releasesDeploy.Ask(ctx, r.Actors, org, addDeploy{Version: version, Deploy: deploy})
}
