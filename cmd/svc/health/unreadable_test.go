package health

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
)

func TestUnreadableIsToldOnce(t *testing.T) {
	var log strings.Builder
	registry := prometheus.NewRegistry()
	u := NewUnreadable(registry, slog.New(slog.NewTextHandler(&log, nil)))
	if err := u.Warning(t.Context()); err != nil {
		t.Errorf("nothing was left out: %v", err)
	}
	for range 3 {
		u.Skipped(domain.Entity{Owner: "application/acme/web", Kind: "key", ID: "key_1"}, errors.New("unexpected end"))
		u.Skipped(domain.Entity{Kind: "journal", ID: "77"}, errors.New("unexpected end"))
	}
	want := "2 entities cannot be read and were left out, of application/acme/web, journal 77; the log names each"
	if err := u.Warning(t.Context()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if n := strings.Count(log.String(), "application/acme/web"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || len(families[0].GetMetric()) != 2 {
		t.Fatalf("gathered %v, %v", families, err)
	}
	for _, one := range families[0].GetMetric() {
		if one.GetCounter().GetValue() != 1 {
			t.Errorf("counted %v", one)
		}
	}
}
