package occurrence

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// dialect is the form in which the runtime of a language writes a stack. Each form of a line has the groups f
// (function), p (file), l (line) and c (column), if it names them.
type dialect struct {
	platform string
	// marks reports whether a line belongs to this dialect and to no other.
	marks func(line string) bool
	lines []*regexp.Regexp
	// title reads the error's name and message from the lines before a stack. It is nil for the usual form.
	title *regexp.Regexp
}

// dialects are tried in this order.
//
//nolint:gochecknoglobals // compiled once, never changed
var dialects = []dialect{
	{
		"php", func(line string) bool {
			return isNumbered(line, "#") && (strings.Contains(line, "): ") || strings.Contains(line, "[internal function]: "))
		},
		forms(`^#\d+ (?P<p>.+?)\((?P<l>\d+)\): (?P<f>.+)$`, `^#\d+ (?P<p>\[internal function\]): (?P<f>.+)$`),
		regexp.MustCompile(`(?s)(?:Uncaught |Next |^)(?P<n>[\w\\]+)(?:: (?P<m>.*?))? in (?P<p>\S+?)(?::| on line )(?P<l>\d+)`),
	},
	{
		"dart", func(line string) bool {
			return isNumbered(line, "#") && (strings.Contains(line, ".dart:") || strings.Contains(line, "(dart:"))
		},
		forms(`^#\d+\s+(?P<f>.+?) \((?P<p>.+?)(?::(?P<l>\d+))?(?::(?P<c>\d+))?\)$`), nil,
	},
	{
		"ruby", func(line string) bool { return strings.Contains(line, ":in `") || strings.Contains(line, ":in '") },
		forms("^(?:from )?(?:\\d+: from )?(?P<p>.+?):(?P<l>\\d+):in [`'](?P<f>.+?)'(?::.*)?$"),
		regexp.MustCompile("(?s)^(?:.+:in [`'].+?': (?P<m>.*) \\((?P<n>[\\w:]+)\\)|(?P<n2>[A-Z][\\w:]*)(?:: | \\()(?P<m2>.*?)\\)?:?)$"),
	},
	{
		"elixir", func(line string) bool {
			return strings.Contains(line, ".ex:") || strings.Contains(line, ".exs:") || strings.Contains(line, ".erl:")
		},
		forms(`^(?:\([\w .-]+\) )?(?P<p>\S+?\.(?:exs?|erl|eex|heex)):(?P<l>\d+): (?P<f>.+)$`, `^(?:\([\w .-]+\) )?(?P<f>:\w+\.\S+?[/(].*)$`),
		regexp.MustCompile(`(?s)\*\* \((?P<n>[\w.:]+)\) ?(?P<m>.*)$`),
	},
	{
		"csharp", func(line string) bool {
			return strings.HasPrefix(line, "at ") && (strings.Contains(line, ") in ") || strings.Contains(line, ") [0x")) || strings.Contains(line, ") ") && netLocal.MatchString(line)
		},
		forms(`^(?:at|bei|à|en|w|в) (?P<f>.+?) ?\(.*\)(?: \[0x[0-9a-f]+\])? (?:in|dans|en|w|в) (?P<p>.+?):(?:\p{L}+ )?(?P<l>\d+)\.?\s*$`, `^(?:at|bei|à|en|w|в) (?P<f>[^(]+?) ?\(.*\)(?: in <.*>:0)?$`), nil,
	},
	{
		"native", func(line string) bool { return strings.Contains(line, " panicked at ") || line == "stack backtrace:" },
		forms(`^at (?P<p>.+?):(?P<l>\d+)(?::(?P<c>\d+))?$`, `^\d+:\s+(?:0x[0-9a-f]+ - )?(?P<f>.+)$`),
		regexp.MustCompile(`(?s)thread '.*?'(?: \(\d+\))? (?P<n>panick)ed at (?:'(?P<m>.*)', (?P<p>\S+?):(?P<l>\d+):(?P<c>\d+)|(?P<p2>\S+?):(?P<l2>\d+):(?P<c2>\d+):\n(?P<m2>[^\n]*))`),
	},
	{
		"cocoa", func(line string) bool {
			return strings.Contains(line, ".swift:") || isNumbered(line, "") && appleLine.MatchString(line)
		},
		forms(`^\d+ (?:\[[^\]]+\] )?(?:0x[0-9a-f]+ )?(?P<f>.+?)(?: \+ \d+)?(?: \[[a-z ]+\])* in \S+(?: at (?P<p>.+?):(?P<l>\d+)(?::(?P<c>\d+))?)?$`,
			`^\d+\s+\S.*?\s+0x[0-9a-fA-F]+ (?P<f>.+?)(?: \+ \d+)?(?: \((?P<p>[^()]+?):(?P<l>\d+)(?::(?P<c>\d+))?\))?$`,
			`^(?:at )?(?P<f>[\w.$<>():, ]+?) ?(?:\(| at )(?P<p>[^()\s]+\.swift):(?P<l>\d+)(?::(?P<c>\d+))?\)?$`),
		regexp.MustCompile(`(?s)(?:(?P<n>Fatal error): (?P<m>[^\n]*?)(?:: file .*)?$|uncaught exception '(?P<n2>\w+)', reason: '(?P<m2>.*?)')`),
	},
}

