package issues

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/release"
)

// The releases actor.
//
//	identity   the organization's slug
//	rank       2
//	owns       the releases that build tools announce, with their commits and deploys
//	persists   entities release
//	woken by   calls only
//	limits     retains the 1,000 newest releases, and 16 MiB of them
//	stops      after five minutes without a message
//
// It is separate from the organization's actor, which every request asks, so that neither loading nor storing a long
// list of commits delays anything else.
const kindReleases = "releases"

type releases struct {
	releases map[string]release.Release
	// bytes holds the approximate size of each release.
	bytes map[string]int
}

type (
	putRelease struct {
		Version string        `json:"version"`
		Patch   release.Patch `json:"patch"`
		// App limits a change to releases of an application; empty for all.
		App string `json:"app"`
		// Create makes the release if it does not exist.
		Create bool `json:"create"`
	}
	putAnswer struct {
		Release release.Release `json:"release"`
		Created bool            `json:"created"`
	}
	findRelease struct {
		Version string `json:"version"`
		App     string `json:"app"`
	}
	listReleases struct {
		App string `json:"app"`
		// After is the last release of the previous page; nil begins with the newest.
		After *release.Release `json:"after"`
		Limit int              `json:"limit"`
	}
	releaseList struct {
		Releases []release.Release `json:"releases"`
		More     bool              `json:"more"`
	}
	addDeploy struct {
		Version string         `json:"version"`
		Deploy  release.Deploy `json:"deploy"`
	}
	announcedReleases struct {
		Versions []string `json:"versions"`
	}
	previousRelease struct {
		// Release is nil if no earlier one has commits.
		Release *release.Release `json:"release"`
	}
)

var releasesKind = grain.NewKind[*releases](kindReleases, 2, 5*time.Minute)

// The methods of the releases actor.
var (
	releasesPut      = grain.On(releasesKind, "put", (*releases).onPut)
	releasesGet      = grain.On(releasesKind, "get", (*releases).onGet, grain.Repeatable)
	releasesList     = grain.On(releasesKind, "list", (*releases).onList)
	releasesPrevious = grain.On(releasesKind, "previous", (*releases).onPrevious)
	// releasesAnnounced returns when releases were announced; other releases are missing.
	releasesAnnounced = grain.On(releasesKind, "announced", (*releases).onAnnounced, grain.Repeatable)
	releasesDeploy    = grain.On(releasesKind, "deploy", (*releases).onDeploy)
)

func (r *releases) Restore(entities []domain.Entity) error {
	*r = releases{releases: map[string]release.Release{}, bytes: map[string]int{}}
	for _, entity := range entities {
		release, err := grain.Decode[release.Release](entity)
		if err != nil {
			return err
		}
		r.releases[entity.ID], r.bytes[entity.ID] = release, release.Bytes()
	}
	return nil
}

// find returns a release of an application, or of any if the application is empty.
func (r *releases) find(version, app string) (release.Release, error) {
	rel, found := r.releases[version]
	if !found || app != "" && !slices.Contains(rel.Apps, app) {
		return release.Release{}, domain.NotFound("release")
	}
	return rel, nil
}

// onPut changes a release, or makes it. A repeated message changes nothing.
func (r *releases) onPut(now time.Time, m putRelease) (grain.Outcome[putAnswer], error) {
	before, found := r.releases[m.Version]
	switch {
	case !found && !m.Create, !m.Create && m.App != "" && !slices.Contains(before.Apps, m.App):
		return grain.Outcome[putAnswer]{}, domain.NotFound("release")
	case !found && len(m.Patch.Apps) == 0:
		return grain.Outcome[putAnswer]{}, domain.Invalid(domain.FieldError{Field: "projects", Code: "required", Message: "A new release names the slug of at least one application."})
	case !found:
		release := release.NewRelease(m.Version, m.Patch, now)
		return grain.Answer(putAnswer{Release: release, Created: true}, r.keep(release)...), nil
	}
	release := before.With(m.Patch)
	if reflect.DeepEqual(release, before) {
		return grain.Answer(putAnswer{Release: release}), nil
	}
	return grain.Answer(putAnswer{Release: release}, r.keep(release)...), nil
}

