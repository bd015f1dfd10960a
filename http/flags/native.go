package flags

import (
	"net/http"
	"strconv"

	"svc/domain"
	"svc/domain/flag"
	"svc/http/route"
)

// evaluateInput is the request of the native endpoint.
type evaluateInput struct {
	Key  string `query:"key" doc:"The ingest key, where no header can be set."`
	Body struct {
		DistinctID  string         `json:"distinctId" required:"true" doc:"Who asks: the distinct id of the person, or of the visitor."`
		AnonymousID string         `json:"anonymousId" doc:"The id of the device, for flags that are bucketed by it."`
		Context     map[string]any `json:"context" doc:"What is known of the person: traits and properties by their keys; country, plan and so on."`
		Keys        []string       `json:"keys" doc:"The flags to evaluate; all where it is absent. One that does not exist is absent from the answer."`
	} `body:"json"`
}

// evaluatedFlag is the answer about one flag.
type evaluatedFlag struct {
	Enabled bool        `json:"enabled"`
	Variant *string     `json:"variant" doc:"The variant that is served; null for a boolean flag, and where the flag is off."`
	Value   any         `json:"value" doc:"What the flag evaluates to: the variant's value, else its key; true or false for a boolean flag."`
	Reason  flag.Reason `json:"reason" open:"true" doc:"person_unknown: a rule looks at what was neither sent nor is known here of the person yet, and was passed over."`
	RuleID  string      `json:"ruleId,omitempty" doc:"The rule that decided."`
}

// evaluated is the answer of the native endpoint.
type evaluated struct {
	Flags       map[string]evaluatedFlag `json:"flags"`
	Revision    uint64                   `json:"revision" doc:"Grows with every change of the application's flags."`
	Environment string                   `json:"environment"`
}

// The protocols that cache their encodings in outcomes.
const (
	surfaceNative = iota
	surfaceOFREP
	surfacePostHog
)

// fragment returns the text of an outcome in a protocol, which is encoded at its first use.
func fragment(outcome *flag.Outcome, surface int, encode func(*flag.Outcome) []byte) []byte {
	if text := outcome.Encoded(surface); text != nil {
		return text
	}
	text := encode(outcome)
	outcome.Keep(surface, text)
	return text
}

// encodeNative writes an outcome as a member of the object flags.
func encodeNative(outcome *flag.Outcome) []byte {
	out := append(make([]byte, 0, 96), '"')
	out = append(out, outcome.Flag().Key...)
	out = append(out, `":{"enabled":`...)
	out = strconv.AppendBool(out, outcome.Enabled())
	out = append(out, `,"variant":`...)
	if outcome.Flag().Kind() == flag.Boolean || outcome.Variant() == "" {
		out = append(out, "null"...)
	} else {
		out = appendText(out, outcome.Variant())
	}
	out = append(out, `,"value":`...)
	out = append(out, outcome.Value()...)
	out = append(out, `,"reason":"`...)
	out = append(out, outcome.Reason()...)
	out = append(out, '"')
	if outcome.Rule() != "" {
		out = appendText(append(out, `,"ruleId":`...), outcome.Rule())
	}
	return append(out, '}')
}

// appendText writes a key, which needs no escapes, as a JSON text.
func appendText(out []byte, text string) []byte {
	return append(append(append(out, '"'), text...), '"')
}

func (f *Flags) serveNative(w *route.Response, r *http.Request) {
	e := begin(f.Now())
	defer e.end()
	collector, err := f.admit(r, "")
	if err == nil {
		e.use(f, collector)
		err = e.read(r)
	}
	if err == nil && e.tagged(w, r, onArrival) {
		return
	}
	if err == nil {
		err = e.readNative()
	}
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	f.know(e)
	if e.tagged(w, r, personKnown) {
		return
	}
	f.appendNative(e)
	if e.tagged(w, r, answered) {
		return
	}
	e.send(w)
}

// appendNative evaluates the requested flags and writes the answer.
func (f *Flags) appendNative(e *evaluation) {
	f.evaluate(e, surfaceNative)
	e.out = append(e.out[:0], `{"flags":{`...)
	for n, outcome := range e.outcomes {
		if n > 0 {
			e.out = append(e.out, ',')
		}
		e.out = append(e.out, fragment(outcome, surfaceNative, encodeNative)...)
	}
	e.out = append(e.out, `},"revision":`...)
	e.out = strconv.AppendUint(e.out, e.set.Revision, 10)
	e.out = append(e.out, `,"environment":"`...)
	e.out = append(e.out, e.collector.Environment.Slug...)
	e.out = append(e.out, '"', '}', '\n')
}

// invalid returns the error of one field.
func invalid(field, code, message string) error {
	return domain.Invalid(domain.FieldError{Field: field, Code: code, Message: message})
}

// idOf reads an id, which may be a number.
func idOf(field string, value flag.Value) (string, error) {
	if value.Null() {
		return "", nil
	}
	text, ok := value.Text()
	if !ok {
		return "", invalid(field, "invalid_type", "The field "+field+" must be a string.")
	}
	if len(text) > maxID {
		return "", invalid(field, "too_long", "The field "+field+" is longer than "+strconv.Itoa(maxID)+" bytes.")
	}
	return text, nil
}

// maxID bounds the bytes of an id.
const maxID = 1024

// readNative reads the body of the native endpoint into the context.
func (e *evaluation) readNative() (err error) {
	var distinct, anonymous string
	var context, keys flag.Value
	refused, ok := flag.ReadObject(e.body, func(name string, value flag.Value) bool {
		switch name {
		case "distinctId":
			distinct, err = idOf(name, value)
		case "anonymousId":
			anonymous, err = idOf(name, value)
		case "context":
			context = value
		case "keys":
			keys = value
		}
		return err == nil
	})
	switch {
	case err != nil:
		return err
	case !ok:
		return invalid(refused, "invalid_json", "The body must be one JSON object, nested 32 levels at most.")
	case distinct == "":
		return invalid("distinctId", "required", "The field distinctId is required.")
	}
	if !context.Members(e.context.Set) {
		return invalid("context", "invalid_type", "The field context must be an object.")
	}
	e.context.Identify(distinct, anonymous)
	return e.pickAll("keys", keys)
}

// pickAll adds the requested flags of a list; an absent list means all flags.
func (e *evaluation) pickAll(field string, keys flag.Value) error {
	if keys.Null() {
		return nil
	}
	bad := false
	list := keys.Elements(func(element flag.Value) {
		text, ok := element.Text()
		bad = bad || !ok
		e.pick(text)
	})
	if !list || bad {
		return invalid(field, "invalid_type", "The field "+field+" must be a list of strings.")
	}
	e.picks()
	return nil
}
