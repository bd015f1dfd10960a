package traffic

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
)

// Place is the location of an address.
type Place struct{ Country, Region, City string }

// cities are invented places of some of the addresses: two cities of one name, a place without a city, and a city with
// a letter outside of ASCII.
func cities() map[string]Place {
	return map[string]Place{
		"8.8.8.0/24":      {"US", "Maine", "Portland"},
		"1.1.1.0/24":      {"US", "Oregon", "Portland"},
		"81.2.69.128/26":  {"GB", "England", "London"},
		"193.99.144.0/24": {"DE", "Nordrhein-Westfalen", "Köln"},
		"200.160.0.0/20":  {"BR", "São Paulo", ""},
	}
}

// PlaceOf returns the place of an address that CityDatabase knows.
func PlaceOf(address string) (place Place, known bool) {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return Place{}, false
	}
	for network, place := range cities() {
		if netip.MustParsePrefix(network).Contains(ip) {
			return place, true
		}
	}
	return Place{}, false
}

// The parts of an MMDB file, as its specification 2.0 defines them.
const (
	dataSeparator = 16 // bytes between tree and data
	isData        = 1 << 31
	marker        = "\xab\xcd\xefMaxMind.com"
	textType      = 2
	shortType     = 5
	wordType      = 6
	mapType       = 7
)

// CityDatabase returns an MMDB file with the places of the plans' IPv4 networks, in the flat layout, with records of 32
// bits.
func CityDatabase() []byte {
	type node [2]uint32 // a child, or isData and the offset of the data
	nodes := []node{{}}
	var data []byte
	places := cities()
	for _, network := range slices.Sorted(maps.Keys(places)) {
		prefix := netip.MustParsePrefix(network)
		address, at, last := prefix.Addr().As4(), 0, prefix.Bits()-1
		for bit := range last {
			side := address[bit/8] >> (7 - bit%8) & 1
			if nodes[at][side] == 0 {
				nodes[at][side] = uint32(len(nodes))
				nodes = append(nodes, node{})
			}
			at = int(nodes[at][side])
		}
		nodes[at][address[last/8]>>(7-last%8)&1] = isData + uint32(len(data))
		place := places[network]
		data = appendMap(data, "country_code", place.Country, "state1", place.Region, "city", place.City)
	}
	var file []byte
	for _, node := range nodes {
		for _, record := range node {
			switch {
			case record == 0:
				record = uint32(len(nodes)) // unknown network
			case record >= isData:
				record += uint32(len(nodes)) + dataSeparator - isData
			}
			file = binary.BigEndian.AppendUint32(file, record)
		}
	}
	file = append(append(file, make([]byte, dataSeparator)...), data...)
	return appendMap(append(file, marker...),
		"binary_format_major_version", uint16(2), "binary_format_minor_version", uint16(0), "database_type", "recount",
		"ip_version", uint16(4), "node_count", uint32(len(nodes)), "record_size", uint16(32))
}

// appendMap appends a map of alternating names and values.
func appendMap(out []byte, pairs ...any) []byte {
	out = appendControl(out, mapType, len(pairs)/2)
	for _, value := range pairs {
		switch value := value.(type) {
		case string:
			out = append(appendControl(out, textType, len(value)), value...)
		case uint16:
			out = binary.BigEndian.AppendUint16(appendControl(out, shortType, 2), value)
		case uint32:
			out = binary.BigEndian.AppendUint32(appendControl(out, wordType, 4), value)
		}
	}
	return out
}

// appendControl appends the type and the size of a value; sizes from 29 on take a byte more.
func appendControl(out []byte, kind, size int) []byte {
	const longForm = 29
	if size < longForm {
		return append(out, byte(kind<<5|size))
	}
	return append(out, byte(kind<<5|longForm), byte(size-longForm))
}
