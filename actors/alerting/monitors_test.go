package alerting

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/monitor"
)

// MonitorStopped is the port of Monitors.
func (w *watchedSite) MonitorStopped(_ context.Context, _ domain.AppRef, monitor string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaf {
		return errRefusing
	}
	w.stopped = append(w.stopped, monitor)
	return nil
}

// Monitors returns every monitor with nine of ten checks up.
func (w *watchedSite) Monitors(_ context.Context, _ domain.AppRef, id string, _ time.Time) ([]monitor.Row, error) {
	return []monitor.Row{{Monitor: monitor.Monitor{ID: id}, Checks30d: 10, Up30d: 9}}, nil
}

// CheckTarget refuses names that contain "inner".
func (w *watchedSite) CheckTarget(_ context.Context, url string) *domain.FieldError {
	if strings.Contains(url, "inner") {
		return &domain.FieldError{Field: "url", Code: "url_not_public"}
	}
	return nil
}

// TestRulesLearnOfMonitorsThatStop disables and deletes monitors while the alert rules do not answer, and
// again when they do.
func TestRulesLearnOfMonitorsThatStop(t *testing.T) {
	onSite(t, func(t *testing.T, w *watchedSite) {
		app, off := domain.AppRef{Org: "acme", App: "web"}, false
		id := w.put("", named("Site", 60)).ID
		if row := w.put(id, named("Shop", 60)); row.Checks30d != 10 || row.Up30d != 9 || len(w.stopped) != 0 {
			t.Errorf("renamed: %+v, rules were told of %v", row, w.stopped)
		}
		w.deaf = true
		if _, err := w.monitors.PutMonitor(t.Context(), app, id, monitor.Patch{Enabled: &off}); err == nil {
			t.Error("a monitor was disabled, and its rules do not know of it")
		}
		w.deaf = false
		w.put(id, monitor.Patch{Enabled: &off})
		w.deaf = true
		if err := w.monitors.DeleteMonitor(t.Context(), app, id); err == nil {
			t.Error("a monitor was deleted, and its rules do not know of it")
		}
		w.deaf = false
		if err := w.monitors.DeleteMonitor(t.Context(), app, id); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("deleting again: %v, want not_found", err)
		}
		if want := []string{id, id}; !reflect.DeepEqual(w.stopped, want) {
			t.Errorf("the rules were told of %v, want %v", w.stopped, want)
		}
	})
}

// TestMonitorsOfInnerAddressesAreRefused checks definitions by the addresses that their names resolve to.
func TestMonitorsOfInnerAddressesAreRefused(t *testing.T) {
	onSite(t, func(t *testing.T, w *watchedSite) {
		for url, want := range map[string]string{"https://site.example/": "", "https://inner.example/": "url_not_public", "ftp://inner.example/": "url_not_public"} {
			spec := monitor.DefaultMonitor()
			spec.Name, spec.URL = "Site", url
			var codes []string
			for _, problem := range w.monitors.CheckMonitor(t.Context(), spec) {
				codes = append(codes, problem.Code)
			}
			if got := strings.Join(codes, " "); got != want {
				t.Errorf("%s: %q, want %q", url, got, want)
			}
		}
	})
}
