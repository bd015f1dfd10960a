package geo_test

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
)

// document is a map of an MMDB file.
type document = map[string]any

// encode writes an IPv4 database in MMDB format 2.0 with records of 32 bits.
// The networks must not overlap.
func encode(networks map[string]document) []byte {
	const dataSeparator = 16 // bytes between tree and data
	type node [2]uint32      // child node, or 1<<31 + offset of the data
	const isData = 1 << 31
	nodes := []node{{}}
	var data []byte
	for _, network := range slices.Sorted(maps.Keys(networks)) {
		prefix := netip.MustParsePrefix(network)
		address := prefix.Addr().As4()
		at := 0
		for bit := range prefix.Bits() {
			side := address[bit/8] >> (7 - bit%8) & 1
			if bit == prefix.Bits()-1 {
				nodes[at][side] = isData + uint32(len(data))
				break
			}
			if nodes[at][side] == 0 {
				nodes[at][side] = uint32(len(nodes))
				nodes = append(nodes, node{})
			}
			at = int(nodes[at][side])
		}
		data = appendValue(data, networks[network])
	}
	var file []byte
	for _, node := range nodes {
		for _, record := range node {
			switch {
			case record == 0:
				record = uint32(len(nodes)) // the network is unknown
			case record >= isData:
				record += uint32(len(nodes)) + dataSeparator - isData
			}
			file = binary.BigEndian.AppendUint32(file, record)
		}
	}
	file = append(file, make([]byte, dataSeparator)...)
	file = append(file, data...)
	file = append(file, "\xab\xcd\xefMaxMind.com"...)
	return appendValue(file, document{
		"binary_format_major_version": uint16(2), "binary_format_minor_version": uint16(0),
		"build_epoch": uint64(1), "database_type": "test", "description": document{}, "languages": []any{"en"},
		"ip_version": uint16(4), "node_count": uint32(len(nodes)), "record_size": uint16(32),
	})
}

// appendValue appends a value of the data section.
func appendValue(out []byte, value any) []byte {
	switch value := value.(type) {
	case string:
		return append(appendControl(out, 2, len(value)), value...)
	case uint16:
		return binary.BigEndian.AppendUint16(appendControl(out, 5, 2), value)
	case uint32:
		return binary.BigEndian.AppendUint32(appendControl(out, 6, 4), value)
	case uint64:
		return binary.BigEndian.AppendUint64(appendControl(out, 9, 8), value)
	case document:
		out = appendControl(out, 7, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			out = appendValue(appendValue(out, key), value[key])
		}
		return out
	case []any:
		out = appendControl(out, 11, len(value))
		for _, item := range value {
			out = appendValue(out, item)
		}
		return out
	}
	panic("a type that the encoder does not know")
}

// appendControl appends the type and the size of a value.
func appendControl(out []byte, kind, size int) []byte {
	const longForm = 29 // sizes from here on take one more byte
	head := byte(min(size, longForm))
	if kind <= 7 {
		out = append(out, byte(kind)<<5|head)
	} else {
		out = append(out, head, byte(kind-7))
	}
	if size >= longForm {
		out = append(out, byte(size-longForm))
	}
	return out
}
