package flags

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"svc/domain"
	"svc/domain/flag"
	"svc/http/route"
)

// posthogInput is the request of PostHog's SDKs. It may come gzipped, or as a form with the member data.
type posthogInput struct {
	Config string `query:"config" doc:"true adds the settings that posthog-js asks for."`
	Body   struct {
		Token            string         `json:"token" doc:"The ingest key; api_key is the same."`
		APIKey           string         `json:"api_key" doc:"The ingest key."`
		DistinctID       string         `json:"distinct_id" required:"true"`
		AnonymousID      string         `json:"$anon_distinct_id"`
		DeviceID         string         `json:"$device_id"`
		PersonProperties map[string]any `json:"person_properties"`
		Groups           map[string]any `json:"groups" doc:"The member company is the company of the person."`
		Keys             []string       `json:"flag_keys_to_evaluate"`
	} `body:"json"`
}

type posthogFlag struct {
	Key     string  `json:"key"`
	Enabled bool    `json:"enabled"`
	Variant *string `json:"variant"`
	Reason  struct {
		Code           string `json:"code"`
		Description    string `json:"description"`
		ConditionIndex *int   `json:"condition_index"`
	} `json:"reason"`
	Metadata struct {
		ID          uint32  `json:"id"`
		Version     uint64  `json:"version"`
		Payload     *string `json:"payload"`
		Description *string `json:"description"`
	} `json:"metadata"`
}

type posthogFlags struct {
	Flags       map[string]posthogFlag `json:"flags"`
	Errors      bool                   `json:"errorsWhileComputingFlags"`
	RequestID   string                 `json:"requestId"`
	Values      map[string]any         `json:"featureFlags,omitempty"`
	Payloads    map[string]string      `json:"featureFlagPayloads,omitempty"`
	Compression []string               `json:"supportedCompression,omitempty"`
}

// posthogReason returns the code and the text of a reason.
func posthogReason(outcome *flag.Outcome) (code, words string) {
	switch outcome.Reason() {
	case flag.ByRule:
		return "condition_match", "Matched rule " + outcome.Rule()
	case flag.ByRollout, flag.ByDefault, flag.PersonUnknown:
		if outcome.Enabled() {
			return "condition_match", "In the rollout"
		}
		return "out_of_rollout_bound", "Out of the rollout"
	case flag.IsDisabled, flag.IsArchived:
		return "flag_disabled", "The flag is disabled"
	case flag.PrerequisiteOff:
		return "no_condition_match", "A prerequisite is not met"
	}
	return "no_condition_match", "No condition matched"
}

// encodePostHog writes an outcome as a member of the object flags.
func encodePostHog(outcome *flag.Outcome) []byte {
	f := posthogFlag{Key: outcome.Flag().Key, Enabled: outcome.Enabled()}
	if variant := outcome.Variant(); variant != "" && outcome.Flag().Kind() == flag.Multivariate {
		f.Variant = &variant
	}
	f.Reason.Code, f.Reason.Description = posthogReason(outcome)
	f.Metadata.ID, f.Metadata.Version = uint32(xxh3.HashString(f.Key)>>33), outcome.Flag().Version
	if payload := string(outcome.Payload()); payload != "" && outcome.Enabled() {
		f.Metadata.Payload = &payload
	}
	encoded, err := json.Marshal(f)
	if err != nil {
		return nil
	}
	return append(append(append([]byte{'"'}, f.Key...), `":`...), encoded...)
}

func (f *Flags) servePostHog(w *route.Response, r *http.Request) { f.answerPostHog(w, r, false) }

func (f *Flags) serveDecide(w *route.Response, r *http.Request) {
	f.answerPostHog(w, r, r.URL.Query().Get("v") != "4")
}

// refusePostHog answers as PostHog's SDKs expect: a plain sentence.
func refusePostHog(w *route.Response, err error) {
	if refusal, ok := errors.AsType[*domain.Error](err); ok && route.RetryAfter(refusal) > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(route.RetryAfter(refusal)))
	}
	http.Error(w, err.Error(), domain.InfoOf(domain.CodeOf(err)).Status)
}

