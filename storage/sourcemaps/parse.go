package sourcemaps

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"

	"svc/domain"
)

// maxSegments limits the segments of one map. That many take a hundred megabytes of memory.
const maxSegments = 5_000_000

// Check returns the defect of a source map, or nil. The map must be a JSON object of version 3. All its segments must
// be readable and refer to existing sources, names and positions. A map that passes can be resolved at every position.
// The error text is for the user that uploads the map.
func Check(content []byte) error {
	_, err := parse(content)
	return err
}

// decoded is a source map in the form of its file. Index maps have sections instead of mappings.
type decoded struct {
	Version        int               `json:"version"`
	SourceRoot     string            `json:"sourceRoot"`
	Sources        []*string         `json:"sources"`
	SourcesContent []*string         `json:"sourcesContent"`
	Names          []json.RawMessage `json:"names"`
	Mappings       *string           `json:"mappings"`
	Sections       []section         `json:"sections"`
	// Facebook holds the function maps of Metro and Hermes, by source.
	Facebook json.RawMessage `json:"x_facebook_sources"`
}

// section is a part of an index map: a complete map that begins at a position.
type section struct {
	Offset struct {
		Line   int `json:"line"`
		Column int `json:"column"`
	} `json:"offset"`
	URL *string  `json:"url"`
	Map *decoded `json:"map"`
}

// parsed is a map for concurrent reads. All its sections are in one list.
type parsed struct {
	segments []segment
	sources  []source
	names    []string
}

// source is an original file. text is empty if the map does not contain it. scopes are ordered by position; each names
// the function of the code from its position on. Without a function map scopes is empty.
type source struct {
	file, text string
	scopes     []scope
}

// segment maps the generated code from a position on to its origin. Lines and columns count from 0. source and name are
// -1 if missing.
type segment struct {
	line, column       int32
	source, name       int32
	fromLine, fromColm int32
}

// compareSegments orders segments by their position in the generated code.
func compareSegments(a, b segment) int {
	return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
}

// bytes returns the approximate memory use of the map.
func (p *parsed) bytes() int {
	const segmentBytes, wordBytes = 24, 48
	size := segmentBytes*len(p.segments) + wordBytes*(len(p.names)+len(p.sources))
	for i := range p.sources {
		size += len(p.sources[i].file) + len(p.sources[i].text) + wordBytes*len(p.sources[i].scopes)
	}
	return size
}

// find returns the segment of a position; lines and columns count from 0. It returns nil if the map has no segment on
// the line, or only one without an origin.
func (p *parsed) find(line, column int) *segment {
	// If several segments have the same position, the last one counts: a segment that begins a section has no origin.
	next, _ := slices.BinarySearchFunc(p.segments, segment{line: int32(line), column: int32(column) + 1}, compareSegments)
	at := next - 1
	if at < 0 || int(p.segments[at].line) != line || p.segments[at].source < 0 {
		return nil
	}
	return &p.segments[at]
}

// parse reads a source map. Its error describes why the content is not a source map.
func parse(content []byte) (*parsed, error) {
	// Such a first line prevents browsers from running the file as a script.
	if bytes.HasPrefix(content, []byte(")]}")) {
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	var top decoded
	if err := domain.DecodeJSON(content, &top); err != nil {
		return nil, fmt.Errorf("it is no JSON of a source map: %w", err)
	}
	if top.Version != 3 {
		return nil, fmt.Errorf("its version is %d; only version 3 can be read", top.Version)
	}
	p := &parsed{}
	if top.Sections == nil {
		return p, p.add(&top, 0, 0)
	}
	var end segment
	for i := range top.Sections {
		part := &top.Sections[i]
		begin := segment{line: int32(part.Offset.Line), column: int32(part.Offset.Column), source: -1, name: -1}
		switch {
		case part.URL != nil || part.Map == nil:
			return nil, fmt.Errorf("section %d holds no map; sections that are kept elsewhere cannot be read", i)
		case part.Map.Sections != nil:
			return nil, fmt.Errorf("section %d is an index map itself", i)
		case min(part.Offset.Line, part.Offset.Column) < 0 || max(part.Offset.Line, part.Offset.Column) > maxPlace:
			return nil, fmt.Errorf("section %d begins at line %d, column %d", i, part.Offset.Line, part.Offset.Column)
		case compareSegments(begin, end) < 0:
			return nil, fmt.Errorf("section %d begins before the one that it follows", i)
		}
		p.endAt(begin)
		if err := p.add(part.Map, part.Offset.Line, part.Offset.Column); err != nil {
			return nil, fmt.Errorf("section %d: %w", i, err)
		}
		end = begin
	}
	return p, nil
}

// endAt ends the segments at a position: a section ends at the beginning of the next one.
func (p *parsed) endAt(begin segment) {
	at, _ := slices.BinarySearchFunc(p.segments, begin, compareSegments)
	p.segments = append(p.segments[:at], begin)
}

// add appends a map with code that begins at a line and column.
func (p *parsed) add(m *decoded, line, column int) error {
	if m.Mappings == nil {
		return errors.New("it has no mappings")
	}
	root, err := url.Parse(m.SourceRoot)
	if err != nil {
		return fmt.Errorf("its sourceRoot is no address: %w", err)
	}
	reader := mappings{
		text: *m.Mappings, line: line, shift: column,
		sourceBase: len(p.sources), sourceCount: len(m.Sources), nameBase: len(p.names), nameCount: len(m.Names),
	}
	functions := functionMaps(m.Facebook)
	for i, file := range m.Sources {
		var one source
		if i < len(functions) {
			one.scopes = functions[i]
		}
		if file != nil {
			one.file = inRoot(root, m.SourceRoot, *file)
		}
		if i < len(m.SourcesContent) && m.SourcesContent[i] != nil {
			one.text = *m.SourcesContent[i]
		}
		p.sources = append(p.sources, one)
	}
	for _, raw := range m.Names {
		var name string
		if json.Unmarshal(raw, &name) != nil {
			name = string(raw) // some builds write numbers
		}
		p.names = append(p.names, name)
	}
	begin := len(p.segments)
	if p.segments, err = reader.all(p.segments); err != nil {
		return err
	}
	// The format requires sorted segments, and the search for a position needs them sorted.
	slices.SortStableFunc(p.segments[begin:], compareSegments)
	return nil
}

// inRoot prepends the source root of a map to a source, unless the source is an absolute path or URL.
func inRoot(root *url.URL, prefix, file string) string {
	if prefix == "" || path.IsAbs(file) {
		return file
	}
	if address, err := url.Parse(file); err == nil && address.IsAbs() {
		return file
	}
	if root.IsAbs() {
		whole := *root
		whole.Path = path.Join(whole.Path, file)
		return whole.String()
	}
	return path.Join(prefix, file)
}
