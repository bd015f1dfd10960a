package geo

import (
	"fmt"
	"os"
	"path/filepath"
)

// CountryDBVersion is the version of the country database that the program is built for. scripts/fetch-geo.sh fetches
// this version.
const CountryDBVersion = "2.3.2026061719"

// countryDBFile is the database file with both address families.
const countryDBFile = "geo-whois-asn-country.mmdb"

// FindCountryDB returns the path of the country database in the cache folder. That folder is $SVC_CACHE_DIR, or svc in
// the user's cache folder. If the database is missing, the error names the command that fetches it.
func FindCountryDB() (string, error) {
	folder := os.Getenv("SVC_CACHE_DIR")
	if folder == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the cache folder (SVC_CACHE_DIR can name one): %w", err)
		}
		folder = filepath.Join(user, "svc")
	}
	path := filepath.Join(folder, "geo", CountryDBVersion, countryDBFile)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("finding the country database, which `make deps` fetches: %w", err)
	}
	return path, nil
}
