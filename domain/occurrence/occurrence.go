package occurrence

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/event"
)

// Level is the severity of an error.
type Level string

// The levels, the worst first.
const (
	LevelFatal   Level = "fatal"
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelInfo    Level = "info"
	LevelDebug   Level = "debug"
)

// Levels lists the levels, the worst first.
func Levels() []Level {
	return []Level{LevelFatal, LevelError, LevelWarning, LevelInfo, LevelDebug}
}

// Values lists the levels.
func (Level) Values() []Level { return Levels() }

// Frame is one call of a stack.
type Frame struct {
	File     string `json:"file"`
	Function string `json:"function"`
	// Module is the class, package or namespace of the function, if the language has one.
	Module string `json:"module,omitempty" doc:"The class, package or namespace of the function; missing where the client names none."`
	// Line and Column count from 1; 0 is unknown.
	Line   int `json:"line"`
	Column int `json:"column"`
	// InApp says that the frame is the application's own code, not a library's.
	InApp bool `json:"inApp"`
	// Unmapped says why the frame of a minified file is shown unmapped although a source map was looked up. It is empty
	// if the frame was mapped or no map was looked up.
	Unmapped string `json:"unmapped,omitempty" doc:"Why no source map gave the frame's original place; missing where one did, or none was looked for."`
	// Code is the source around the call, Vars a JSON object of the variables in it.
	Code *FrameCode      `json:"code,omitempty" doc:"The source around the call; missing where the client sends none."`
	Vars json.RawMessage `json:"vars,omitempty" doc:"The variables of the call by name; missing where the client sends none."`
}

// Breadcrumb is an event before an error.
type Breadcrumb struct {
	// Timestamp is ISO 8601, empty if unknown.
	Timestamp string `json:"timestamp"`
	Category  string `json:"category"`
	Message   string `json:"message"`
}

// ErrorRequest is the HTTP request during which an error happened; a zero status is unknown.
type ErrorRequest struct {
	Method string
	URL    string
	Status int
}

// Occurrence is one reported error, as it is ingested, stored and shown. Optional texts are empty if unknown and are
// shown as null.
type Occurrence struct {
	ID             string
	IssueID        string
	Ts, ReceivedAt time.Time
	Level          Level
	// Name is the kind of the error, for example TypeError.
	Name      string
	Message   string
	Culprit   string
	Handled   bool
	Mechanism string
	Release   string
	// Stack is the text of the stack as the client sent it.
	Stack string
	// Frames begin with the call in which the error was thrown.
	Frames []Frame
	// Breadcrumbs begin with the oldest.
	Breadcrumbs []Breadcrumb
	Tags        map[string]string
	// Extra is a JSON object.
	Extra          json.RawMessage
	Request        ErrorRequest
	URL            string
	Path           string
	Referrer       string
	PersonID       string
	SessionID      string
	DistinctID     string
	AnonymousID    string
	Browser        string
	BrowserVersion string
	OS             string
	Device         string
	Country        string
	Region         string
	City           string
	Locale         string
	AppVersion     string
	Environment    string
	// Tie orders occurrences of the same time and id in a list; only stored ones have it.
	Tie     uint64
	Details Details
	// Template is the message before its parameters were inserted, empty for one that has none. It groups in place of
	// the message, and is not stored.
	Template string
	// Platform is the language or system of the code, in Sentry's words, empty if unknown.
	Platform string
	// Former holds the input of the former grouping; nil if it equals the present input.
	Former *Group
	// Causes are the errors that led to this one, the nearest first.
	Causes []Cause
}

// Key returns the occurrence's place in a list.
func (o *Occurrence) Key() event.Key { return event.Key{Ts: o.Ts, ID: o.ID, Tie: o.Tie} }

