package apps

import (
	"time"

	"svc/actors/grain"
	"svc/domain/share"
)

// The public page, part of the application actor. Every change is published to the shares of this node before it is
// answered, so a disabled page is refused from then on.

type (
	publishShare struct {
		ID    string      `json:"id"`
		Patch share.Patch `json:"patch"`
	}
	configureShare struct {
		Patch share.Patch `json:"patch"`
	}
	rotateShare struct {
		ID string `json:"id"`
	}
)

// The methods of the application actor.
var (
	applicationShare          = grain.On(applicationKind, "share", (*application).onShare)
	applicationPublishShare   = grain.On(applicationKind, "share.publish", (*application).onPublishShare)
	applicationConfigureShare = grain.On(applicationKind, "share.configure", (*application).onConfigureShare)
	applicationRotateShare    = grain.On(applicationKind, "share.rotate", (*application).onRotateShare)
	applicationDisableShare   = grain.On(applicationKind, "share.disable", (*application).onDisableShare)
)

func (a *application) onShare(time.Time, grain.None) (grain.Outcome[share.Share], error) {
	return grain.Answer(a.share), nil
}

func (a *application) onPublishShare(now time.Time, m publishShare) (grain.Outcome[share.Share], error) {
	if a.share.ID == m.ID {
		return grain.Again(a.share), nil
	}
	return a.changeShare(func(share *share.Share) error { return share.Publish(m.ID, m.Patch, now) })
}

func (a *application) onConfigureShare(now time.Time, m configureShare) (grain.Outcome[share.Share], error) {
	return a.changeShare(func(share *share.Share) error { return share.Configure(m.Patch, now) })
}

func (a *application) onRotateShare(now time.Time, m rotateShare) (grain.Outcome[share.Share], error) {
	if a.share.ID == m.ID {
		return grain.Again(a.share), nil
	}
	return a.changeShare(func(share *share.Share) error { return share.Rotate(m.ID, now) })
}

func (a *application) onDisableShare(now time.Time, _ grain.None) (grain.Outcome[share.Share], error) {
	return a.changeShare(func(share *share.Share) error { return share.Disable(now) })
}

// changeShare applies a change to a copy. If the change succeeds, the copy becomes the page.
func (a *application) changeShare(change func(*share.Share) error) (grain.Outcome[share.Share], error) {
	sh := a.share
	if err := change(&sh); err != nil {
		return grain.Outcome[share.Share]{}, err
	}
	a.share = sh
	return changedApp(a, sh, grain.Put("share", a.app.ID, sh)), nil
}
