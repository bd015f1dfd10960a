package flags

import (
	"net/http"
	"slices"
	"time"

	"github.com/go-faster/city"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/flag"
	domainingest "svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/http/ingest"
	"svc/http/route"
	"svc/protos"
)

// Definitions is the node's snapshot of compiled flags.
type Definitions interface {
	// Set returns the flags of an application in an environment; it is never nil.
	Set(ref domain.AppRef, environment string) *flag.Set
	// Watch is Set with a channel that is closed when the set is superseded, and the time at which the set was made.
	Watch(ref domain.AppRef, environment string) (set *flag.Set, superseded <-chan struct{}, since time.Time)
	// All returns the flags of an application by key, including archived ones, and their revision.
	All(ref domain.AppRef) (flags []flag.Flag, revision uint64)
}

// Persons reads cached profiles without a call.
type Persons interface {
	// Person returns the cached profile of a visitor of an environment. It returns nil if the profile is not cached,
	// and then begins to load it.
	Person(environment, visitor uint64) *flag.Person
}

// Exposures records the variants that visitors have seen, as far as the telemetry policy permits.
type Exposures interface {
	// Recording returns the policy for recording evaluations in an environment.
	Recording(environment uint64) telemetry.FlagsPolicy
	// LeaveOut counts evaluations that are not recorded, by their fate.
	LeaveOut(environment uint64, fate domainingest.Fate, count int64)
	// Expose records that a visitor of an environment was served outcomes; it does not retain the slice. It reports
	// whether it has recorded all that count. It neither waits nor fails.
	Expose(environment, visitor uint64, outcomes []*flag.Outcome, now time.Time) (noted bool)
}

// Flags answers evaluations.
type Flags struct {
	Authority   ingest.Authority
	Definitions Definitions
	// Persons may be nil: then there are no profiles.
	Persons   Persons
	Exposures Exposures
	// Tokens names streams without revealing keys.
	Tokens Tokens
	Now    func() time.Time
	// Origin is the address under which clients reach the service, empty if only the request shows it.
	Origin string
	// Memory caches answers to repeated requests; nil caches none.
	Memory *flag.Memory
}

// manyFlags is the number of flags from which an answer is cached: fewer are evaluated as fast as they are looked up.
const manyFlags = 64

// retryAfter is the time that clients of a stream wait before they reconnect.
const retryAfter = 2 * time.Second

// Routes returns the rows of the package.
func (f *Flags) Routes() []route.Route {
	row := func(method, path, operation, summary string, shape route.Endpoint, serve func(w *route.Response, r *http.Request)) route.Route {
		return route.Route{
			Surface: route.Collect, Method: method, Path: path, Operation: operation, Effect: route.Read, Summary: summary, Handler: shape,
			Codes: []domain.Code{domain.CodeInvalidRequest, domain.CodeUnauthorized, domain.CodeForbidden, domain.CodeTooLarge, domain.CodeUnavailable},
			Raw: func(w *route.Response, r *http.Request) {
				if r.Header["Origin"] != nil {
					w.AllowOrigin(r)
				}
				if r.Method != http.MethodOptions {
					serve(w, r)
				}
			},
		}
	}
	return []route.Route{
		row("POST", "/api/v1/flags/evaluate", "flags.evaluate", "Evaluate flags for one person.", route.Shape[evaluateInput, evaluated](), f.serveNative),
		row("GET", "/api/v1/flags/stream", "flags.stream", "Hear of every change of the flags: server-sent events.", route.Shape[streamInput, flagsChanged](), f.serveStream),
		row("GET", "/api/v1/flags/definitions", "flags.definitions", "The definitions of an environment, for servers that evaluate by themselves; with a secret key.", route.Shape[definitionsInput, definitions](), f.serveDefinitions),
		row("POST", "/ofrep/v1/evaluate/flags/{key}", "flags.ofrep", "OpenFeature Remote Evaluation Protocol: one flag.", route.Shape[ofrepInput, ofrepFlag](), f.serveOFREP),
		row("POST", "/ofrep/v1/evaluate/flags", "flags.ofrepAll", "OpenFeature Remote Evaluation Protocol: all flags.", route.Shape[ofrepBulkInput, ofrepFlags](), f.serveOFREPAll),
		row("GET", "/ofrep/v1/stream", "flags.ofrepStream", "OpenFeature Remote Evaluation Protocol: hear of changes.", route.Shape[streamInput, flagsChanged](), f.serveStream),
		row("POST", "/flags", "flags.posthog", "Flags as PostHog's SDKs ask for them.", route.Shape[posthogInput, posthogFlags](), f.servePostHog),
		row("POST", "/decide", "flags.posthogDecide", "Flags as earlier SDKs of PostHog ask for them.", route.Shape[posthogInput, posthogFlags](), f.serveDecide),
	}
}

