package analytics

import (
	"context"
	"time"

	"svc/domain/telemetry"
	"svc/http/api"
	"svc/http/route"
)

// Sampling returns the share of visitors for which an environment stores events at an instant; nil if it stores all.
type Sampling func(environment uint64, now time.Time) *telemetry.Sampled

// sampling is part of every answer that counts events.
type sampling struct {
	Sampled *api.Sampled `json:"sampled,omitempty" doc:"The environment keeps a share of its visitors only, and the numbers are theirs: nothing is scaled up. Absent where all are kept."`
}

func (s *sampling) mark(found *telemetry.Sampled) { s.Sampled = api.SampledOf(found) }

// environment returns the number of the environment that a read covers.
func (c covered) environment() uint64 { return c.Env.Number }

// marked is a read with an answer that shows whether its environment is sampled.
func marked[In interface{ environment() uint64 }, Out any, Marked interface {
	*Out
	mark(found *telemetry.Sampled)
}](sampling Sampling, read func(context.Context, *route.Call, In) (Out, error),
) func(context.Context, *route.Call, In) (Out, error) {
	return func(ctx context.Context, call *route.Call, in In) (Out, error) {
		out, err := read(ctx, call, in)
		if err == nil && sampling != nil {
			Marked(&out).mark(sampling(in.environment(), call.Now))
		}
		return out, err
	}
}
