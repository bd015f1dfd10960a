package occurrence

import (
	"slices"
	"strconv"
	"strings"

	"svc/domain/event"
)

// ParsedStack is the parsed text of a stack.
type ParsedStack struct {
	// Name and Message come from the text's headline; they are empty without one.
	Name, Message string
	// Frames begin with the call in which the error was thrown.
	Frames []Frame
	// Causes are the errors that led to it, the nearest first.
	Causes []Cause
}

// maxStackLines limits the lines of a stack that are read.
const maxStackLines = 1000

// ParseStack parses the text of a stack as V8 (Chrome, Edge, Node), SpiderMonkey (Firefox), JavaScriptCore (Safari),
// Hermes, Go, Python, the JVM, .NET, PHP, Ruby, Dart, Elixir, Swift and Rust write it. It skips lines that are not
// frames; a text of another kind has no frames.
func ParseStack(text string) ParsedStack {
	parsed, _ := parseStack(text)
	return parsed
}

// parseStack is ParseStack; former is the result of the former grouping, nil if it is the same.
func parseStack(text string) (parsed ParsedStack, former *ParsedStack) {
	lines := stackLines(text)
	if spoken := dialectOf(lines); spoken != nil {
		if parsed = spoken.parse(lines); len(parsed.Frames) > 0 {
			read := parseFormerStack(lines)
			return parsed, &read
		}
	}
	return parseFormerStack(lines), nil
}

// stackLines returns the lines of a stack.
func stackLines(text string) []string {
	lines := strings.SplitN(strings.ReplaceAll(text, "\r\n", "\n"), "\n", maxStackLines+1)
	return lines[:min(len(lines), maxStackLines)]
}

// parseFormerStack parses the kinds of stacks that the former grouping supported.
func parseFormerStack(lines []string) ParsedStack {
	if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "Traceback (most recent call last)") }) {
		return parsePython(lines)
	}
	if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "goroutine ") && strings.HasSuffix(line, "]:") }) {
		return parseGo(lines)
	}
	return parseLines(lines)
}

// parseLines parses the formats in which every line is a complete frame.
func parseLines(lines []string) ParsedStack {
	var parsed ParsedStack
	headline := []string{}
	suppressed := false
	for i, line := range lines {
		line = strings.TrimSpace(line)
		frame, ok := parseAt(line)
		if !ok {
			frame, ok = parseMozilla(line)
		}
		title, isCause := causeTitle(line)
		switch {
		case ok && !suppressed:
			parsed.Frames = append(parsed.Frames, frame)
		case isCause && len(parsed.Frames) > 0:
			// The rest is the stack of another error.
			lines[i] = title
			return parsed.headed(headline).causedBy(parseLines(lines[i:]))
		case strings.HasPrefix(line, "Suppressed: "):
			suppressed = true
		case len(parsed.Frames) == 0:
			headline = append(headline, line)
		}
	}
	if len(parsed.Frames) == 0 {
		return ParsedStack{}
	}
	return parsed.headed(headline)
}

// causeTitle returns the title of a cause from its first line, in the forms of the JVM and of Node.
func causeTitle(line string) (title string, ok bool) {
	for _, mark := range []string{"Caused by: ", "[cause]: "} {
		if title, ok = strings.CutPrefix(line, mark); ok {
			return title, true
		}
	}
	return "", false
}

// causedBy adds the cause of an error and the causes of that cause.
func (p ParsedStack) causedBy(cause ParsedStack) ParsedStack {
	if cause.Name != "" || len(cause.Frames) > 0 {
		p.Causes = append([]Cause{{cause.Name, cause.Message, cause.Frames}}, cause.Causes[:min(len(cause.Causes), MaxCauses-1)]...)
	}
	return p
}

// headed parses the lines before the first frame: the error's name and message.
func (p ParsedStack) headed(lines []string) ParsedStack {
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	text = strings.TrimPrefix(text, "Uncaught ")
	if strings.HasPrefix(text, `Exception in thread "`) {
		_, text, _ = strings.Cut(strings.TrimPrefix(text, `Exception in thread "`), `" `)
	}
	name, message, found := strings.Cut(text, ": ")
	if !isErrorName(name) {
		return p
	}
	p.Name = name
	if found {
		p.Message = message
	}
	return p
}

