package svc

import (
	"regexp"
	"strings"
)

// FrameFile returns the file of a frame as grouping sees it: without scheme and
// host, query and fragment, and without what a build or a deployment puts in,
// so that the same file served from elsewhere or built again is the same.
//
//	https://cdn.example.com/assets/index-BxT3k9aZ.js?v=2   /assets/index.js
//	webpack:///./src/cart.ts                               /src/cart.ts
//	C:\srv\app\cart.py                                     /srv/app/cart.py
//	/srv/releases/20261120131500/cart.go                   /srv/releases/*/cart.go
func FrameFile(file string) string {
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
	kept := segments[:0]
	for i, segment := range segments {
		switch {
		case segment == "." || segment == "" && i > 0:
			continue
		case i == len(segments)-1:
			segment = stripBuild(segment)
		case isBuildWord(segment) || len(segment) >= 6 && strings.Trim(segment, "0123456789") == "":
			segment = "*"
		}
		kept = append(kept, segment)
	}
	return strings.Join(kept, "/")
}

func isScheme(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == ""
}

// stripBuild takes the build's hashes out of the name of a bundle: the words
// after a dot or a hyphen.
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

// Lengths of the hashes that bundlers make.
const (
	shortBuildWord = 8
	longBuildWord  = 64
)

// isBuildWord reports whether a word reads like a hash: eight characters or more
// with a digit or with both cases.
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

// FrameFunction returns the function of a frame as grouping sees it. Engines
// name the same JavaScript function differently: V8 puts the receiver and words
// such as async and new in front, SpiderMonkey marks inner functions by /<, and
// each has a word of its own for code outside of functions. What remains is the
// function's own name, empty for one without. In other languages the name is
// kept whole.
//
//	Object.checkout   async checkout   async*checkout    checkout
//	new Cart          Cart                               Cart
//	<anonymous>       outer/<          global code       ""
func FrameFunction(function, file string) string {
	if !isScript(file) {
		return function
	}
	if at := strings.Index(function, " [as "); at >= 0 {
		function = function[:at]
	}
	for _, prefix := range []string{"async*", "promise callback*", "setTimeout handler*", "EventListener.handleEvent*", "async ", "new ", "get ", "set ", "static "} {
		function = strings.TrimPrefix(function, prefix)
	}
	function = strings.TrimSpace(function)
	if strings.HasSuffix(function, "<") || strings.HasSuffix(function, " code") {
		return ""
	}
	if at := strings.LastIndexByte(function, '/'); at >= 0 {
		function = function[at+1:]
	}
	if at := strings.LastIndexByte(function, '.'); at >= 0 {
		function = function[at+1:]
	}
	if function == "<anonymous>" || function == "anonymous" || function == "?" || function == "(anonymous function)" {
		return ""
	}
	return strings.TrimPrefix(function, "#")
}

// framePart is a frame as grouping sees it: its module where it has one that says more
// than the file, else its file, and the function. JavaScript has no modules in this sense.
func framePart(frame *Frame) string {
	file := FrameFile(frame.File)
	if frame.Module != "" && !isScriptFile(frame.File) {
		return stripGenerated(frame.Module) + "\x00" + stripGenerated(frame.Function)
	}
	return file + "\x00" + stripGenerated(FrameFunction(frame.Function, file))
}

// isScriptFile reports whether a file has the ending of JavaScript, or is a page.
func isScriptFile(file string) bool {
	at := strings.LastIndexByte(FrameFile(file), '.')
	return at >= 0 && isScript(file)
}

// generatedNames are what compilers and runtimes put into names, which differs from one
// build or process to the next.
//
//nolint:gochecknoglobals // compiled once, never changed
var generatedNames = []struct {
	// needs is a text without which the rule finds nothing.
	needs string
	rule  *regexp.Regexp
	with  string
}{
	{"::h", regexp.MustCompile(`::h[0-9a-f]{16}$`), ""},
	{"$$", regexp.MustCompile(`\$\$[A-Za-z]*(?:By[A-Za-z]+)?(?:\$\$[0-9a-f]+|\$[0-9a-f]{5,}|/0x[0-9a-f]+|\d+)?`), "$$"},
	{"$", regexp.MustCompile(`\$(?:Proxy)?\d+`), "$"},
	{"__", regexp.MustCompile(`__\d+(?:_\d+)*`), "__"},
	{"{closure:", regexp.MustCompile(`\{closure:.*:\d+\}`), "{closure}"},
	{"block ", regexp.MustCompile(`^block (?:\(\d+ levels\) )?in `), ""},
	{".func", regexp.MustCompile(`\.func\d+(?:\.\d+)*`), ".func"},
	{"wrap", regexp.MustCompile(`\.(?:gowrap|deferwrap)\d+`), ".wrap"},
	{"class@anonymous", regexp.MustCompile(`class@anonymous.*`), "class@anonymous"},
}

// stripGenerated takes out of a name what compilers and runtimes put in.
//
//	shop::pay::h0123456789abcdef          shop::pay
//	lambda$main$0                         lambda$main$
//	Cart$$EnhancerBySpringCGLIB$$1f2e3d   Cart$
//	<Total>b__12_0                        <Total>b__
//	main.func1.2                          main.func
//	block (2 levels) in total             total
func stripGenerated(name string) string {
	for i := range generatedNames {
		if generated := &generatedNames[i]; strings.Contains(name, generated.needs) {
			name = generated.rule.ReplaceAllString(name, strings.ReplaceAll(generated.with, "$", "$$"))
		}
	}
	return name
}

// isScript reports whether a file is JavaScript, or a page that holds some.
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

// InAppFile reports whether a file reads like the application's own code: not a
// runtime's, a library's or a browser extension's.
func InAppFile(file string) bool {
	if !formerInAppFile(file) {
		return false
	}
	path := strings.ReplaceAll(file, `\`, "/")
	for _, part := range []string{"/rustc/", "/.cargo/registry/", "/gems/", "/lib/ruby/", "/rubygems/", "/System/Library/"} {
		if strings.Contains(path, part) {
			return false
		}
	}
	return !strings.HasPrefix(path, "dart:") && !strings.HasPrefix(path, "package:flutter/")
}
