package release

import (
	"fmt"
	"time"

	"svc/domain/annotation"
)

// Marks returns the marks of a release of an application: its deploys to the environment, or else its release or
// announcement.
func Marks(r *Release, environment string) []annotation.Annotation {
	mark := func(id string, at time.Time, title, text string) annotation.Annotation {
		return annotation.Annotation{
			ID: "release:" + id, Automatic: true, CreatedAt: r.CreatedAt, UpdatedAt: r.CreatedAt,
			Spec: annotation.Spec{Kind: annotation.Release, At: at, Title: title, Text: text},
		}
	}
	var marks []annotation.Annotation
	for _, deploy := range r.Deploys {
		if deploy.Environment == environment {
			marks = append(marks, mark(fmt.Sprintf("%s:%d", r.Version, deploy.ID), deploy.FinishedAt, r.Version, deploy.Name))
		}
	}
	if len(marks) > 0 || len(r.Deploys) > 0 {
		return marks
	}
	at := r.CreatedAt
	if r.ReleasedAt != nil {
		at = *r.ReleasedAt
	}
	return []annotation.Annotation{mark(r.Version, at, r.Version, "")}
}
