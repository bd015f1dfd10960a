package ingest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain"
	"svc/http/admission"
)

// TestFairnessNamesWhoMetTheBound lets one application flood while another sends. The answer contains its bound, its
// use, and the key and network of the delayed sender.
func TestFairnessNamesWhoMetTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control := admission.New(64 << 20)
		control.Share(func(int) time.Duration { return 0 }, func() time.Duration { return time.Second }, 2, time.Now)
		sent(t, control, "app_quiet", "", 100)
		if got := control.Fairness("app_flood", 7, time.Now()); got.Bound != nil || got.BytesPerSecond != 0 || len(got.Met) != 0 {
			t.Fatalf("before the flood: %+v", got)
		}
		collect := testCollect(&logOf{})
		collect.Admission = control
		collector := &domain.Collector{AppID: "app_flood", KeyID: "key_1", Kind: domain.KeyPublic, Environment: domain.Environment{Number: 7}}
		sent(t, control, "app_flood", "", 4<<20)
		time.Sleep(aLook)
		for range 3 {
			sub := requestAt(collect, time.Now(), "")
			sub.collector, sub.remoteIP, sub.reserved = collector, "203.0.113.77", control.Reserve("app_flood")
			sub.payloads[0], sub.touched = []byte("payload"), []int{0}
			if err := sub.produce(); err != nil && !errors.Is(err, context.Canceled) {
				t.Logf("producing: %v", err) // The payload is not a valid record, which the log reports after the wait.
			}
			sub.reserved.Release()
		}
		got := control.Fairness("app_flood", 7, time.Now())
		if got.Bound == nil || *got.Bound < 4<<20 || got.BytesPerSecond < 2<<20 {
			t.Errorf("the bound is %v, used are %f", got.Bound, got.BytesPerSecond)
		}
		if len(got.Met) != 1 || got.Met[0].KeyID != "key_1" || got.Met[0].Network != "203.0.113.0/24" || got.Met[0].Delayed != 3 || got.Met[0].Refused != 0 {
			t.Errorf("met it have %+v", got.Met)
		}
		if other := control.Fairness("app_quiet", 8, time.Now()); other.Bound != nil || len(other.Met) != 0 {
			t.Errorf("the other one: %+v", other)
		}
		if later := control.Fairness("app_flood", 7, time.Now().Add(2*time.Hour)); len(later.Met) != 0 {
			t.Errorf("after hours: %+v", later.Met)
		}
	})
}
