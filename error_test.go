package svc_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"svc"
)

func TestCodesAreOneTable(t *testing.T) {
	seen := map[svc.Code]bool{}
	for _, info := range svc.Codes() {
		if seen[info.Code] || info.Title == "" || info.Meaning == "" || http.StatusText(info.Status) == "" || info.Status < 400 {
			t.Errorf("%+v", info)
		}
		seen[info.Code] = true
		if got := svc.InfoOf(info.Code); got != info {
			t.Errorf("%+v, want %+v", got, info)
		}
	}
	if got := svc.InfoOf("made_up"); got.Code != svc.CodeInternal {
		t.Errorf("%+v", got)
	}
}

func TestErrors(t *testing.T) {
	field := svc.FieldError{Field: "a", Code: "required", Message: "The a is required."}
	for _, test := range []struct {
		got  error
		want svc.Error
		text string
	}{
		{svc.Errorf(svc.CodeConflict, "%q is taken.", "x"), svc.Error{Code: svc.CodeConflict, Message: `"x" is taken.`}, `conflict: "x" is taken.`},
		{svc.Invalid(field, field), svc.Error{Code: svc.CodeInvalidRequest, Message: field.Message, Fields: []svc.FieldError{field, field}}, "invalid_request: The a is required."},
		{svc.Invalid(), svc.Error{Code: svc.CodeInvalidRequest, Message: "The request is not valid."}, "invalid_request: The request is not valid."},
		{svc.NotFound("flag"), svc.Error{Code: svc.CodeNotFound, Message: "No such flag."}, "not_found: No such flag."},
		{svc.Unavailable("The store", time.Second), svc.Error{Code: svc.CodeUnavailable, Message: "The store does not answer.", RetryAfter: time.Second}, "unavailable: The store does not answer."},
	} {
		got, ok := errors.AsType[*svc.Error](test.got)
		if !ok || !reflect.DeepEqual(*got, test.want) || got.Error() != test.text {
			t.Errorf("%+v, want %+v", got, test.want)
		}
		if code := svc.CodeOf(fmt.Errorf("asking: %w", test.got)); code != test.want.Code {
			t.Errorf("%s", code)
		}
	}
	if svc.CodeOf(errors.New("x")) != svc.CodeInternal {
		t.Error("an unknown error is internal")
	}
}
