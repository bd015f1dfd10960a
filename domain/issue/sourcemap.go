package issue

import "strings"

// SourceMap is a source map on its way to the store.
type SourceMap struct {
	// DebugID is in the code and in its map. URL, Release and Dist identify the map of code without one. URL is the
	// minified file's, as FileURL writes it.
	DebugID, URL, Release, Dist string
	Content                     []byte
}

// Keys returns the keys of the map: its debug id, and its file within a release.
func (m *SourceMap) Keys() []string {
	var keys []string
	if m.DebugID != "" {
		keys = append(keys, DebugIDKey(m.DebugID))
	}
	if m.URL != "" && m.Release != "" {
		keys = append(keys, ReleaseFileKey(m.Release, m.Dist, m.URL))
	}
	return keys
}

// DebugIDKey is the key of the map with a debug id.
func DebugIDKey(id string) string { return "debug:" + strings.ToLower(id) }

// ReleaseFileKey is the key of the map of a file in a release and distribution.
func ReleaseFileKey(release, dist, url string) string {
	return ReleaseKeyPrefix(release) + dist + "\x00" + url
}

// ReleaseKeyPrefix is the prefix of the keys of a release's maps.
func ReleaseKeyPrefix(release string) string { return "file:" + release + "\x00" }

// FileURL returns the address of a file without scheme, host, query and fragment, as build tools write it:
// https://example.com/js/app.js?v=1 is ~/js/app.js.
func FileURL(address string) string {
	address, _, _ = strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	if _, rest, absolute := strings.Cut(address, "://"); absolute {
		_, path, _ := strings.Cut(rest, "/")
		return "~/" + path
	}
	return address
}

// ArtifactOf parses the key of a source map.
func ArtifactOf(key string) Artifact {
	a := Artifact{Key: key}
	kind, rest, _ := strings.Cut(key, ":")
	if kind == "debug" {
		a.DebugID = rest
		return a
	}
	a.Release, rest, _ = strings.Cut(rest, "\x00")
	a.Dist, a.File, _ = strings.Cut(rest, "\x00")
	return a
}
