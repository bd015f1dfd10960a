package settings

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMisspeltSettingsAreRefused accepts every setting, refuses near misses with a suggestion, and ignores variables
// that a platform adds.
func TestMisspeltSettingsAreRefused(t *testing.T) {
	environment := []string{"PATH=/bin", "SVC_URL=x", "SVC_SERVICE_HOST=10.0.0.1", "SVC_PORT_8080_TCP=tcp://10.0.0.1:8080"}
	for _, s := range settings() {
		environment = append(environment, s.name+"=x")
	}
	unread, err := misspelt(environment)
	if err != nil || !slices.Equal(unread, []string{"SVC_SERVICE_HOST", "SVC_PORT_8080_TCP"}) {
		t.Errorf("%v, %v", unread, err)
	}
	_, err = misspelt([]string{"SVC_HTTP_ADRR=:1", "SVC_PARTITION=8"})
	for _, want := range []string{"SVC_HTTP_ADRR is no setting; did you mean SVC_HTTP_ADDR?", "SVC_PARTITION is no setting; did you mean SVC_PARTITIONS?"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestShardsAreListed parses lists of stores, and checks that a refusal names the bad store by its place.
func TestShardsAreListed(t *testing.T) {
	for list, want := range map[string]struct {
		stores  int
		refusal string
	}{
		"http://a:8123/": {1, ""},
		"http://a:8123/ clickhouse://svc:hidden@b:9000/svc":      {2, ""},
		"http://a:8123/,clickhouse://svc:hid,den@b:9000/svc":     {2, ""},
		" http://a:8123/, http://b:8123/, \n http://c:8123/ ,":   {3, ""},
		"http://a:8123/ clickhouse://svc:hidden@b:9000,c:9000/x": {0, "the DSN at place 2 of 2: it names 2 servers"},
		"http://a:8123/ svc:hidden@b":                            {0, "the DSN at place 2 of 2: it is no URL"},
		"http://a:8123/ http://hidden@b:8123/ http://a:8123/svc": {0, "places 1 and 3 name the same server"},
		" , ": {0, "it lists no server"},
	} {
		config, err := Load(func(name string) (string, bool) { return list, name == "SVC_CLICKHOUSE_DSN" })
		if err == nil && (want.refusal != "" || 1+len(config.ClickHouseShards) != want.stores) {
			t.Errorf("%q: %q and %q", list, config.ClickHouseDSN, config.ClickHouseShards)
		}
		if err != nil && (want.refusal == "" || !strings.Contains(err.Error(), want.refusal) || strings.Contains(err.Error(), "hid")) {
			t.Errorf("%q: %v, want %q", list, err, want.refusal)
		}
	}
}

func TestOneStoreIsNamed(t *testing.T) {
	for dsn, want := range map[string]string{
		"clickhouse://svc:hidden@a:9000,b:9000/svc": "names 2 servers", "http://a:8123/svc": "", "clickhouse://a:9000/svc": "", "clickhouse://svc:hidden@a:9000/%zz": "is no URL",
	} {
		_, err := Load(func(name string) (string, bool) { return dsn, name == "SVC_CLICKHOUSE_DSN" })
		if (want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden")) {
			t.Errorf("%s: %v, want %q", dsn, err, want)
		}
	}
}

func TestConfigReportsEveryProblemAndShowsNoSecret(t *testing.T) {
	values := map[string]string{
		"SVC_PARTITIONS": "none", "SVC_LOG_SYNC": "perhaps", "SVC_KAFKA_BROKERS": "nowhere", "SVC_FLUSH_INTERVAL": "1ns",
		"SVC_PUBLIC_URL": "ftp://x", "SVC_HTTP_ADDR": "8080", "SVC_RATE_LIMIT": "-1", "SVC_LOG_LEVEL": "loud",
	}
	_, err := Load(func(name string) (string, bool) { value, ok := values[name]; return value, ok })
	for name := range values {
		if err == nil || !strings.Contains(err.Error(), name+"=") {
			t.Errorf("%s is not reported: %v", name, err)
		}
	}
	t.Setenv("SVC_MASTER_KEY", "a very secret master key")
	var stdout bytes.Buffer
	if err := Run(context.Background(), nil, &stdout, &stdout); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(stdout.String(), "very secret") || !strings.Contains(strings.Join(strings.Fields(stdout.String()), " "), "SVC_FLUSH_INTERVAL 500ms") {
		t.Errorf("svc config prints:\n%s", stdout.String())
	}
	config, err := Load(func(string) (string, bool) { return "", false })
	if err != nil || config.FlushInterval != 500*time.Millisecond || config.Partitions != 16 || config.LogSync != SyncAlways {
		t.Errorf("defaults: %+v, %v", config, err)
	}
}

// TestTheDocumentationListsEverySetting compares the table of docs/configuration.md with the program's table.
func TestTheDocumentationListsEverySetting(t *testing.T) {
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings() {
		row := "| `" + s.name + "` |"
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/configuration.md has no row for %s", s.name)
		}
		if s.preset != "" && !strings.Contains(string(page), row+" `"+s.preset+"` |") {
			t.Errorf("docs/configuration.md does not say that %s is %s by default", s.name, s.preset)
		}
	}
}
