package grain

import (
	"encoding/json"
	"errors"
	"fmt"

	"svc/domain"
	"svc/protos"
)

// Success encodes an answer.
func Success(answer any) *protos.Answer {
	payload, err := json.Marshal(answer)
	if err != nil {
		return Failure(fmt.Errorf("encoding the answer: %w", err))
	}
	return &protos.Answer{Payload: payload}
}

// Failure encodes an error. Any error but a domain.Error is sent with the code internal; its text is for the log of the
// node on which it happened.
func Failure(err error) *protos.Answer {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		refusal = domain.Errorf(domain.CodeInternal, "%s", err.Error())
	}
	encoded, encodingErr := json.Marshal(refusal)
	if encodingErr != nil {
		encoded = []byte(`{"Code":"internal"}`)
	}
	return &protos.Answer{Failure: &protos.Failure{Error: encoded}}
}

func decodeFailure(f *protos.Failure) error {
	var refusal domain.Error
	if err := json.Unmarshal(f.GetError(), &refusal); err != nil {
		return fmt.Errorf("decoding an actor's failure: %w", err)
	}
	return &refusal
}