// answerPostHog answers an SDK of PostHog; values adds the members that versions of the protocol before 4 read.
func (f *Flags) answerPostHog(w *route.Response, r *http.Request, values bool) {
	w.AllowCredentials(r)
	e := begin(f.Now())
	defer e.end()
	if err := e.read(r); err != nil {
		refusePostHog(w, err)
		return
	}
	e.unform()
	request, err := e.readPostHog()
	if err == nil {
		var collector *domain.Collector
		if collector, err = f.admit(r, request.key); err == nil {
			e.use(f, collector)
			err = e.tellPostHog(&request)
		}
	}
	if err != nil {
		refusePostHog(w, err)
		return
	}
	f.know(e)
	f.appendPostHog(e, values)
	e.out = appendText(append(e.out, `,"errorsWhileComputingFlags":false,"requestId":`...), w.RequestID())
	if r.URL.Query().Get("config") == "true" || values {
		e.out = append(e.out, `,"supportedCompression":["gzip","gzip-js"],"sessionRecording":false,"surveys":false,"heatmaps":false,"autocapture_opt_out":true,"isAuthenticated":false,"toolbarParams":{},"analytics":{"endpoint":"/i/v0/e/"}`...)
	}
	e.out = append(e.out, '}', '\n')
	e.send(w)
}

// appendPostHog evaluates the requested flags and writes the answer.
func (f *Flags) appendPostHog(e *evaluation, values bool) {
	e.pickLive()
	f.evaluate(e, surfacePostHog)
	e.out = append(e.out[:0], `{"flags":{`...)
	for n, outcome := range e.outcomes {
		if n > 0 {
			e.out = append(e.out, ',')
		}
		e.out = append(e.out, fragment(outcome, surfacePostHog, encodePostHog)...)
	}
	e.out = append(e.out, '}')
	if values {
		e.appendValues()
	}
}

// appendValues writes the answers in the form of earlier versions of the protocol.
func (e *evaluation) appendValues() {
	flags, payloads := map[string]any{}, map[string]string{}
	for _, outcome := range e.outcomes {
		key := outcome.Flag().Key
		flags[key] = outcome.Enabled()
		if variant := outcome.Variant(); outcome.Flag().Kind() == flag.Multivariate && variant != "" {
			flags[key] = variant
		}
		if payload := outcome.Payload(); payload != nil && outcome.Enabled() {
			payloads[key] = string(payload)
		}
	}
	for name, value := range map[string]any{"featureFlags": flags, "featureFlagPayloads": payloads} {
		if encoded, err := json.Marshal(value); err == nil {
			e.out = append(append(appendText(append(e.out, ','), name), ':'), encoded...)
		}
	}
}

// posthogRequest contains the used fields of a request's body.
type posthogRequest struct {
	key, distinct, anonymous string
	person, groups, keys     flag.Value
}

// readPostHog reads the body, which contains the key.
func (e *evaluation) readPostHog() (request posthogRequest, err error) {
	refused, ok := flag.ReadObject(e.body, func(name string, value flag.Value) bool {
		switch name {
		case "token", "api_key":
			if text, _ := value.Text(); text != "" {
				request.key = strings.Clone(text)
			}
		case "distinct_id":
			request.distinct, err = idOf(name, value)
		case "$device_id", "$anon_distinct_id":
			var id string
			if id, err = idOf(name, value); id != "" && (request.anonymous == "" || name == "$device_id") {
				request.anonymous = id
			}
		case "person_properties":
			request.person = value
		case "groups":
			request.groups = value
		case "flag_keys_to_evaluate":
			request.keys = value
		}
		return err == nil
	})
	if err == nil && !ok {
		err = invalid(refused, "invalid_json", "The body must be one JSON object, nested 32 levels at most.")
	}
	return request, err
}

// tellPostHog copies the fields of the body into the context.
func (e *evaluation) tellPostHog(request *posthogRequest) error {
	if request.distinct == "" {
		return invalid("distinct_id", "required", "The field distinct_id is required.")
	}
	if !request.person.Members(e.context.Set) {
		return invalid("person_properties", "invalid_type", "The field person_properties must be an object.")
	}
	if !request.groups.Members(e.context.Set) {
		return invalid("groups", "invalid_type", "The field groups must be an object.")
	}
	e.context.Identify(request.distinct, request.anonymous)
	return e.pickAll("flag_keys_to_evaluate", request.keys)
}
