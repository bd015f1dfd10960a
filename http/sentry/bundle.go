package sentry

import (
	"archive/zip"
	"bytes"
	"io"
	"path"
	"strings"

	"svc/domain"
)

// Bounds of an artifact bundle.
const (
	MaxBundleBytes = 256 << 20
	maxBundleFiles = 20_000
	maxMapBytes    = 64 << 20
)

// SourceMap is one source map of a bundle with the names by which it is found.
type SourceMap struct {
	// Name is the map's name in the bundle.
	Name string
	// DebugID is the id that the build wrote into the code and its map; empty if the build wrote none.
	DebugID string
	// URL is the URL of the minified file, with ~ for scheme and host; empty if no file of the bundle uses the map.
	URL     string
	Content []byte
}

// Bundle is the archive that `sentry-cli sourcemaps upload` and the plugins of bundlers send.
type Bundle struct {
	Release, Dist string
	Maps          []SourceMap
}

// manifest is the table of contents of a bundle.
type manifest struct {
	Release string                  `json:"release"`
	Dist    string                  `json:"dist"`
	Files   map[string]manifestFile `json:"files"`
}

type manifestFile struct {
	Type    string            `json:"type"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// header returns a header of a file; header names come in either case.
func (f *manifestFile) header(name string) string {
	for key, value := range f.Headers {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// bundleMagic precedes the archive, followed by four bytes of version.
const bundleMagic = "SYSB"

// ParseBundle reads a bundle: a zip archive, after eight bytes of magic, with a manifest. It reads only source maps. It
// fails with *Malformed, also if a map or all of them inflate beyond the bounds.
func ParseBundle(data []byte) (*Bundle, error) {
	if len(data) > 8 && string(data[:4]) == bundleMagic {
		data = data[8:]
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, malformed("the bundle is no zip archive")
	}
	if len(archive.File) > maxBundleFiles {
		return nil, malformed("the bundle holds more than %d files", maxBundleFiles)
	}
	files := make(map[string]*zip.File, len(archive.File))
	for _, file := range archive.File {
		files[file.Name] = file
	}
	budget := int64(MaxBundleBytes)
	raw, err := inflate(files["manifest.json"], &budget)
	if err != nil {
		return nil, err
	}
	var contents manifest
	if err := domain.DecodeJSON(raw, &contents); err != nil {
		return nil, malformed("the bundle's manifest is no JSON")
	}
	bundle := &Bundle{Release: contents.Release, Dist: contents.Dist}
	users := contents.users()
	for name, entry := range contents.Files {
		if entry.Type != "source_map" {
			continue
		}
		content, err := inflate(files[name], &budget)
		if err != nil {
			return nil, err
		}
		bundle.Maps = append(bundle.Maps, SourceMap{
			Name: firstWord(entry.URL, name), DebugID: strings.ToLower(entry.header("debug-id")), URL: users[entry.URL], Content: content,
		})
	}
	return bundle, nil
}

// firstWord returns the first text that is not empty.
func firstWord(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// users maps the URL of a map to the minified file that names it.
func (m *manifest) users() map[string]string {
	out := map[string]string{}
	for _, entry := range m.Files {
		reference := entry.header("sourcemap")
		if entry.Type != "minified_source" || reference == "" {
			continue
		}
		if !strings.Contains(reference, "://") && !strings.HasPrefix(reference, "~/") {
			reference = entry.URL[:strings.LastIndexByte(entry.URL, '/')+1] + path.Clean(reference)
		}
		out[reference] = entry.URL
	}
	return out
}

// inflate reads a file of the archive within its bounds.
func inflate(file *zip.File, budget *int64) ([]byte, error) {
	if file == nil {
		return nil, malformed("the bundle lacks a file that its manifest needs")
	}
	limit := min(*budget, maxMapBytes)
	opened, err := file.Open()
	if err != nil {
		return nil, malformed("%s cannot be inflated", file.Name)
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, limit+1))
	if err != nil {
		return nil, malformed("%s cannot be inflated", file.Name)
	}
	if int64(len(content)) > limit {
		return nil, malformed("%s inflates beyond the limit", file.Name)
	}
	*budget -= int64(len(content))
	return content, nil
}
