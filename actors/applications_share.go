package actors

import (
	"context"

	"svc"
)

// Share returns the settings of an application's public page.
func (a *Applications) Share(ctx context.Context, ref svc.AppRef) (svc.Share, error) {
	return a.askShare(ctx, ref, "share", none{})
}

// PublishShare publishes the page under a new link. It fails with conflict
// where it is published.
func (a *Applications) PublishShare(ctx context.Context, ref svc.AppRef, patch svc.SharePatch) (svc.Share, error) {
	return a.askShare(ctx, ref, "share.publish", publishShare{ID: a.shareID(), Patch: patch})
}

// ConfigureShare changes what the page shows, from the next request on.
func (a *Applications) ConfigureShare(ctx context.Context, ref svc.AppRef, patch svc.SharePatch) (svc.Share, error) {
	return a.askShare(ctx, ref, "share.configure", configureShare{Patch: patch})
}

// RotateShare replaces the page's link; the earlier one is refused when
// RotateShare returns.
func (a *Applications) RotateShare(ctx context.Context, ref svc.AppRef) (svc.Share, error) {
	return a.askShare(ctx, ref, "share.rotate", rotateShare{ID: a.shareID()})
}

// DisableShare takes the page away; its link is refused when DisableShare
// returns.
func (a *Applications) DisableShare(ctx context.Context, ref svc.AppRef) error {
	_, err := a.askShare(ctx, ref, "share.disable", none{})
	return err
}

func (a *Applications) shareID() string { return svc.ShareID(a.Chance.Bytes(svc.ShareIDBytes)) }

func (a *Applications) askShare(ctx context.Context, ref svc.AppRef, method string, message any) (svc.Share, error) {
	if _, err := a.Get(ctx, ref); err != nil {
		return svc.Share{}, err
	}
	return ask[svc.Share](ctx, a.Actors, kindApplication, ref.String(), method, message)
}
