package geo_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/storage/geo"
)

// openCountry opens the real country database. The tests require it.
func openCountry(t testing.TB, cityPath string) *geo.DB {
	t.Helper()
	path, err := geo.FindCountryDB()
	if err != nil {
		t.Fatal(err)
	}
	db, err := geo.Open(path, cityPath)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestLocateCountry(t *testing.T) {
	db := openCountry(t, "")
	cache := geo.NewCache(db, 8)
	tests := map[string]string{
		"8.8.8.8":                   "US",
		"::ffff:8.8.8.8":            "US",
		"2001:4860:4860::8888":      "US",
		"83.149.9.216":              "RU",
		"193.0.6.139":               "NL",
		"133.11.0.1":                "JP",
		"200.160.2.3":               "BR",
		"10.1.2.3":                  "",
		"172.16.0.1":                "",
		"192.168.1.1":               "",
		"100.64.0.1":                "",
		"127.0.0.1":                 "",
		"169.254.1.1":               "",
		"224.0.0.1":                 "",
		"255.255.255.255":           "",
		"0.0.0.0":                   "",
		"::":                        "",
		"::1":                       "",
		"fe80::1%eth0":              "",
		"fd00::1":                   "",
		"::ffff:192.168.1.1":        "",
		"2001:4860:4860::8888%eth0": "US",
	}
	for range 2 {
		for address, country := range tests {
			ip := netip.MustParseAddr(address)
			want := geo.Location{Country: country}
			if got := db.Locate(ip); got != want {
				t.Errorf("%s: got %+v, want %+v", address, got, want)
			}
			if got := cache.Locate(ip); got != want {
				t.Errorf("%s from the cache: got %+v, want %+v", address, got, want)
			}
		}
	}
}

func TestLocateCity(t *testing.T) {
	nested := document{
		"city":    document{"names": document{"de": "Mailand", "en": "Milan"}},
		"country": document{"iso_code": "IT", "names": document{"en": "Italy"}},
		"subdivisions": []any{
			document{"iso_code": "25", "names": document{"en": "Lombardy"}},
			document{"iso_code": "MI", "names": document{"en": "Milan Province"}},
		},
	}
	path := filepath.Join(t.TempDir(), "city.mmdb")
	database := encode(map[string]document{
		"8.8.8.0/24":    nested,
		"5.5.5.0/24":    {"country_code": "de", "state1": "Bavaria", "city": "Munich"},
		"83.149.9.0/24": {"city": document{"names": document{"en": "Nowhere"}}},
		"9.9.9.0/24":    {"registered_country": document{"iso_code": "CH"}},
		"7.7.7.0/24":    {"country": document{"iso_code": "EU"}, "city": []any{"x"}},
	})
	if err := os.WriteFile(path, database, 0o600); err != nil {
		t.Fatal(err)
	}
	db := openCountry(t, path)
	tests := map[string]geo.Location{
		"8.8.8.8":              {Country: "IT", Region: "Lombardy", City: "Milan"},
		"::ffff:8.8.8.8":       {Country: "IT", Region: "Lombardy", City: "Milan"},
		"5.5.5.5":              {Country: "DE", Region: "Bavaria", City: "Munich"},
		"83.149.9.216":         {Country: "RU"},
		"9.9.9.9":              {Country: "CH"},
		"7.7.7.7":              {Country: "US"},
		"8.8.4.4":              {Country: "US"},
		"2001:4860:4860::8888": {Country: "US"},
		"10.0.0.1":             {},
	}
	for address, want := range tests {
		if got := db.Locate(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %+v, want %+v", address, got, want)
		}
	}
	only, err := geo.Open("", path)
	if err != nil {
		t.Fatal(err)
	}
	defer only.Close()
	if got := only.Locate(netip.MustParseAddr("8.8.4.4")); got != (geo.Location{}) {
		t.Errorf("address outside the city database alone: got %+v", got)
	}
}

func TestLocateNothing(t *testing.T) {
	var none *geo.DB
	empty, err := geo.Open("", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, ip := range []netip.Addr{{}, netip.MustParseAddr("8.8.8.8")} {
		for _, got := range []geo.Location{
			none.Locate(ip), empty.Locate(ip), geo.NewCache(nil, 0).Locate(ip), openCountry(t, "").Locate(netip.Addr{}),
		} {
			if got != (geo.Location{}) {
				t.Errorf("%v: got %+v", ip, got)
			}
		}
	}
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenNamesTheFile(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.mmdb")
	if err := os.WriteFile(broken, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][2]string{{broken, ""}, {"", broken}, {broken + "x", ""}} {
		if _, err := geo.Open(paths[0], paths[1]); err == nil || !strings.Contains(err.Error(), "broken.mmdb") {
			t.Errorf("%q: got error %v", paths, err)
		}
	}
}

func TestFindCountryDBSaysWhatToRun(t *testing.T) {
	t.Setenv("SVC_CACHE_DIR", t.TempDir())
	if _, err := geo.FindCountryDB(); err == nil || !strings.Contains(err.Error(), "make deps") {
		t.Errorf("got error %v", err)
	}
}

func TestScriptFetchesTheVersion(t *testing.T) {
	script, err := os.ReadFile("../../scripts/fetch-geo.sh")
	if err != nil {
		t.Fatal(err)
	}
	if line := "\nversion=" + geo.CountryDBVersion + "\n"; !strings.Contains(string(script), line) {
		t.Errorf("the script does not contain %q", line)
	}
}

func TestCacheIsBounded(t *testing.T) {
	const size = 64
	cache := geo.NewCache(nil, size)
	ip := netip.MustParseAddr("1.0.0.0")
	for range 10 * size {
		cache.Locate(ip)
		ip = ip.Next()
		if held := cache.Len(); held > size {
			t.Fatalf("got %d addresses, want at most %d", held, size)
		}
	}
}

func BenchmarkLocate(b *testing.B) {
	db := openCountry(b, "")
	ip := netip.MustParseAddr("83.149.9.216")
	b.Run("database", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			db.Locate(ip)
		}
	})
	b.Run("cached", func(b *testing.B) {
		cache := geo.NewCache(db, 4096)
		for i := range 2000 {
			cache.Locate(netip.AddrFrom4([4]byte{8, 8, byte(i >> 8), byte(i)}))
		}
		b.ReportAllocs()
		for b.Loop() {
			cache.Locate(ip)
		}
	})
}