// Row is an occurrence on its way to the store, its lists as JSON. Its strings and bytes are valid as long as
// the row.
type Row struct {
	// Life turns the id into another visitor if a person with the id was erased before; see event.Row.
	Life uint64
	Occurrence
	FramesJSON, BreadcrumbsJSON, TagsJSON, DetailsJSON []byte

	EnvironmentNumber uint64
	Issue             uint64
	// FormerIssue is the issue that the former grouping would have chosen.
	FormerIssue   uint64
	Fingerprint   string
	RetentionDays uint32
	// Item is the error's place among the errors of its log record.
	Item int
}

// Bytes is the approximate size of the row in a block.
func (r *Row) Bytes() int {
	return len(r.Message) + len(r.Stack) + len(r.Extra) + len(r.FramesJSON) + len(r.BreadcrumbsJSON) + len(r.TagsJSON) + len(r.DetailsJSON) + 512
}

// Limits of an error item. A report over MaxErrorBytes is refused. Parts of a report over their own limits are cut,
// because a shortened report is worth more than none.
const (
	MaxErrorBytes      = 1 << 20
	MaxErrorMessage    = 8 << 10
	MaxErrorStack      = 32 << 10
	MaxErrorExtra      = 16 << 10
	MaxErrorExtraDepth = 8
	MaxFrames          = 100
	MaxFrameText       = 512
	MaxBreadcrumbs     = 100
	MaxBreadcrumbText  = 512
	MaxTags            = 50
	MaxTagBytes        = 200
	MaxFingerprint     = 20
)

// StackName names a report that has only a stack; its place is its message.
const StackName = "Stack"

// unknownError is the name of errors that came without one.
const unknownError = "Error"

// Normalise completes an occurrence that a client sent and cuts it to the limits. It parses a stack without frames, and
// derives a missing name, message, level and culprit. It does not check the texts that identify or time the occurrence.
//
// If no call of the application led to the error, but one led to a cause of it, the occurrence becomes that cause (see
// Cause), and Normalise returns true.
func (o *Occurrence) Normalise() bool {
	turned := o.turn()
	if len(o.Frames) == 0 && o.Stack != "" {
		parsed, former := parseStack(domain.Truncate(o.Stack, MaxErrorStack))
		if former != nil && o.Former == nil {
			read := o.read(former)
			read.Name = cmp.Or(read.Name, unknownError)
			o.Former = &read
		}
		read := o.read(&parsed)
		o.Name, o.Message, o.Frames = read.Name, read.Message, read.Frames
		if len(o.Causes) == 0 {
			o.Causes = parsed.Causes
			turned = o.turn()
		}
	}
	if o.Name == "" {
		o.Name = unknownError
	}
	if o.Level == "" {
		o.Level = LevelError
	}
	o.trim()
	if o.Culprit == "" {
		o.Culprit = o.Place()
	}
	o.Culprit = domain.Truncate(o.Culprit, MaxFrameText)
	return turned
}

// read completes the occurrence with the parsed text of its stack: calls, and name and message of an error without a
// name.
func (o *Occurrence) read(parsed *ParsedStack) Group {
	read := o.group()
	read.Frames = parsed.Frames
	if read.Name == "" {
		read.Name, read.Message = parsed.Name, cmp.Or(read.Message, parsed.Message)
	}
	return read
}

