package apps

import (
	"context"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/share"
)

// Share returns the settings of an application's public page.
func (a *Applications) Share(ctx context.Context, ref domain.AppRef) (share.Share, error) {
	return ask(ctx, a, ref, applicationShare, grain.None{})
}

// PublishShare publishes the page under a new link. It fails with conflict if it is already published.
func (a *Applications) PublishShare(ctx context.Context, ref domain.AppRef, patch share.Patch) (share.Share, error) {
	return ask(ctx, a, ref, applicationPublishShare, publishShare{ID: a.shareID(ctx), Patch: patch})
}

// ConfigureShare changes the content of the page, from the next request on.
func (a *Applications) ConfigureShare(ctx context.Context, ref domain.AppRef, patch share.Patch) (share.Share, error) {
	return ask(ctx, a, ref, applicationConfigureShare, configureShare{Patch: patch})
}

// RotateShare replaces the page's link; the earlier one is refused when
// RotateShare returns.
func (a *Applications) RotateShare(ctx context.Context, ref domain.AppRef) (share.Share, error) {
	return ask(ctx, a, ref, applicationRotateShare, rotateShare{ID: a.shareID(ctx)})
}

// DisableShare disables the page; its link is refused when DisableShare returns.
func (a *Applications) DisableShare(ctx context.Context, ref domain.AppRef) error {
	_, err := ask(ctx, a, ref, applicationDisableShare, grain.None{})
	return err
}

func (a *Applications) shareID(ctx context.Context) string {
	return share.ID(a.Random.NewBytes(ctx, share.IDBytes))
}
