package harness

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseGoBenchmarks(t *testing.T) {
	output := `goos: linux
pkg: svc/cmd/svc
BenchmarkReads/overview-30d/browser-2 	      15	        86.68 api-cpu-ms	         1.179 ratio
    bench_test.go:12: a log line
BenchmarkBlocks/20000 	 3	 7 ns/op
BenchmarkBroken-2 	 3	 seven ns/op
BenchmarkAlone
PASS
ok  	svc/cmd/svc	49.042s
`
	got, err := ParseGoBenchmarks(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	want := []GoBenchmark{
		{Name: "Reads/overview-30d/browser", Runs: 15, Metrics: map[string]float64{"api-cpu-ms": 86.68, "ratio": 1.179}},
		{Name: "Blocks/20000", Runs: 3, Metrics: map[string]float64{"ns/op": 7}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