// trim cuts every text and list to its limit.
func (o *Occurrence) trim() {
	o.Name, o.Message, o.Stack = domain.Truncate(o.Name, event.MaxNameBytes), domain.Truncate(o.Message, MaxErrorMessage), domain.Truncate(o.Stack, MaxErrorStack)
	o.Mechanism, o.Release = domain.Truncate(o.Mechanism, event.MaxNameBytes), domain.Truncate(o.Release, event.MaxNameBytes)
	o.Locale, o.AppVersion = domain.Truncate(o.Locale, event.MaxNameBytes), domain.Truncate(o.AppVersion, event.MaxNameBytes)
	o.URL, o.Path, o.Referrer = domain.Truncate(o.URL, event.MaxURLBytes), domain.Truncate(o.Path, event.MaxURLBytes), domain.Truncate(o.Referrer, event.MaxURLBytes)
	o.Request.Method, o.Request.URL = domain.Truncate(o.Request.Method, 16), domain.Truncate(o.Request.URL, event.MaxURLBytes)
	// Of a very deep stack both ends matter, the throwing end more.
	if len(o.Frames) > MaxFrames {
		const outer = 10
		o.Frames = slices.Concat(o.Frames[:MaxFrames-outer], o.Frames[len(o.Frames)-outer:])
	}
	for i := range o.Frames {
		frame := &o.Frames[i]
		frame.File, frame.Function = domain.Truncate(frame.File, MaxFrameText), domain.Truncate(frame.Function, MaxFrameText)
		frame.Module, frame.Unmapped = domain.Truncate(frame.Module, MaxFrameText), domain.Truncate(frame.Unmapped, MaxFrameText)
		frame.Line, frame.Column = max(frame.Line, 0), max(frame.Column, 0)
	}
	o.trimCode()
	o.Breadcrumbs = o.Breadcrumbs[max(0, len(o.Breadcrumbs)-MaxBreadcrumbs):]
	for i := range o.Breadcrumbs {
		crumb := &o.Breadcrumbs[i]
		crumb.Timestamp, crumb.Category, crumb.Message = domain.Truncate(crumb.Timestamp, 64), domain.Truncate(crumb.Category, event.MaxNameBytes), domain.Truncate(crumb.Message, MaxBreadcrumbText)
	}
	o.Tags = firstPairs(o.Tags, MaxTags, MaxTagBytes)
	o.Details.trim()
}

// Place returns where an error comes from: the application's call that threw it, else any call, else the page.
func (o *Occurrence) Place() string {
	frames := groupingFrames(o.Frames)
	if len(frames) == 0 {
		if o.Path == "" && o.URL != "" {
			return event.PathOf(o.URL)
		}
		return o.Path
	}
	frame := frames[0]
	place := FrameFile(frame.File)
	if frame.Module != "" && !isScriptFile(frame.File) {
		place = frame.Module
	}
	switch {
	case frame.Function == "":
		return place
	case place == "":
		return frame.Function
	default:
		return frame.Function + " (" + place + ")"
	}
}

// titleBytes is the length of the longest title.
const titleBytes = 200

// IssueTitle is the title of an issue: the error's name and the first line of its message.
func IssueTitle(name, message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	line = strings.TrimSpace(line)
	if line == "" {
		return domain.Truncate(name, titleBytes)
	}
	return domain.Truncate(name+": "+line, titleBytes)
}

// Mask hides the e-mail-like values of an occurrence from callers without people.pii.read, in every field that a client
// can fill.
func (o *Occurrence) Mask() {
	for _, field := range []*string{
		&o.Name, &o.Message, &o.Culprit, &o.Stack, &o.URL, &o.Path, &o.Referrer, &o.Request.URL,
		&o.PersonID, &o.SessionID, &o.DistinctID, &o.AnonymousID, &o.Mechanism,
	} {
		*field = domain.MaskShapes(*field)
	}
	o.Frames = slices.Clone(o.Frames)
	for i := range o.Frames {
		frame := &o.Frames[i]
		frame.File, frame.Function, frame.Module = domain.MaskShapes(frame.File), domain.MaskShapes(frame.Function), domain.MaskShapes(frame.Module)
		frame.Vars = domain.MaskJSON(frame.Vars)
		if code := frame.Code; code != nil {
			masked := FrameCode{Line: domain.MaskShapes(code.Line)}
			for _, line := range code.Before {
				masked.Before = append(masked.Before, domain.MaskShapes(line))
			}
			for _, line := range code.After {
				masked.After = append(masked.After, domain.MaskShapes(line))
			}
			frame.Code = &masked
		}
	}
	o.Breadcrumbs = slices.Clone(o.Breadcrumbs)
	for i := range o.Breadcrumbs {
		crumb := &o.Breadcrumbs[i]
		crumb.Category, crumb.Message = domain.MaskShapes(crumb.Category), domain.MaskShapes(crumb.Message)
	}
	o.Tags, o.Extra = maskPairs(o.Tags), domain.MaskJSON(o.Extra)
	o.Details.mask()
}
