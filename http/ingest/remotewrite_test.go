package ingest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	writev2 "github.com/prometheus/client_golang/exp/api/remote/genproto/v2"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"svc/domain"
	"svc/http/route"
)

// remoteV1 returns a series of remote write 1.0 with a sample, and with exemplars.
func remoteV1(labels []string, exemplars int) []byte {
	field := func(to []byte, number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), content)
	}
	var series []byte
	for n := 0; n < len(labels); n += 2 {
		series = field(series, 1, field(field(nil, 1, []byte(labels[n])), 2, []byte(labels[n+1])))
	}
	sample := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), 0x3ff0000000000000)
	sample = protowire.AppendVarint(protowire.AppendTag(sample, 2, protowire.VarintType), uint64(collectNoon().UnixMilli()))
	series = field(series, 2, sample)
	for range exemplars {
		series = field(series, 3, sample)
	}
	return field(nil, 1, series)
}

// remoteV2Of returns the same series in remote write 2.0.
func remoteV2Of(t *testing.T, refs []uint32, exemplars int) []byte {
	t.Helper()
	series := &writev2.TimeSeries{LabelsRefs: refs, Samples: []*writev2.Sample{{Value: 1, Timestamp: collectNoon().UnixMilli()}}}
	for range exemplars {
		series.Exemplars = append(series.Exemplars, &writev2.Exemplar{LabelsRefs: []uint32{3, 4}, Value: 1, Timestamp: collectNoon().UnixMilli()})
	}
	body, err := proto.Marshal(&writev2.Request{Symbols: []string{"", "__name__", "jobs_total", "host", "a", "b"}, Timeseries: []*writev2.TimeSeries{series}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestRemoteWriteAnswers checks the answers and the counts for exemplars, which are not stored. It also checks them for
// series that have a label twice.
func TestRemoteWriteAnswers(t *testing.T) {
	const v1, v2 = "application/x-protobuf", "application/x-protobuf;proto=" + remoteV2
	many := []string{"__name__", "jobs_total"}
	for n := range 60 {
		many = append(many, fmt.Sprint("label", n), "x")
	}
	for name, c := range map[string]struct {
		media           string
		body            []byte
		status, written int
		holds           string
		counts          map[string]int64
	}{
		"1.0":                           {v1, remoteV1([]string{"__name__", "jobs_total", "host", "a"}, 0), 204, 1, "", nil},
		"2.0":                           {v2, remoteV2Of(t, []uint32{1, 2, 3, 4}, 0), 204, 1, "", nil},
		"K2: exemplars of 1.0":          {v1, remoteV1([]string{"__name__", "jobs_total"}, 3), 204, 1, "", map[string]int64{"exemplar_not_stored": 3}},
		"K2: exemplars of 2.0":          {v2, remoteV2Of(t, []uint32{1, 2}, 2), 204, 1, "", map[string]int64{"exemplar_not_stored": 2}},
		"a label twice in 1.0":          {v1, remoteV1([]string{"__name__", "jobs_total", "host", "a", "host", "b"}, 0), 400, 0, "two labels of the same name", map[string]int64{"duplicate_label": 1}},
		"a label twice, the same value": {v2, remoteV2Of(t, []uint32{1, 2, 3, 4, 3, 4}, 0), 400, 0, "two labels of the same name", map[string]int64{"duplicate_label": 1}},
		"the name twice":                {v2, remoteV2Of(t, []uint32{1, 2, 1, 2}, 0), 400, 0, "two labels of the same name", map[string]int64{"duplicate_label": 1}},
		"a label twice of many":         {v1, remoteV1(append(many, "label7", "y"), 0), 400, 0, "two labels of the same name", map[string]int64{"duplicate_label": 1}},
		"one good series of two":        {v1, append(remoteV1([]string{"__name__", "jobs_total"}, 0), remoteV1([]string{"__name__", "a", "b", "c", "b", "d"}, 1)...), 400, 1, "the others are stored", map[string]int64{"duplicate_label": 1, "exemplar_not_stored": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			log, tallies := &logOf{}, &tallied{}
			collect := taking(log)
			collect.Tallies = tallies
			handler, err := route.New(route.Config{
				Routes: collect.Routes(), Authority: struct{ route.Authority }{}, Applications: struct{ route.Applications }{}, Cursors: domain.NewCursors([]byte("remote")), Now: collectNoon,
			})
			if err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequest(http.MethodPost, "/api/v1/write", strings.NewReader(string(snappy.Encode(nil, c.body))))
			request.Header.Set("Authorization", "Bearer secret")
			request.Header.Set("Content-Type", c.media)
			request.Header.Set("Content-Encoding", "snappy")
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.holds) || len(log.points) != c.written {
				t.Errorf("%d %s, %d points", answer.Code, answer.Body, len(log.points))
			}
			for _, header := range []struct{ name, want string }{{"Samples", fmt.Sprint(c.written)}, {"Histograms", "0"}, {"Exemplars", "0"}} {
				if got := answer.Header().Get("X-Prometheus-Remote-Write-" + header.name + "-Written"); got != header.want {
					t.Errorf("%s written are %q, want %q", header.name, got, header.want)
				}
			}
			counts := map[string]int64{}
			for _, count := range tallies.counts {
				counts[count.Code] += count.Items
			}
			if fmt.Sprint(counts) != fmt.Sprint(c.counts) {
				t.Errorf("counted are %v, want %v", counts, c.counts)
			}
		})
	}
}
