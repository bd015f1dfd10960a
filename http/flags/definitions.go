package flags

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/flag"
	"svc/http/route"
)

// definitionsInput is the request of the definitions.
type definitionsInput struct {
	Accept string `query:"-" doc:"Accept: text/event-stream has the definitions sent, and sent again with every change."`
}

// flagForServers is a flag in one environment, as servers evaluate it.
type flagForServers struct {
	Key            string              `json:"key"`
	Version        uint64              `json:"version"`
	Kind           flag.Kind           `json:"kind"`
	Enabled        bool                `json:"enabled"`
	RolloutPercent float64             `json:"rolloutPercent"`
	StartAt        *time.Time          `json:"startAt"`
	EndAt          *time.Time          `json:"endAt"`
	BucketBy       string              `json:"bucketBy"`
	Variants       []flag.Variant      `json:"variants"`
	Rules          []flag.Rule         `json:"rules"`
	Prerequisites  []flag.Prerequisite `json:"prerequisites"`
}

// definitions is the answer: the flags that are not archived.
type definitions struct {
	Revision    uint64           `json:"revision"`
	Environment string           `json:"environment"`
	Algorithm   string           `json:"algorithm" doc:"The published algorithm of buckets: docs/flags."`
	Flags       []flagForServers `json:"flags"`
}

// algorithm names the mapping from an id to its position in a rollout.
const algorithm = "sha256-u32be-mod10000"

func (f *Flags) definitionsOf(collector *domain.Collector) definitions {
	flags, revision := f.Definitions.All(collector.App)
	answer := definitions{Revision: revision, Environment: collector.Environment.Slug, Algorithm: algorithm, Flags: []flagForServers{}}
	for n := range flags {
		flag := &flags[n]
		if flag.Archived {
			continue
		}
		state := flag.SwitchOf(collector.Environment.Slug)
		answer.Flags = append(answer.Flags, flagForServers{
			Key: flag.Key, Version: flag.Version, Kind: flag.Kind, Enabled: state.Enabled, RolloutPercent: state.Rollout(), StartAt: state.StartAt, EndAt: state.EndAt,
			BucketBy: flag.BucketBy, Variants: flag.Variants, Rules: flag.Rules, Prerequisites: flag.Prerequisites,
		})
	}
	return answer
}

// encodedDefinitions returns the definitions as JSON, and their revision. After a change all servers request the same
// definitions at the same time, so they are encoded once.
func (f *Flags) encodedDefinitions(collector *domain.Collector) (text []byte, revision uint64) {
	environment := collector.Environment.Slug
	set := f.Definitions.Set(collector.App, environment)
	kept := set.Text(func() []byte {
		answer := f.definitionsOf(collector)
		text, _ = json.Marshal(answer) // Plain data always encodes.
		if revision = answer.Revision; revision != set.Revision || environment != set.Environment {
			return nil // The text belongs to a later set, or the set is shared by all environments that no flag names.
		}
		return text
	})
	if kept != nil {
		return kept, set.Revision
	}
	return text, revision
}

// serveDefinitions answers the definitions, or sends them after every change. Only the customer's own servers may read
// their content, so they require a secret key.
func (f *Flags) serveDefinitions(w *route.Response, r *http.Request) {
	s, err := f.subscribe(r)
	if err == nil && s.collector.Kind != domain.KeySecret {
		err = domain.Errorf(domain.CodeForbidden, "The definitions need a secret key; a public one evaluates flags.")
	}
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		seen, err := strconv.ParseUint(r.Header.Get("Last-Event-Id"), 10, 64)
		if err != nil {
			seen = ^uint64(0) // This makes the first message contain the present definitions.
		}
		f.follow(w, r, s, seen, func(out []byte, set *flag.Set, _ time.Time) []byte {
			encoded, _ := f.encodedDefinitions(s.collector)
			out = append(strconv.AppendUint(append(out, "id: "...), set.Revision, 10), "\nevent: definitions\ndata: "...)
			return append(append(out, encoded...), "\n\n"...)
		})
		return
	}
	tagged := func(revision uint64) (known bool) {
		tag := `"` + strconv.FormatUint(revision, 10) + `"`
		w.Header()["Etag"], w.Header()["Cache-Control"] = []string{tag}, noCache
		return holdsTag(r.Header.Get("If-None-Match"), tag)
	}
	if tagged(f.Definitions.Set(s.collector.App, s.collector.Environment.Slug).Revision) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	encoded, revision := f.encodedDefinitions(s.collector)
	tagged(revision)
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(encoded)
}
