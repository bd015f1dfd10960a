package actors

import (
	"time"

	"svc"
)

// The application actor's public page. Every change is published to the shares
// of this node before it is answered, so a page that was taken away is refused
// from then on.

type (
	publishShare struct {
		ID    string         `json:"id"`
		Patch svc.SharePatch `json:"patch"`
	}
	configureShare struct {
		Patch svc.SharePatch `json:"patch"`
	}
	rotateShare struct {
		ID string `json:"id"`
	}
)

func shareHandlers() map[string]handler[*application] {
	return map[string]handler[*application]{
		"share":           on((*application).onShare),
		"share.publish":   on((*application).onPublishShare),
		"share.configure": on((*application).onConfigureShare),
		"share.rotate":    on((*application).onRotateShare),
		"share.disable":   on((*application).onDisableShare),
	}
}

func (a *application) onShare(time.Time, none) (outcome, error) {
	return outcome{answer: a.share}, nil
}

func (a *application) onPublishShare(now time.Time, m publishShare) (outcome, error) {
	return a.changeShare(func(share *svc.Share) error { return share.Publish(m.ID, m.Patch, now) })
}

func (a *application) onConfigureShare(now time.Time, m configureShare) (outcome, error) {
	return a.changeShare(func(share *svc.Share) error { return share.Configure(m.Patch, now) })
}

func (a *application) onRotateShare(now time.Time, m rotateShare) (outcome, error) {
	return a.changeShare(func(share *svc.Share) error { return share.Rotate(m.ID, now) })
}

func (a *application) onDisableShare(now time.Time, _ none) (outcome, error) {
	return a.changeShare(func(share *svc.Share) error { return share.Disable(now) })
}

// changeShare applies a change to a copy, which becomes the page where the
// change is good.
func (a *application) changeShare(change func(*svc.Share) error) (outcome, error) {
	share := a.share
	if err := change(&share); err != nil {
		return outcome{}, err
	}
	a.share = share
	return a.changed(share, write{"share", a.app.ID, share}), nil
}
