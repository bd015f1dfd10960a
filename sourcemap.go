package svc

import "strings"

// SourceMap is a source map on its way to the store.
type SourceMap struct {
	// DebugID is found in the code and in its map; URL, Release and Dist find the map of
	// code without one. URL is the minified file's, as FileURL writes it.
	DebugID, URL, Release, Dist string
	Content                     []byte
}

// Keys returns what the map is found by: its debug id, and its file within a release.
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

// ReleaseKeyPrefix begins the keys of the maps of a release.
func ReleaseKeyPrefix(release string) string { return "file:" + release + "\x00" }

// FileURL writes the address of a file without scheme, host, query and fragment, as
// build tools know it: https://example.com/js/app.js?v=1 is ~/js/app.js.
func FileURL(address string) string {
	address, _, _ = strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	if _, rest, absolute := strings.Cut(address, "://"); absolute {
		_, path, _ := strings.Cut(rest, "/")
		return "~/" + path
	}
	return address
}

// ArtifactOf returns what the key of a source map says.
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
