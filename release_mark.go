package svc

import (
	"fmt"
	"time"
)

// ReleaseMarks returns the marks of a release of an application: its deploys to the environment, or else its release or
// announcement.
func ReleaseMarks(r *Release, environment string) []Annotation {
	mark := func(id string, at time.Time, title, text string) Annotation {
		return Annotation{
			ID: "release:" + id, Automatic: true, CreatedAt: r.CreatedAt, UpdatedAt: r.CreatedAt,
			AnnotationSpec: AnnotationSpec{Kind: AnnotationRelease, At: at, Title: title, Text: text},
		}
	}
	var marks []Annotation
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
	return []Annotation{mark(r.Version, at, r.Version, "")}
}