// keep stores a release and deletes the oldest others beyond the limits.
func (r *releases) keep(rel release.Release) []grain.Write {
	r.releases[rel.Version], r.bytes[rel.Version] = rel, rel.Bytes()
	writes := []grain.Write{grain.Put("release", rel.Version, rel)}
	size := 0
	for _, bytes := range r.bytes {
		size += bytes
	}
	if len(r.releases) <= release.MaxReleases && size <= release.MaxReleasesBytes {
		return writes
	}
	for _, old := range slices.Backward(r.newest("")) {
		if len(r.releases) <= release.MaxReleases && size <= release.MaxReleasesBytes {
			break
		}
		if old.Version != rel.Version {
			size -= r.bytes[old.Version]
			delete(r.releases, old.Version)
			delete(r.bytes, old.Version)
			writes = append(writes, grain.Delete("release", old.Version))
		}
	}
	return writes
}

// newest returns the releases of an application, or of all, the newest first.
func (r *releases) newest(app string) []release.Release {
	list := slices.Collect(maps.Values(r.releases))
	list = slices.DeleteFunc(list, func(one release.Release) bool { return app != "" && !slices.Contains(one.Apps, app) })
	slices.SortFunc(list, func(x, y release.Release) int { return x.CompareCreated(&y) })
	return list
}

func (r *releases) onGet(_ time.Time, m findRelease) (grain.Outcome[release.Release], error) {
	rel, err := r.find(m.Version, m.App)
	if err != nil {
		return grain.Outcome[release.Release]{}, err
	}
	return grain.Answer(rel), nil
}

func (r *releases) onList(_ time.Time, m listReleases) (grain.Outcome[releaseList], error) {
	list := r.newest(m.App)
	if m.After != nil {
		list = slices.DeleteFunc(list, func(one release.Release) bool { return one.CompareCreated(m.After) <= 0 })
	}
	more := len(list) > m.Limit
	list = list[:min(len(list), m.Limit)]
	for i := range list {
		list[i].Commits = list[i].Commits[:min(len(list[i].Commits), 1)] // a page stays short
	}
	return grain.Answer(releaseList{Releases: list, More: more}), nil
}

func (r *releases) onAnnounced(_ time.Time, m announcedReleases) (grain.Outcome[map[string]time.Time], error) {
	at := map[string]time.Time{}
	for _, version := range m.Versions {
		if release, known := r.releases[version]; known {
			at[version] = release.CreatedAt
		}
	}
	return grain.Outcome[map[string]time.Time]{Answer: at}, nil
}

// onPrevious finds the newest release with commits that was announced before another one for one of its applications.
// Build tools send the commits since that release.
func (r *releases) onPrevious(_ time.Time, m findRelease) (grain.Outcome[previousRelease], error) {
	release, err := r.find(m.Version, "")
	if err != nil {
		return grain.Outcome[previousRelease]{}, err
	}
	for _, other := range r.newest("") {
		shares := slices.ContainsFunc(other.Apps, func(app string) bool { return slices.Contains(release.Apps, app) })
		if other.CompareCreated(&release) > 0 && len(other.Commits) > 0 && shares {
			other.Commits = other.Commits[:1]
			return grain.Answer(previousRelease{&other}), nil
		}
	}
	return grain.Answer(previousRelease{}), nil
}

func (r *releases) onDeploy(_ time.Time, m addDeploy) (grain.Outcome[release.Deploy], error) {
	before, err := r.find(m.Version, "")
	if err != nil {
		return grain.Outcome[release.Deploy]{}, err
	}
	release, deploy := before.WithDeploy(m.Deploy)
	if slices.Equal(release.Deploys, before.Deploys) { // the deploy was reported before
		return grain.Answer(deploy), nil
	}
	return grain.Answer(deploy, r.keep(release)...), nil
}
