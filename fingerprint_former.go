package svc

import "strings"

// formerVersion is the version of the grouping algorithm before the present one. Issues
// that it made continue when the present one meets their occurrences (FormerFingerprint).
const formerVersion = 1

// FormerGroup holds the inputs of the former algorithm for an occurrence where they differ from
// those kept now.
type FormerGroup struct {
	Name, Message string
	// Frameless says that the frames come from a part of the report that was not read.
	Frameless bool
}

// FormerFingerprint groups an occurrence by the former algorithm: the name, up to three
// frames that were in-app by their file alone, and the masked message.
func FormerFingerprint(o *Occurrence, explicit []string) string {
	return digest(formerVersion, o, explicit, appendFormerParts)
}

func appendFormerParts(parts []string, o *Occurrence) []string {
	group := FormerGroup{Name: o.Name, Message: o.Message}
	if o.Former != nil {
		group = *o.Former
	}
	parts = append(parts, group.Name)
	kept := 0
	for i := range o.Frames {
		frame := &o.Frames[i]
		if !frame.FormerInApp || group.Frameless {
			continue
		}
		file := FrameFile(frame.File)
		parts = append(parts, file+"\x00"+FrameFunction(frame.Function, file))
		if kept++; kept == groupFrames {
			break
		}
	}
	return append(parts, MaskMessage(EngineMessage(cut(group.Message, groupMessage))))
}

// formerInAppFile reports whether the former algorithm took a file for the application's own.
func formerInAppFile(file string) bool {
	if file == "" || strings.HasPrefix(file, "<") || strings.HasPrefix(file, "[") || file == "native" || file == "native code" {
		return false
	}
	path := strings.ReplaceAll(file, `\`, "/")
	for _, prefix := range []string{
		"node:", "internal/", "chrome-extension://", "moz-extension://", "safari-extension://", "safari-web-extension://",
		"webkit-masked-url:", "resource://", "chrome://",
	} {
		if strings.HasPrefix(path, prefix) {
			return false
		}
	}
	for _, part := range []string{
		"/node_modules/", "/bower_components/", "/webpack/runtime/", "/webpack/bootstrap", "/site-packages/", "/dist-packages/", "/lib/python",
		"/go/pkg/mod/", "/usr/local/go/src/", "/libexec/src/", "/vendor/",
	} {
		if strings.Contains(path, part) {
			return false
		}
	}
	return !strings.HasPrefix(path, "node_modules/")
}
