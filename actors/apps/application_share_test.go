package apps

import (
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/share"
)

// sharePages is the public page after each of the successful changes of shareSteps.
func sharePages() []share.Share {
	minutes := func(n int) *time.Time { t := actorstest.At(time.Duration(n) * time.Minute); return &t }
	published := share.Share{ID: "aa", Pages: true, LegacyLink: true, PublishedAt: minutes(1), UpdatedAt: minutes(1), Revision: 1}
	configured := published
	configured.Locations, configured.UpdatedAt, configured.Revision = true, minutes(2), 2
	rotated := configured
	rotated.ID, rotated.LegacyLink, rotated.UpdatedAt, rotated.Revision = "bb", false, minutes(3), 3
	disabled := rotated
	disabled.ID, disabled.PublishedAt, disabled.UpdatedAt, disabled.Revision = "", nil, minutes(4), 4
	return []share.Share{published, configured, rotated, disabled}
}

// shareSteps is the life of the public page of app_1.
func shareSteps() []actorstest.Step {
	pages := sharePages()
	good := func(n int) grain.Outcome[any] {
		return grain.Answer[any](pages[n], grain.Put("share", "app_1", pages[n]))
	}
	yes, bad := true, []string{"admin"}
	conflict := domain.Errorf(domain.CodeConflict, "The page is not published.")
	return []actorstest.Step{
		{Name: "no page yet", Method: "share", Message: grain.None{}, Want: grain.Answer[any](share.Share{})},
		{Name: "rotating nothing", Method: "share.rotate", Message: rotateShare{"zz"}, Err: conflict},
		{Name: "disabling nothing", Method: "share.disable", Message: grain.None{}, Err: domain.NotFound("published page")},
		{Name: "publish", After: time.Minute, Method: "share.publish", Message: publishShare{"aa", share.Patch{Pages: &yes, LegacyLink: &yes}}, Want: good(0)},
		{
			Name: "publish again", Method: "share.publish", Message: publishShare{ID: "zz"},
			Err: domain.Errorf(domain.CodeConflict, "The page is published; change its settings or rotate its link."),
		},
		{Name: "configure", After: 2 * time.Minute, Method: "share.configure", Message: configureShare{share.Patch{Locations: &yes}}, Want: good(1)},
		{
			Name: "a bad path", Method: "share.configure", Message: configureShare{share.Patch{PrivatePaths: &bad}},
			Err: domain.Invalid(domain.FieldError{Field: "privatePaths[0]", Code: "invalid_path", Message: "A path begins with a slash, has at most 200 bytes, and a * only at its end."}),
		},
		{Name: "read", Method: "share", Message: grain.None{}, Want: grain.Answer[any](pages[1])},
		{Name: "rotate", After: 3 * time.Minute, Method: "share.rotate", Message: rotateShare{"bb"}, Want: good(2)},
		{Name: "disable", After: 4 * time.Minute, Method: "share.disable", Message: grain.None{}, Want: good(3)},
		{Name: "disable again", Method: "share.disable", Message: grain.None{}, Err: domain.NotFound("published page")},
	}
}