// isErrorName reports whether a word can be the name of an error.
func isErrorName(s string) bool {
	if s == "" || len(s) > event.MaxNameBytes {
		return false
	}
	for i := range len(s) {
		c := s[i]
		isWord := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= '0' && c <= '9' || c == '.'
		if !isWord {
			return false
		}
	}
	return true
}

// parseAt parses a frame of V8 or the JVM: "at function (place)" or "at place".
func parseAt(line string) (Frame, bool) {
	rest, isAt := strings.CutPrefix(line, "at ")
	if !isAt {
		return Frame{}, false
	}
	function, place := "", rest
	if strings.HasSuffix(rest, ")") {
		if open := strings.Index(rest, " ("); open >= 0 {
			function, place = rest[:open], rest[open+2:len(rest)-1]
			// "fn [as name] (place)" leaves the name with the function.
			if last := strings.LastIndex(rest, " ("); last > open && !strings.Contains(place, "eval at ") {
				function, place = rest[:last], rest[last+2:len(rest)-1]
			}
		} else if open := strings.LastIndexByte(rest, '('); open > 0 {
			return parseJVM(rest[:open], rest[open+1:len(rest)-1])
		}
	}
	if function == "" {
		place = strings.TrimPrefix(place, "async ")
	}
	place = strings.TrimPrefix(place, "address at ") // Hermes
	// "eval at outer (file:1:2), <anonymous>:3:4": the code is in the outer file.
	if inner, isEval := strings.CutPrefix(place, "eval at "); isEval {
		if open := strings.LastIndexByte(inner, '('); open >= 0 {
			place, _, _ = strings.Cut(inner[open+1:], ")")
		}
	}
	file, lineNumber, column := cutPlace(place)
	if function == "" && lineNumber == 0 && !strings.HasPrefix(file, "<") && file != "native" {
		return Frame{}, false
	}
	return frameOf(file, function, lineNumber, column), true
}

// parseJVM parses "package.Class.method" and "File.java:12" or "Native Method".
func parseJVM(function, place string) (Frame, bool) {
	if strings.ContainsAny(function, " ") {
		return Frame{}, false
	}
	file, line, _ := strings.Cut(place, ":")
	number, _ := strconv.Atoi(line) // a place without a line
	frame := Frame{File: file, Function: function, Line: max(number, 0)}
	frame.Judge(FrameOrigin{Platform: "java"})
	return frame, true
}

// withoutModule removes the module from "java.base/java.lang.Thread.run".
func withoutModule(function string) string {
	return function[strings.LastIndexByte(function, '/')+1:]
}

// parseMozilla parses a frame of SpiderMonkey or JavaScriptCore: "function@place".
func parseMozilla(line string) (Frame, bool) {
	function, place, isFrame := strings.Cut(line, "@")
	if !isFrame {
		return Frame{}, false
	}
	// The folder of a scoped package contains an @ too: the place follows the last @ that begins an address.
	if at := strings.LastIndex(line, "@http"); at >= 0 {
		function, place = line[:at], line[at+1:]
	}
	if place == "[native code]" {
		return frameOf(place, function, 0, 0), true
	}
	file, lineNumber, column := cutPlace(place)
	// " > eval" and " line 3 > eval" follow the file in which eval was called.
	if outer, _, isEval := strings.Cut(file, " line "); isEval {
		file = outer
	}
	if lineNumber == 0 || strings.ContainsAny(function, " \t") && !strings.HasSuffix(function, " code") && !strings.Contains(function, "*") {
		return Frame{}, false
	}
	return frameOf(file, function, lineNumber, column), true
}

