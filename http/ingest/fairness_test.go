package ingest

import (
	"context"
	"errors"
	"testing"
	"time"

	"svc"
)

// TestFairnessNamesWhoMetTheBound has one application flood while another sends: the answer names its bound, its use, and the
// key and network of whom it held back.
func TestFairnessNamesWhoMetTheBound(t *testing.T) {
	t.Parallel()
	now := collectNoon()
	admission := NewAdmission(64 << 20)
	admission.Share(func(int) time.Duration { return 0 }, time.Second, 2, func() time.Time { return now })
	admission.pace.nap = func(_ context.Context, length time.Duration) time.Duration {
		now = now.Add(length)
		return 0
	}
	admission.sent.add("app_quiet", 100)
	if got := admission.Fairness("app_flood", 7, now); got.Bound != nil || got.BytesPerSecond != 0 || len(got.Met) != 0 {
		t.Fatalf("before the flood: %+v", got)
	}
	collect := testCollect(&logOf{})
	collect.Admission = admission
	collector := &svc.Collector{AppID: "app_flood", KeyID: "key_1", Kind: svc.KeyPublic, Environment: svc.Environment{Number: 7}}
	admission.sent.add("app_flood", 4<<20)
	now = now.Add(2 * paceLook)
	for range 3 {
		sub := requestAt(collect, now, "")
		sub.collector, sub.remoteIP, sub.reserved.app = collector, "203.0.113.77", "app_flood"
		sub.payloads[0], sub.touched = []byte("payload"), []int{0}
		if err := sub.produce(); err != nil && !errors.Is(err, context.Canceled) {
			t.Logf("producing: %v", err) // the payload is no record, which the log says after the wait
		}
		sub.reserved.release()
	}
	got := admission.Fairness("app_flood", 7, now)
	if got.Bound == nil || *got.Bound < 2*paceLeast || got.BytesPerSecond < 2<<20 {
		t.Errorf("the bound is %v, used are %f", got.Bound, got.BytesPerSecond)
	}
	if len(got.Met) != 1 || got.Met[0].KeyID != "key_1" || got.Met[0].Network != "203.0.113.0/24" || got.Met[0].Delayed != 3 || got.Met[0].Refused != 0 {
		t.Errorf("met it have %+v", got.Met)
	}
	if other := admission.Fairness("app_quiet", 8, now); other.Bound != nil || len(other.Met) != 0 {
		t.Errorf("the other one: %+v", other)
	}
	if later := admission.Fairness("app_flood", 7, now.Add(2*fairnessKept)); len(later.Met) != 0 {
		t.Errorf("after hours: %+v", later.Met)
	}
}
