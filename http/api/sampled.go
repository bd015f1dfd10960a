package api

import (
	"svc/domain/telemetry"
	"svc/http/route"
)

// Sampled marks answers about an environment that count only a share of its visitors.
type Sampled struct {
	Rate  float64    `json:"rate"`
	Since route.Time `json:"since" doc:"Earlier items are those of all visitors."`
}

// SampledOf returns the sample of an answer's environment, nil if all visitors are stored.
func SampledOf(s *telemetry.Sampled) *Sampled {
	if s == nil {
		return nil
	}
	return &Sampled{Rate: s.Rate, Since: route.Time(s.Since)}
}
