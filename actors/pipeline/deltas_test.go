package pipeline

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"svc/protos"
)

// TestCumulative lists the differences that single points add.
func TestCumulative(t *testing.T) {
	const minute = int64(time.Minute / time.Millisecond)
	type point struct {
		start, ts int64 // minutes; a start of -1 is unknown
		sum       float64
	}
	for _, test := range []struct {
		name   string
		points []point
		want   []float64 // NaN for a late point
	}{
		{"counts from a beginning that is near", []point{{100, 101, 3}, {100, 102, 6}}, []float64{3, 3}},
		{"a process that began long ago", []point{{0, 100, 1000}, {0, 101, 1002}}, []float64{0, 2}},
		{"begins again", []point{{100, 101, 3}, {102, 103, 2}, {102, 104, 2}}, []float64{3, 2, 0}},
		{"begins again and is heard late", []point{{100, 101, 3}, {105, 140, 50}}, []float64{3, 50}},
		{"two processes of one series", []point{{100, 101, 5}, {100, 102, 6}, {99, 103, 2}, {100, 104, 7}, {99, 105, 9}}, []float64{5, 1, 2, 1, 7}},
		{"repeated and late", []point{{100, 103, 5}, {100, 103, 5}, {100, 102, 4}, {100, 104, 6}}, []float64{5, math.NaN(), math.NaN(), 1}},
		{"without a beginning", []point{{-1, 101, 5}, {-1, 102, 7}, {-1, 103, 1}, {-1, 104, 1}}, []float64{0, 2, 1, 0}},
		{"silent for long", []point{{100, 101, 5}, {100, 301, 9}}, []float64{5, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newDeltas()
			for n, at := range test.points {
				p := &protos.MetricPoint{
					Environment: 1, Name: "n", Series: 1, Cumulative: true, Count: 1, Sum: at.sum,
					TsMs: at.ts * minute, ReceivedMs: at.ts * minute, StartNs: uint64(max(at.start*minute*int64(time.Millisecond), 1)),
				}
				if at.start < 0 {
					p.StartNs = 0
				}
				added, late := c.fold(p, measurement{count: 1, sum: at.sum})
				if late != math.IsNaN(test.want[n]) || !late && added.sum != test.want[n] {
					t.Errorf("point %d adds %v (late %v) instead of %v", n, added.sum, late, test.want[n])
				}
				if state := c.state(p); !late && binary.LittleEndian.Uint64(state) != p.StartNs {
					t.Errorf("the state of point %d names another beginning", n)
				}
			}
		})
	}
}
