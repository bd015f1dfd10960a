// Package geo locates IP addresses with databases in MMDB format. It reads files and calls no service. Its answers are
// as old as the files, and approximate the location of a network, not of a person.
package geo

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/oschwald/maxminddb-golang/v2"
)

// Location is the location of an address. A field is empty if the databases lack it.
type Location struct {
	Country string // ISO 3166-1 alpha-2, upper case
	Region  string // English name of the first subdivision
	City    string // English name
}

// DB locates addresses. It is safe for concurrent use until it is closed. A
// nil DB locates nothing.
type DB struct {
	country *maxminddb.Reader // nil without a country database
	city    *maxminddb.Reader // nil without a city database
}

// Open opens the country database and the city database at the given paths. An empty path means no database. The files
// are mapped into memory and must not be changed in place before Close. Replacing them by new files is safe.
func Open(countryPath, cityPath string) (*DB, error) {
	country, err := open(countryPath)
	if err != nil {
		return nil, fmt.Errorf("opening the country database: %w", err)
	}
	city, err := open(cityPath)
	if err != nil {
		if country != nil {
			err = errors.Join(err, country.Close())
		}
		return nil, fmt.Errorf("opening the city database: %w", err)
	}
	return &DB{country: country, city: city}, nil
}

func open(path string) (*maxminddb.Reader, error) {
	if path == "" {
		return nil, nil
	}
	reader, err := maxminddb.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return reader, nil
}

// Close closes the databases. The DB must not be used afterwards.
func (db *DB) Close() error {
	if db == nil {
		return nil
	}
	var err error
	for _, reader := range []*maxminddb.Reader{db.country, db.city} {
		if reader != nil {
			err = errors.Join(err, reader.Close())
		}
	}
	return err
}

// Locate returns the location of an address. If the city database knows the country, it answers; otherwise the country
// database does. An IPv4 address mapped into IPv6 counts as the IPv4 address. Addresses without a location (private,
// loopback, link-local, multicast, unspecified and invalid ones) and damaged records yield the zero Location.
func (db *DB) Locate(ip netip.Addr) Location {
	ip = ip.Unmap().WithZone("")
	if db == nil || !public(ip) {
		return Location{}
	}
	if found := lookUp(db.city, ip); found.Country != "" {
		return found
	}
	return lookUp(db.country, ip)
}

// public reports whether an address can have a location.
func public(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate()
}

// record decodes the layouts in use: the nested one of GeoLite2, GeoIP2 and DB-IP, and the flat one of ip-location-db.
type record struct {
	Country      country `maxminddb:"country"`
	Registered   country `maxminddb:"registered_country"`
	Subdivisions []place `maxminddb:"subdivisions"`
	City         any     `maxminddb:"city"`
	CountryCode  string  `maxminddb:"country_code"`
	State        string  `maxminddb:"state1"`
}

type country struct {
	Code string `maxminddb:"iso_code"`
}

type place struct {
	Names struct {
		English string `maxminddb:"en"`
	} `maxminddb:"names"`
}

// lookUp returns the location of an address in one database. The reader may be nil.
func lookUp(reader *maxminddb.Reader, ip netip.Addr) Location {
	if reader == nil {
		return Location{}
	}
	result := reader.Lookup(ip)
	if !result.Found() {
		return Location{}
	}
	var found record
	if err := result.Decode(&found); err != nil {
		return Location{}
	}
	location := Location{Region: found.State, City: cityName(found.City)}
	for _, code := range []string{found.Country.Code, found.CountryCode, found.Registered.Code} {
		if location.Country == "" {
			location.Country = countryCode(code)
		}
	}
	if len(found.Subdivisions) > 0 {
		location.Region = found.Subdivisions[0].Names.English
	}
	return location
}

// cityName returns the name of a city. In the flat layout the city is a name. In the nested layout it is a map with
// names by language.
func cityName(city any) string {
	switch city := city.(type) {
	case string:
		return city
	case map[string]any:
		names, _ := city["names"].(map[string]any)
		english, _ := names["en"].(string)
		return english
	}
	return ""
}

// countryCode returns a two-letter code in upper case. It returns "" for anything else, and for database codes that
// stand for no country.
func countryCode(code string) string {
	if len(code) != 2 {
		return ""
	}
	letters := [2]byte{code[0] &^ 0x20, code[1] &^ 0x20}
	for _, letter := range letters {
		if letter < 'A' || letter > 'Z' {
			return ""
		}
	}
	switch upper := string(letters[:]); upper {
	case "AP", "EU", "XX", "ZZ":
		return ""
	default:
		return upper
	}
}