var (
	netLocal  = regexp.MustCompile(`^(?:at|bei|à|en|w|в) .+\) (?:in|dans|en|w|в) .+:\p{L}+ \d+\.?$`)
	appleLine = regexp.MustCompile(`^\d+\s+\S.*\s0x[0-9a-fA-F]{8,16} .+ \+ \d+`)
	rustLine  = regexp.MustCompile(`^\d+:\s+(?:0x[0-9a-f]+ - )?\S*::\S`)
)

func forms(texts ...string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, text := range texts {
		out = append(out, regexp.MustCompile(text))
	}
	return out
}

// isNumbered reports whether a line begins with a mark and a number.
func isNumbered(line, mark string) bool {
	rest, found := strings.CutPrefix(line, mark)
	return found && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// dialectOf returns the dialect of a stack that grouping reads since version 3. It returns nil for any other text.
func dialectOf(lines []string) *dialect {
	for i, line := range lines {
		line = strings.TrimSpace(line)
		for at := range dialects {
			if dialects[at].marks(line) {
				return &dialects[at]
			}
		}
		if isNumbered(line, "") && i+1 < len(lines) && rustLine.MatchString(line) && strings.HasPrefix(strings.TrimSpace(lines[i+1]), "at ") {
			return rust()
		}
	}
	return nil
}

// rust returns the dialect of Rust. In it, a call has two lines.
func rust() *dialect {
	at := slices.IndexFunc(dialects, func(d dialect) bool { return d.platform == "native" })
	return &dialects[at]
}

// parse reads a stack of the dialect. The error that was thrown first becomes the cause of the errors around it.
func (d *dialect) parse(lines []string) ParsedStack {
	switch d.platform {
	case "csharp":
		return d.parseNested(lines)
	case "native":
		return d.parseRust(lines)
	}
	parsed, head := ParsedStack{}, []string{}
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		frame, ok := d.frame(trimmed)
		switch {
		case ok:
			parsed.Frames = append(parsed.Frames, frame)
		case len(parsed.Frames) == 0:
			head = append(head, trimmed)
		}
		if d.platform == "php" && ok && strings.HasPrefix(trimmed, "#0 ") && len(parsed.Frames) > 1 {
			return parsed // the stack of an error around this one
		}
		if d.platform == "ruby" && len(parsed.Frames) == 1 && ok {
			head = append(head, trimmed)
		}
	}
	if len(parsed.Frames) == 0 {
		return ParsedStack{}
	}
	return d.titled(parsed, head)
}

// frame reads one line.
func (d *dialect) frame(line string) (Frame, bool) {
	for _, form := range d.lines {
		found := form.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		function := group(form, found, "f")
		switch d.platform {
		case "php":
			function = strings.ReplaceAll(withoutCallArguments(function), "->", "::")
		case "elixir":
			function = strings.TrimSpace(function)
		}
		return d.called(group(form, found, "p"), function, group(form, found, "l"), group(form, found, "c")), true
	}
	return Frame{}, false
}

// called returns a frame of the dialect.
func (d *dialect) called(file, function, line, column string) Frame {
	number, _ := strconv.Atoi(line) // some places have no line
	at, _ := strconv.Atoi(column)
	frame := Frame{File: file, Function: function, Line: number, Column: at}
	frame.Judge(FrameOrigin{Platform: d.platform, AbsPath: file})
	if frame.InApp && (d.platform == "csharp" || d.platform == "elixir") && isUnder(function, foreignModules(d.platform, file)) {
		frame.InApp = false
	}
	return frame
}

// withoutCallArguments removes the arguments from a call of PHP. The name of a closure contains parentheses.
func withoutCallArguments(function string) string {
	from := strings.LastIndexByte(function[:max(strings.Index(function, "}("), 0)], '{') + 1
	if open := strings.IndexByte(function[from:], '('); from == 0 && open > 0 {
		return function[:open]
	}
	if end := strings.Index(function, "}("); end >= 0 {
		return function[:end+1]
	}
	return function
}

