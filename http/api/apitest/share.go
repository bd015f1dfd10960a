package apitest

import (
	"context"

	"svc"
)

// Share is the port api.Shares.
func (m *Memory) Share(_ context.Context, ref svc.AppRef) (svc.Share, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.apps[ref].share, nil
}

// PublishShare is the port api.Shares.
func (m *Memory) PublishShare(_ context.Context, ref svc.AppRef, patch svc.SharePatch) (svc.Share, error) {
	return m.changeShare(ref, func(s *svc.Share) error {
		return s.Publish(svc.ShareID(m.random()[:svc.ShareIDBytes]), patch, m.now())
	})
}

// ConfigureShare is the port api.Shares.
func (m *Memory) ConfigureShare(_ context.Context, ref svc.AppRef, patch svc.SharePatch) (svc.Share, error) {
	return m.changeShare(ref, func(s *svc.Share) error { return s.Configure(patch, m.now()) })
}

// RotateShare is the port api.Shares.
func (m *Memory) RotateShare(_ context.Context, ref svc.AppRef) (svc.Share, error) {
	return m.changeShare(ref, func(s *svc.Share) error {
		return s.Rotate(svc.ShareID(m.random()[:svc.ShareIDBytes]), m.now())
	})
}

// DisableShare is the port api.Shares.
func (m *Memory) DisableShare(_ context.Context, ref svc.AppRef) error {
	_, err := m.changeShare(ref, func(s *svc.Share) error { return s.Disable(m.now()) })
	return err
}

func (m *Memory) changeShare(ref svc.AppRef, change func(*svc.Share) error) (svc.Share, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := change(&m.apps[ref].share)
	return m.apps[ref].share, err
}

// shareSteps lists the requests of the public page's settings.
func shareSteps() []step {
	const path = "/console/api/v1/apps/acme/web/share"
	return []step{
		{name: "console.share.get-unpublished", as: session, method: "GET", path: path},
		{name: "console.share.rotate-unpublished", as: session, method: "POST", path: path + "/rotate"},
		{name: "console.share.publish", as: session, method: "POST", path: path, body: `{"pages":true,"legacyLink":true}`},
		{name: "console.share.publish-again", as: session, method: "POST", path: path, body: `{}`},
		{name: "console.share.configure", as: session, method: "PATCH", path: path, body: `{"locations":true,"pages":false,"privatePaths":["/b*","/a"]}`},
		{name: "console.share.configure-empty", as: session, method: "PATCH", path: path, body: `{}`},
		{name: "console.share.configure-invalid", as: session, method: "PATCH", path: path, body: `{"pages":1,"privatePaths":["a","/*/b"]}`},
		{name: "console.share.get", as: session, method: "GET", path: path},
		{name: "console.share.rotate", as: session, method: "POST", path: path + "/rotate"},
		{name: "console.share.disable", as: session, method: "DELETE", path: path},
		{name: "console.share.disable-again", as: session, method: "DELETE", path: path},
	}
}
