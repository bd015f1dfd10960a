package domain_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"svc/domain"
)

func TestCodesAreOneTable(t *testing.T) {
	seen := map[domain.Code]bool{}
	for _, info := range domain.Codes() {
		if seen[info.Code] || info.Title == "" || info.Meaning == "" || http.StatusText(info.Status) == "" || info.Status < 400 {
			t.Errorf("%+v", info)
		}
		seen[info.Code] = true
		if got := domain.InfoOf(info.Code); got != info {
			t.Errorf("%+v, want %+v", got, info)
		}
	}
	if got := domain.InfoOf("made_up"); got.Code != domain.CodeInternal {
		t.Errorf("%+v", got)
	}
}

func TestErrors(t *testing.T) {
	field := domain.FieldError{Field: "a", Code: "required", Message: "The a is required."}
	for _, test := range []struct {
		got  error
		want domain.Error
		text string
	}{
		{domain.Errorf(domain.CodeConflict, "%q is taken.", "x"), domain.Error{Code: domain.CodeConflict, Message: `"x" is taken.`}, `conflict: "x" is taken.`},
		{domain.Invalid(field, field), domain.Error{Code: domain.CodeInvalidRequest, Message: field.Message, Fields: []domain.FieldError{field, field}}, "invalid_request: The a is required."},
		{domain.Invalid(), domain.Error{Code: domain.CodeInvalidRequest, Message: "The request is not valid."}, "invalid_request: The request is not valid."},
		{domain.NotFound("flag"), domain.Error{Code: domain.CodeNotFound, Message: "No such flag."}, "not_found: No such flag."},
		{domain.Unavailable("The store", time.Second), domain.Error{Code: domain.CodeUnavailable, Message: "The store does not answer.", RetryAfter: time.Second}, "unavailable: The store does not answer."},
	} {
		got, ok := errors.AsType[*domain.Error](test.got)
		if !ok || !reflect.DeepEqual(*got, test.want) || got.Error() != test.text {
			t.Errorf("%+v, want %+v", got, test.want)
		}
		if code := domain.CodeOf(fmt.Errorf("asking: %w", test.got)); code != test.want.Code {
			t.Errorf("%s", code)
		}
	}
	if domain.CodeOf(errors.New("x")) != domain.CodeInternal {
		t.Error("an unknown error is internal")
	}
}