// cutPlace splits "file:line:column" and "file:line".
func cutPlace(place string) (file string, line, column int) {
	file = place
	var numbers []int
	for len(numbers) < 2 {
		at := strings.LastIndexByte(file, ':')
		if at <= 0 {
			break
		}
		number, err := strconv.Atoi(file[at+1:])
		if err != nil || number < 0 {
			break
		}
		numbers = append(numbers, number)
		file = file[:at]
	}
	switch len(numbers) {
	case 2:
		return file, numbers[1], numbers[0]
	case 1:
		return file, numbers[0], 0
	}
	return place, 0, 0
}

func frameOf(file, function string, line, column int) Frame {
	frame := Frame{File: file, Function: function, Line: line, Column: column}
	frame.Judge(FrameOrigin{})
	return frame
}

// parsePython parses a traceback, in which the last call comes last.
func parsePython(lines []string) ParsedStack {
	var parsed ParsedStack
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		rest, isFrame := strings.CutPrefix(trimmed, `File "`)
		switch {
		case isFrame:
			file, place, _ := strings.Cut(rest, `", line `)
			number, function, _ := strings.Cut(place, ", in ")
			at, _ := strconv.Atoi(number) // a line that is not a number is unknown
			parsed.Frames = append(parsed.Frames, frameOf(file, function, max(at, 0), 0))
		case strings.HasPrefix(line, "Traceback (most recent call last)"):
			// Of chained errors, the last one was raised.
			parsed = ParsedStack{}
		case len(parsed.Frames) > 0 && line == trimmed && trimmed != "" && parsed.Name == "":
			parsed = parsed.headed([]string{trimmed})
		}
	}
	slices.Reverse(parsed.Frames)
	return parsed
}

// parseGo parses the first goroutine of a panic: one line for the call, one line for the place.
func parseGo(lines []string) ParsedStack {
	var parsed ParsedStack
	function, inside := "", false
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "panic: "):
			parsed.Name = "panic"
			parsed.Message, _, _ = strings.Cut(strings.TrimPrefix(line, "panic: "), " [recovered]")
		case strings.HasPrefix(line, "goroutine "):
			if inside {
				return parsed.belowPanic()
			}
			inside = true
		case inside && strings.HasPrefix(line, "\t"):
			place, _, _ := strings.Cut(strings.TrimSpace(line), " +0x")
			file, number, _ := cutPlace(place)
			parsed.Frames = append(parsed.Frames, frameOf(file, function, number, 0))
		case inside && line != "":
			function = goFunction(line)
		}
	}
	return parsed.belowPanic()
}

// belowPanic removes the frames above the panic, in which the runtime only reports it.
func (p ParsedStack) belowPanic() ParsedStack {
	if at := slices.IndexFunc(p.Frames, func(f Frame) bool { return f.Function == "panic" }); at >= 0 {
		p.Frames = p.Frames[at+1:]
	}
	return p
}

// goFunction returns the function of a line without its arguments.
func goFunction(line string) string {
	line = strings.TrimPrefix(line, "created by ")
	line, _, _ = strings.Cut(line, " in goroutine ")
	if !strings.HasSuffix(line, ")") {
		return line
	}
	if open := strings.LastIndexByte(line, '('); open > 0 {
		return line[:open]
	}
	return line
}

// isGoRuntime reports whether a function belongs to Go's standard library: the first element of its import path has no
// dot.
func isGoRuntime(function string) bool {
	path, _, isPath := strings.Cut(function, "/")
	if isPath {
		return !strings.Contains(path, ".") && path != "main" && path != "command-line-arguments" && isGoStandard(path)
	}
	name, _, _ := strings.Cut(function, ".")
	return isGoStandard(name)
}

// isGoStandard reports whether an element is the first one of a standard library path that occurs in stacks.
func isGoStandard(element string) bool {
	switch element {
	case "runtime", "net", "sync", "testing", "reflect", "internal", "encoding", "database", "io", "os", "bufio", "context", "time", "syscall", "fmt", "log", "html", "text", "crypto", "panic", "iter", "slices", "maps", "strings", "bytes", "sort":
		return true
	}
	return false
}