// admit returns the permissions of a request's key, if they include flags.
func (f *Flags) admit(r *http.Request, inside string) (*domain.Collector, error) {
	collector, err := f.Authority.Collector(r, inside)
	if err == nil {
		err = allowed(collector)
	}
	return collector, err
}

// allowed fails if the application has switched flags off.
func allowed(collector *domain.Collector) error {
	if slices.Contains(collector.Modules, domain.ModuleFlags) {
		return nil
	}
	return &domain.Error{Code: domain.CodeModuleDisabled, Module: domain.ModuleFlags, Message: "The application has switched the module flags off."}
}

// know adds the person's profile to the context, if a flag of the set may read it and the caller has not sent it.
func (f *Flags) know(e *evaluation) {
	if f.Persons == nil || !e.set.Asks(&e.context) || !slices.Contains(e.collector.Modules, domain.ModulePeople) {
		return
	}
	if e.nameless() {
		e.person = &flag.Person{} // A placeholder id has no profile to load.
	} else {
		e.person = f.Persons.Person(e.collector.Environment.Number, e.visitor())
	}
	e.context.Know(e.person)
}

// evaluate answers all requested flags, and counts and records the answers.
func (f *Flags) evaluate(e *evaluation, surface int) {
	many := f.Memory != nil && e.asked() >= manyFlags
	var recall flag.Recall
	question := flag.Question{Environment: e.collector.Environment.Number, Surface: surface, Text: e.body, Person: e.person}
	if many {
		recall = f.Memory.Recall(e.set, &question, e.now)
	}
	for n := range e.asked() {
		place := e.place(n)
		entry := e.set.Entries[place]
		outcome := recall.Outcome(e.set, place)
		if outcome == nil {
			outcome = e.set.Evaluate(entry, &e.context)
		}
		entry.Count(outcome)
		e.outcomes = append(e.outcomes, outcome)
	}
	answer := recall.Answer
	if many && !recall.Whole {
		answer = recall.Remember(e.set, &question, e.now, e.outcomes)
	}
	f.record(e, answer)
}

// record records the outcomes of a request; answer is their cached answer, or nil.
func (f *Flags) record(e *evaluation, answer *flag.Answer) {
	switch {
	case f.Exposures == nil || len(e.outcomes) == 0:
	case f.fate(e) != domainingest.FateStored:
		f.Exposures.LeaveOut(e.collector.Environment.Number, e.fate, int64(len(e.outcomes)))
	case answer != nil && answer.Noted.Load():
	default:
		noted := f.Exposures.Expose(e.collector.Environment.Number, e.visitor(), e.outcomes, e.now)
		if answer != nil && noted {
			answer.Noted.Store(true)
		}
	}
}

// fate returns the fate of the evaluations of a request. All belong to one visitor, so all have the same fate.
func (f *Flags) fate(e *evaluation) domainingest.Fate {
	if e.fate != "" {
		return e.fate
	}
	environment := e.collector.Environment.Number
	recording := f.Exposures.Recording(environment)
	switch {
	case !recording.RecordEvaluations:
		e.fate = domainingest.FateDisabled
	case e.nameless():
		e.fate = domainingest.FateInvalid
	case recording.SampleRate < 1 && !telemetry.InSample(protos.VisitorHash(environment, event.Visitor(e.context.DistinctID, e.context.AnonymousID)), recording.SampleRate):
		e.fate = domainingest.FateSampled
	default:
		e.fate = domainingest.FateStored
	}
	return e.fate
}

// nameless reports whether the id of the request is a placeholder. The request is evaluated, but without a profile and
// without an exposure.
func (e *evaluation) nameless() bool {
	return domain.IsPlaceholderID(event.Visitor(e.context.DistinctID, e.context.AnonymousID))
}

// visitor returns the number of the request's visitor in the store.
func (e *evaluation) visitor() uint64 {
	if e.number == 0 {
		e.id = append(e.id[:0], event.Visitor(e.context.DistinctID, e.context.AnonymousID)...)
		e.number = city.CH64(e.id)
	}
	return e.number
}