// group returns a group of a match, or its alternative with the suffix 2.
func group(form *regexp.Regexp, found []string, name string) string {
	for _, one := range []string{name, name + "2"} {
		if at := form.SubexpIndex(one); at >= 0 && found[at] != "" {
			return found[at]
		}
	}
	return ""
}

// titled reads the lines before the calls. In PHP, they name the place where the error was thrown. Each later line of
// PHP has the place of a call and the called function, and titled combines them.
func (d *dialect) titled(parsed ParsedStack, head []string) ParsedStack {
	text := strings.TrimSpace(strings.Join(head, "\n"))
	if d.title == nil {
		return parsed.headed(strings.Split(strings.TrimPrefix(strings.TrimPrefix(text, "Unhandled exception:\n"), "Unhandled exception. "), "\n"))
	}
	form := d.title
	if d.platform == "ruby" { // the first line has the place and the error, or the title is above it
		text, _, _ = strings.Cut(text, "\n")
	}
	found := form.FindStringSubmatch(text)
	if found == nil {
		return parsed
	}
	parsed.Name, parsed.Message = group(form, found, "n"), strings.TrimSpace(group(form, found, "m"))
	if d.platform == "native" {
		parsed.Name = "panic"
	}
	if d.platform == "php" {
		thrown := d.called(group(form, found, "p"), "", group(form, found, "l"), "")
		for i := range parsed.Frames {
			frame := parsed.Frames[i]
			thrown.Function, parsed.Frames[i] = frame.Function, thrown
			parsed.Frames[i] = d.called(thrown.File, thrown.Function, strconv.Itoa(thrown.Line), "")
			thrown = frame
		}
		parsed.Frames = append(parsed.Frames, d.called(thrown.File, "", strconv.Itoa(thrown.Line), ""))
	}
	return parsed
}

// parseRust reads a panic: its place, then its calls. Each call has a line for the function and one for the place.
func (d *dialect) parseRust(lines []string) ParsedStack {
	var parsed ParsedStack
	place, call := d.lines[0], d.lines[1]
	for _, line := range lines {
		line = strings.TrimSpace(line)
		last := len(parsed.Frames) - 1
		if found := place.FindStringSubmatch(line); found != nil && last >= 0 {
			parsed.Frames[last] = d.called(group(place, found, "p"), parsed.Frames[last].Function, group(place, found, "l"), group(place, found, "c"))
		} else if found := call.FindStringSubmatch(line); found != nil {
			parsed.Frames = append(parsed.Frames, d.called("", group(call, found, "f"), "", ""))
		}
	}
	text := strings.Join(lines, "\n")
	if found := d.title.FindStringSubmatch(text); found != nil && len(parsed.Frames) == 0 {
		parsed.Frames = []Frame{d.called(group(d.title, found, "p"), "", group(d.title, found, "l"), group(d.title, found, "c"))}
	}
	return d.titled(parsed, lines)
}

// parseNested reads a stack of .NET. The titles are in order from the outermost error to the innermost. The calls of
// the innermost error come first, and a mark ends each inner stack.
func (d *dialect) parseNested(lines []string) ParsedStack {
	const inner, end = "--->", "--- End of inner exception"
	var titles []string
	stacks, deep := [][]Frame{}, 0
	for _, line := range lines {
		line = strings.TrimSpace(line)
		frame, ok := d.frame(line)
		switch {
		case strings.HasPrefix(line, inner+" (Inner Exception #"):
			continue
		case ok && len(titles) > 0:
			stacks[deep] = append(stacks[deep], frame)
		case ok:
			titles, stacks = append(titles, ""), append(stacks, []Frame{frame})
		case strings.HasPrefix(line, end):
			deep = max(deep-1, 0)
		case strings.HasPrefix(line, "---") && !strings.HasPrefix(line, inner), line == "":
		case len(titles) == 0 || strings.HasPrefix(line, inner):
			for _, title := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(line, inner+" "), "Unhandled exception. "), " "+inner+" ") {
				if len(titles) < MaxCauses {
					titles, stacks = append(titles, title), append(stacks, nil)
				}
			}
			deep = len(titles) - 1
		}
	}
	var parsed ParsedStack
	for i := len(titles) - 1; i >= 0; i-- {
		cause := parsed
		parsed = ParsedStack{Frames: stacks[i]}.headed([]string{titles[i]})
		if i < len(titles)-1 {
			parsed = parsed.causedBy(cause)
		}
	}
	return parsed
}
