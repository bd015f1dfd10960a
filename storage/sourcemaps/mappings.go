package sourcemaps

import (
	"fmt"
	"strings"
)

// maxPlace is the largest plausible line, column and index.
const maxPlace = 1<<30 - 1

// mappings reads the segments of a map. A semicolon ends a line of generated code, and a comma ends a segment. A
// segment is one, four or five numbers in base 64. Each number is the difference from the previous number of its kind.
type mappings struct {
	text string
	at   int
	// line is the current line of the generated code. shift is added to the columns of the first line.
	line, shift int
	// column, source, fromLine, fromColumn and name are the values to which the next segment adds.
	column, source, fromLine, fromColumn, name int

	sourceBase, sourceCount, nameBase, nameCount int
}

// all appends every segment to out. Its error names the segment that cannot be read.
func (m *mappings) all(out []segment) ([]segment, error) {
	first, number := m.line, 0
	for m.at < len(m.text) {
		switch m.text[m.at] {
		case ';':
			m.line, m.column, m.shift, number = m.line+1, 0, 0, 0
			m.at++
		case ',':
			m.at++
		default:
			number++
			one, err := m.segment()
			if err != nil {
				return nil, fmt.Errorf("line %d, segment %d of the mappings: %w", m.line-first+1, number, err)
			}
			if len(out) == maxSegments {
				return nil, fmt.Errorf("it has more than %d segments", maxSegments)
			}
			out = append(out, one)
		}
	}
	return out, nil
}

// segment reads one segment.
func (m *mappings) segment() (segment, error) {
	var fields [5]int
	count := 0
	for m.at < len(m.text) && m.text[m.at] != ',' && m.text[m.at] != ';' {
		if count == len(fields) {
			return segment{}, fmt.Errorf("it has more than %d numbers", len(fields))
		}
		var err error
		if fields[count], err = m.number(); err != nil {
			return segment{}, err
		}
		count++
	}
	m.column += fields[0]
	one := segment{line: int32(m.line), column: int32(m.column + m.shift), source: -1, name: -1}
	if min(m.column, m.line) < 0 || max(m.column+m.shift, m.line) > maxPlace {
		return one, fmt.Errorf("it is at column %d", m.column)
	}
	switch count {
	case 1:
		return one, nil
	case 4, 5:
	default:
		return one, fmt.Errorf("it has %d numbers; 1, 4 or 5 are allowed", count)
	}
	m.source, m.fromLine, m.fromColumn = m.source+fields[1], m.fromLine+fields[2], m.fromColumn+fields[3]
	if m.source < 0 || m.source >= m.sourceCount {
		return one, fmt.Errorf("it names the source %d of %d", m.source, m.sourceCount)
	}
	if min(m.fromLine, m.fromColumn) < 0 || max(m.fromLine, m.fromColumn) > maxPlace {
		return one, fmt.Errorf("it comes from line %d, column %d", m.fromLine, m.fromColumn)
	}
	one.source, one.fromLine, one.fromColm = int32(m.sourceBase+m.source), int32(m.fromLine), int32(m.fromColumn)
	if count == len(fields) {
		m.name += fields[4]
		if m.name < 0 || m.name >= m.nameCount {
			return one, fmt.Errorf("it names the name %d of %d", m.name, m.nameCount)
		}
		one.name = int32(m.nameBase + m.name)
	}
	return one, nil
}

// base64Digits are the digits in order of their values.
const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// number reads one number: digits of five bits, the least significant first. A sixth bit is set if more digits follow.
// The lowest bit of the number is the sign.
func (m *mappings) number() (int, error) {
	const fiveBits, more, maxBits = 5, 1 << 5, 35
	value := 0
	for shift := 0; ; shift += fiveBits {
		if m.at == len(m.text) {
			return 0, fmt.Errorf("it ends within a number")
		}
		digit := strings.IndexByte(base64Digits, m.text[m.at])
		if digit < 0 {
			return 0, fmt.Errorf("it holds %q", m.text[m.at])
		}
		m.at++
		value |= digit & (more - 1) << shift
		if digit&more == 0 {
			break
		}
		if shift >= maxBits {
			return 0, fmt.Errorf("it holds a number of more than %d bits", maxBits)
		}
	}
	if value&1 != 0 {
		return -(value >> 1), nil
	}
	return value >> 1, nil
}
