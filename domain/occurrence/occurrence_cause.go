package occurrence

import (
	"slices"
	"strings"
)

// Cause is an error that led to another one. Frameworks wrap an error of the application in an error of their own.
// Examples are RuntimeException of Android tasks, TargetInvocationException of .NET and InvocationTargetException of
// Java. Grouped by the wrapper, all faults of the application would be one issue.
type Cause struct {
	Name, Message string
	// Frames begin with the call in which the error was thrown.
	Frames []Frame
}

// MaxCauses limits the causes of one error.
const MaxCauses = 50

// turn replaces the occurrence with the nearest of its causes that has a call of the application. It changes nothing if
// the occurrence has such a call itself. If no cause has one, turn removes the outer errors that only wrap another
// error.
func (o *Occurrence) turn() bool {
	if len(o.Causes) == 0 || hasOwn(o.Frames) {
		return false
	}
	at := slices.IndexFunc(o.Causes, func(cause Cause) bool { return hasOwn(cause.Frames) })
	if at < 0 {
		at = o.wrapped() - 1
	}
	if at < 0 {
		return false
	}
	if o.Former == nil {
		former := o.group()
		o.Former = &former
	}
	if o.Stack == "" {
		o.Stack = o.chain()
	}
	cause := o.Causes[at]
	o.Name, o.Message, o.Template, o.Frames, o.Causes = cause.Name, cause.Message, "", cause.Frames, o.Causes[at+1:]
	return true
}

// hasOwn reports whether a stack contains a call of the application.
func hasOwn(frames []Frame) bool {
	return slices.ContainsFunc(frames, func(frame Frame) bool { return frame.InApp })
}

// wrapped returns the number of errors, counted from the outermost, that only wrap the next one.
func (o *Occurrence) wrapped() int {
	count, name, message := 0, o.Name, o.Message
	for count < len(o.Causes) && isWrapper(name, message, &o.Causes[count]) {
		name, message = o.Causes[count].Name, o.Causes[count].Message
		count++
	}
	return count
}

// chain writes the titles of an error and of its causes.
func (o *Occurrence) chain() string {
	titles := []string{IssueTitle(o.Name, o.Message)}
	for i := range o.Causes {
		titles = append(titles, "Caused by: "+IssueTitle(o.Causes[i].Name, o.Causes[i].Message))
	}
	return strings.Join(titles, "\n")
}

// isWrapper reports whether an error only states that another error happened. This follows from its type or from a
// framework's sentence, or its message repeats the text of the other error.
func isWrapper(name, message string, cause *Cause) bool {
	switch name[strings.LastIndexAny(name, `.\:/`)+1:] {
	case "InvocationTargetException", "UndeclaredThrowableException", "ExecutionException", "CompletionException", "ExceptionInInitializerError", "PrivilegedActionException",
		"TargetInvocationException", "AggregateException", "TypeInitializationException", "ExceptionGroup", "BaseExceptionGroup", "AggregateError",
		"HandlerFailedException", "NestedServletException", "ViewException":
		return true
	}
	for _, sentence := range []string{
		"An error occurred while executing doInBackground()", "Unable to start activity ", "Unable to resume activity ", "Unable to pause activity ", "Unable to stop activity ",
		"Unable to destroy activity ", "Unable to create application ", "Unable to instantiate ", "Unable to create service ", "Unable to start service ", "Unable to bind to service ",
		"Unable to start receiver ", "Unable to get provider ", "Error receiving broadcast ", "Failure delivering result ", "Failure from system",
		"Request processing failed", "Handler dispatch failed", "Exception has been thrown by the target of an invocation",
	} {
		if strings.HasPrefix(message, sentence) {
			return true
		}
	}
	text := cause.Name
	if cause.Message != "" {
		text += ": " + cause.Message
	}
	before, found := strings.CutSuffix(message, text)
	return found && text != "" && (before == "" || strings.HasSuffix(before, ".") && !strings.Contains(before, " "))
}
