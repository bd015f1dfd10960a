package ingest

import (
	"context"
	"strings"
	"time"

	"svc/domain/issue"
	"svc/domain/occurrence"
)

// Symbols finds the original locations of minified code.
type Symbols interface {
	// Resolve returns the original of a frame: its file, function, line and column. keys are the keys by which the
	// source map of its file may be found in the application, the best first. If no map is found, it returns the frame
	// itself, with the reason in Unmapped.
	Resolve(ctx context.Context, app string, keys []string, frame occurrence.Frame) occurrence.Frame
}

// symbolTime bounds the search for the originals of one error; an error that is shown minified is worth more than one
// that comes too late.
const symbolTime = 2 * time.Second

// symbolicate replaces the frames with an original location in a source map, and reports whether there was any. It runs
// before the grouping, so that a new build of the same code makes no new issue.
func (sub *submission) symbolicate(o *occurrence.Occurrence) bool {
	if sub.collect.Symbols == nil || len(sub.debugIDs) == 0 && o.Release == "" {
		return false
	}
	sub.reserved.ReleaseProcessor() // Maps may be read from the store.
	ctx, cancel := context.WithTimeout(sub.request.Context(), symbolTime)
	defer cancel()
	found := false
	for at := range o.Frames {
		frame := &o.Frames[at]
		keys := sub.mapKeys(o, frame)
		if len(keys) == 0 {
			continue
		}
		original := sub.collect.Symbols.Resolve(ctx, sub.collector.AppID, keys, *frame)
		if original.Unmapped == "" {
			original.InApp = frame.InApp && occurrence.InAppFile(original.File)
			found = true
		}
		*frame = original
	}
	return found
}

// mapKeys returns the keys by which the source map of a frame's file may be found.
func (sub *submission) mapKeys(o *occurrence.Occurrence, frame *occurrence.Frame) []string {
	if frame.Line < 1 || !isScript(frame.File) {
		return nil
	}
	var keys []string
	if id := sub.debugIDs[frame.File]; id != "" {
		keys = append(keys, issue.DebugIDKey(id))
	}
	if o.Release != "" {
		keys = append(keys, issue.ReleaseFileKey(o.Release, o.Tags["dist"], issue.FileURL(frame.File)))
	}
	return keys
}

// isScript reports whether a file may be built JavaScript.
func isScript(file string) bool {
	path, _, _ := strings.Cut(file, "?")
	for _, ending := range []string{".js", ".mjs", ".cjs", ".jsbundle", ".bundle"} {
		if strings.HasSuffix(path, ending) {
			return !strings.HasPrefix(file, "node:")
		}
	}
	return false
}
