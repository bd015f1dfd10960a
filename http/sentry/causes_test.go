package sentry_test

import (
	"testing"

	"svc/domain/occurrence"
)

// chained returns the payload of an event with a chain of errors in Sentry's format. The innermost error comes first.
func chained(platform string, errors ...string) string {
	payload := `{"platform":"` + platform + `","exception":{"values":[`
	for i, one := range errors {
		if i > 0 {
			payload += ","
		}
		payload += one
	}
	return payload + `]}}`
}

// caught returns one error of a chain. frames may be empty.
func caught(kind, value, frames string) string {
	if frames != "" {
		frames = `,"stacktrace":{"frames":[` + frames + `]}`
	}
	return `{"type":"` + kind + `","value":"` + value + `"` + frames + `}`
}

// TestWrappersGiveWayToTheirCause wraps errors of the application in errors of frameworks. Title, culprit, frames and
// group come from the nearest cause that has a call of the application.
func TestWrappersGiveWayToTheirCause(t *testing.T) {
	t.Parallel()
	const (
		task    = `{"module":"java.util.concurrent.FutureTask","function":"run","filename":"FutureTask.java"},{"module":"android.os.AsyncTask$3","function":"done","filename":"AsyncTask.java","lineno":353,"in_app":false}`
		doing   = "An error occurred while executing doInBackground()"
		load    = `{"module":"shop.Cart","function":"load","filename":"Cart.java","lineno":7,"in_app":true}`
		charge  = `{"module":"shop.Pay","function":"charge","filename":"Pay.java","lineno":9,"in_app":true}`
		invoke  = `{"module":"System.RuntimeMethodHandle","function":"InvokeMethod","package":"System.Private.CoreLib"}`
		total   = `{"module":"Shop.Cart","function":"Total","package":"Shop","in_app":true}`
		library = `{"module":"sqlalchemy.engine","function":"execute","filename":"sqlalchemy/engine.py","in_app":false}`
		own     = `{"module":"shop.cart","function":"load","filename":"shop/cart.py","in_app":true}`
	)
	type shown struct{ title, culprit string }
	groups := map[string]string{}
	for name, tc := range map[string]struct {
		payload string
		want    shown
		frames  int
	}{
		"B1 OutOfMemoryError":              {chained("java", caught("OutOfMemoryError", "heap", load), caught("RuntimeException", doing, task)), shown{"OutOfMemoryError: heap", "load (shop.Cart)"}, 1},
		"B1 SecurityException":             {chained("java", caught("SecurityException", "not allowed", charge), caught("RuntimeException", "the task failed", task)), shown{"SecurityException: not allowed", "charge (shop.Pay)"}, 1},
		"B1 the nearest of two":            {chained("java", caught("DeadSystemException", "", load), caught("IllegalStateException", "deep", charge), caught("RuntimeException", doing, task)), shown{"IllegalStateException: deep", "charge (shop.Pay)"}, 1},
		"B1 no call of the application":    {chained("java", caught("DeadSystemException", "", `{"module":"android.os.Parcel","function":"readException"}`), caught("RuntimeException", doing, task)), shown{"DeadSystemException", "readException (android.os.Parcel)"}, 1},
		".NET":                             {chained("csharp", caught("NullReferenceException", "x", total), caught("System.Reflection.TargetInvocationException", "Exception has been thrown by the target of an invocation.", invoke)), shown{"NullReferenceException: x", "Total (Shop.Cart)"}, 1},
		".NET, without calls":              {chained("csharp", caught("TimeoutException", "y", invoke), caught("System.AggregateException", "One or more errors occurred. (y)", "")), shown{"TimeoutException: y", "InvokeMethod (System.RuntimeMethodHandle)"}, 1},
		"Java, the message of the cause":   {chained("java", caught("IOException", "gone", task), caught("RuntimeException", "java.io.IOException: gone", task)), shown{"IOException: gone", "done (android.os.AsyncTask$3)"}, 2},
		"Java, wrapped twice":              {chained("java", caught("KeyException", "k", task), caught("InvocationTargetException", "", task), caught("UndeclaredThrowableException", "", task)), shown{"KeyException: k", "done (android.os.AsyncTask$3)"}, 2},
		"Python, the cause is ours":        {chained("python", caught("KeyError", "7", own), caught("OperationalError", "closed", library)), shown{"KeyError: 7", "load (shop.cart)"}, 1},
		"p11 a group without a stack":      {chained("python", caught("ValueError", "123", own), caught("ExceptionGroup", "nested", "")), shown{"ValueError: 123", "load (shop.cart)"}, 1},
		"p11 a group with a stack":         {chained("python", caught("ValueError", "123", ""), caught("ExceptionGroup", "nested", own)), shown{"ExceptionGroup: nested", "load (shop.cart)"}, 1},
		"a call of the application":        {chained("java", caught("IOException", "gone", load), caught("ServiceException", "no cart", charge)), shown{"ServiceException: no cart", "charge (shop.Pay)"}, 1},
		"neither is a wrapper nor is ours": {chained("java", caught("BindException", "in use", task), caught("LifecycleException", "failed", task)), shown{"LifecycleException: failed", "done (android.os.AsyncTask$3)"}, 2},
	} {
		o := parse(t, tc.payload).Occurrence()
		o.Normalise()
		if got := (shown{occurrence.IssueTitle(o.Name, o.Message), o.Culprit}); got != tc.want || len(o.Frames) != tc.frames {
			t.Errorf("%s: %+v with %d calls, want %+v with %d", name, got, len(o.Frames), tc.want, tc.frames)
		}
		group := occurrence.Fingerprint(o, nil)
		if other := groups[group]; other != "" {
			t.Errorf("%s is one issue with %s", name, other)
		}
		groups[group] = name
	}
}

// TestTheIssueOfAWrapperContinues covers the former grouping, which used the wrapper.
func TestTheIssueOfAWrapperContinues(t *testing.T) {
	t.Parallel()
	const task = `{"module":"android.os.AsyncTask$3","function":"done","filename":"AsyncTask.java","lineno":353,"in_app":false}`
	wrapper := caught("RuntimeException", "the task failed", task)
	wrapped := parse(t, chained("java", caught("OutOfMemoryError", "heap", `{"module":"shop.Cart","function":"load","in_app":true}`), wrapper)).Occurrence()
	wrapped.Normalise()
	alone := parse(t, chained("java", wrapper)).Occurrence()
	alone.Normalise()
	if got, want := occurrence.FormerFingerprint(wrapped, nil), occurrence.FormerFingerprint(alone, nil); got != want {
		t.Errorf("the former issue is %s, was %s", got, want)
	}
	if wrapped.Stack != "RuntimeException: the task failed\n    at done (AsyncTask.java:353)\nCaused by: OutOfMemoryError: heap\n    at load (shop.Cart)\n" {
		t.Errorf("the stack is %q", wrapped.Stack)
	}
}
