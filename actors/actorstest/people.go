package actorstest

import (
	"fmt"
	"time"

	"svc/domain"
)

// Ada returns the first of three people.
func Ada() domain.User { return domain.User{ID: "usr_1", Email: "ada@example.com", Name: "Ada"} }

// Bob returns the second.
func Bob() domain.User { return domain.User{ID: "usr_2", Email: "bob@example.com", Name: "Bob"} }

// Cyd returns the third.
func Cyd() domain.User { return domain.User{ID: "usr_3", Email: "cyd@example.com", Name: "Cyd"} }

// Acme returns an organization.
func Acme() domain.Organization { return domain.Organization{ID: "org_1", Slug: "acme", Name: "Acme"} }

// AppIDs returns the ids of the n-th application.
func AppIDs(n uint64) domain.AppIDs {
	return domain.AppIDs{
		App:          fmt.Sprintf("app_%d", n),
		Environments: [3]string{fmt.Sprintf("env_%da", n), fmt.Sprintf("env_%db", n), fmt.Sprintf("env_%dc", n)},
		Numbers:      [3]uint64{n*10 + 1, n*10 + 2, n*10 + 3},
	}
}

// App returns the n-th application, a web application of Acme.
func App(n uint64, slug, name string, created time.Time) domain.Application {
	ids := AppIDs(n)
	return domain.Application{
		ID: ids.App, Slug: slug, Name: name, Platform: "web", Timezone: "UTC",
		Modules:       []domain.Module{domain.ModuleAnalytics, domain.ModulePeople, domain.ModuleErrors, domain.ModuleMetrics, domain.ModuleFlags},
		RetentionDays: 365, AllowedOrigins: []string{}, Organization: Acme(),
		Environments: []domain.Environment{
			{ID: ids.Environments[0], Slug: "production", Name: "Production", Number: ids.Numbers[0]},
			{ID: ids.Environments[1], Slug: "staging", Name: "Staging", Number: ids.Numbers[1]},
			{ID: ids.Environments[2], Slug: "development", Name: "Development", Number: ids.Numbers[2]},
		},
		CreatedAt: created, UpdatedAt: created, Revision: 1,
	}
}
