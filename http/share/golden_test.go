package share_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/domain/share"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoldenPages compares every kind of page with a file, including its head, without the style sheet and the script.
func TestGoldenPages(t *testing.T) {
	quiet := everything()
	quiet.Pages, quiet.Campaigns, quiet.Locations, quiet.Browsers = false, false, false, false
	for _, test := range []struct {
		name, path string
		settings   share.Share
	}{
		{"page", "/s/" + pageID, everything()},
		{"page-compared", "/s/" + pageID + "?range=7d&granularity=hour&metric=sessions&compare=1&pages=exit_path&sources=referrer_domain&campaigns=utm_campaign&locations=city&devices=os", everything()},
		{"page-private", "/s/" + pageID + "?pages=entry_path&devices=browser", quiet},
		{"page-fallback", "/s/" + pageID + "?range=8d&granularity=year&metric=money&compare=2&pages=query&devices=screen", everything()},
		{"embed", "/embed/" + pageID + "?range=24h", everything()},
		{"nothing", "/s/" + strings.Repeat("0", len(pageID)), everything()},
		{"nothing-embedded", "/embed/" + strings.Repeat("0", len(pageID)), everything()},
	} {
		got := open(t, test.settings).get(t, test.path)
		var text strings.Builder
		fmt.Fprintf(&text, "GET %s\n\n%d %s\n", test.path, got.Code, http.StatusText(got.Code))
		names := make([]string, 0, len(got.Header()))
		for name := range got.Header() {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if name != "X-Request-Id" && name != "Content-Length" {
				fmt.Fprintf(&text, "%s: %s\n", name, digest.ReplaceAllString(got.Header().Get(name), "'sha256-…'"))
			}
		}
		fmt.Fprintf(&text, "\n%s", asset.ReplaceAllString(got.Body.String(), "$1…$2"))
		file := filepath.Join("testdata", test.name+".golden")
		if *update {
			if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text.String() != string(want) {
			t.Errorf("%s differs from %s; make golden rewrites it:\n%s", test.path, file, text.String())
		}
	}
}

var (
	asset  = regexp.MustCompile(`(?s)(<(?:style|script)[^>]*>).*?(</(?:style|script)>)`)
	digest = regexp.MustCompile(`'sha256-[^']*'`)
)
