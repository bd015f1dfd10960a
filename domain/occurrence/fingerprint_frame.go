package occurrence

import (
	"strings"
)

// FrameFile returns the file of a frame as grouping sees it: without scheme and host, query and fragment, and without
// the parts that a build or a deployment adds. So the same file has the same name after a new build or on another host.
//
//	https://cdn.example.com/assets/index-BxT3k9aZ.js?v=2   /assets/index.js
//	webpack:///./src/cart.ts                               /src/cart.ts
//	C:\srv\app\cart.py                                     /srv/app/cart.py
//	/srv/releases/20261120131500/cart.go                   /srv/releases/*/cart.go
//	/srv/storage/framework/views/9f0c…40 digits.php        /srv/storage/framework/views/*.php
func FrameFile(file string) string { return frameFile(file, FingerprintVersion) }

// frameFile returns the file of a frame as a version of the algorithm sees it.
func frameFile(file string, version int) string {
	if at := strings.IndexAny(file, "?#"); at >= 0 {
		file = file[:at]
	}
	file = strings.ReplaceAll(file, `\`, "/")
	if scheme, rest, found := strings.Cut(file, "://"); found && isScheme(scheme) {
		file = rest
		if scheme != "webpack" && scheme != "webpack-internal" && scheme != "file" && scheme != "app" {
			_, path, _ := strings.Cut(file, "/")
			file = "/" + path
		}
	} else if len(file) > 2 && file[1] == ':' && file[2] == '/' {
		file = file[2:]
	}
	segments := strings.Split(file, "/")
	kept := make([]string, 0, len(segments))
	for i, segment := range segments {
		switch {
		case segment == "." || segment == "" && i > 0:
			continue
		case i == len(segments)-1:
			if version == FingerprintVersion {
				segment = stripBundle(segment, segments[:i])
			}
			segment = stripBuild(segment)
		case isBuildWord(segment) || len(segment) >= 6 && strings.Trim(segment, digits) == "":
			segment = "*"
		case version == FingerprintVersion:
			segment = stripDeployment(segments, i)
		}
		kept = append(kept, segment)
	}
	return strings.Join(kept, "/")
}

func isScheme(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == ""
}

// digits are the decimal digits.
const digits = "0123456789"

// stripBuild removes the build's hashes from the name of a bundle: the words after a dot or a hyphen.
func stripBuild(name string) string {
	end := strings.LastIndexByte(name, '.')
	if end < 0 {
		return name
	}
	var kept strings.Builder
	for at := 0; at < end; {
		next := at + 1
		for next < end && name[next] != '.' && name[next] != '-' {
			next++
		}
		if at == 0 || !isBuildWord(name[at+1:next]) {
			kept.WriteString(name[at:next])
		}
		at = next
	}
	return kept.String() + name[end:]
}

// Lengths of the hashes of bundlers.
const (
	shortBuildWord = 8
	longBuildWord  = 64
)

// isBuildWord reports whether a word reads like a hash: at least eight characters with a digit or with both cases.
func isBuildWord(word string) bool {
	if len(word) < shortBuildWord || len(word) > longBuildWord {
		return false
	}
	var digits, upper, lower int
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case c != '_':
			return false
		}
	}
	// A word in camel case has few capitals; a hash has many.
	return digits > 0 && digits < len(word) && upper+lower > 0 && (upper > 0 || isHexWord(word) || digits > 1) ||
		upper > 2 && lower > 2 && upper*2 >= lower
}

func isHexWord(word string) bool { return strings.Trim(word, "0123456789abcdef") == "" }

// isScript reports whether a file is JavaScript, or a page that contains some.
func isScript(file string) bool {
	at := strings.LastIndexByte(file, '.')
	if at < 0 || strings.Contains(file[at:], "/") {
		return true
	}
	switch file[at:] {
	case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".html", ".htm", ".bundle":
		return true
	}
	return false
}

// InAppFile reports whether a file reads like the application's own code, as opposed to a runtime's, a library's or a
// browser extension's.
func InAppFile(file string) bool {
	if file == "" || strings.HasPrefix(file, "<") || strings.HasPrefix(file, "[") || file == "native" || file == "native code" {
		return false
	}
	path := strings.ReplaceAll(file, `\`, "/")
	for _, prefix := range []string{
		"node:", "internal/", "chrome-extension://", "moz-extension://", "safari-extension://", "safari-web-extension://",
		"webkit-masked-url:", "resource://", "chrome://", "node_modules/", "dart:", "package:flutter/",
	} {
		if strings.HasPrefix(path, prefix) {
			return false
		}
	}
	for _, part := range []string{
		"/node_modules/", "/bower_components/", "/webpack/runtime/", "/webpack/bootstrap", "/site-packages/", "/dist-packages/", "/lib/python",
		"/go/pkg/mod/", "/usr/local/go/src/", "/libexec/src/", "/vendor/", "/rustc/", "/.cargo/registry/", "/gems/", "/lib/ruby/", "/rubygems/", "/System/Library/",
	} {
		if strings.Contains(path, part) {
			return false
		}
	}
	return true
}
