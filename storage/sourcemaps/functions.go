package sourcemaps

import (
	"cmp"
	"encoding/json"
	"slices"
)

// scope is the start of a function in an original file. Lines count from 1, and columns from 0.
type scope struct {
	line, column int
	name         string
}

// maxScopes limits the scopes of one file.
const maxScopes = 1_000_000

// functionMaps reads the function maps in a map of Metro or Hermes, one per source. It omits an unreadable one, because
// the positions are right without it.
func functionMaps(raw json.RawMessage) [][]scope {
	var sources []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &sources) != nil {
		return nil
	}
	out := make([][]scope, len(sources))
	for i, source := range sources {
		var entries []struct {
			Names    []string `json:"names"`
			Mappings string   `json:"mappings"`
		}
		if json.Unmarshal(source, &entries) == nil && len(entries) > 0 {
			out[i] = scopesOf(entries[0].Names, entries[0].Mappings)
		}
	}
	return out
}

// scopesOf reads the scopes of one file. A semicolon ends a group, and a comma ends a scope. The column, the name and
// the line of a scope are encoded as differences from the previous scope. The column restarts at 0 in each group.
func scopesOf(names []string, text string) []scope {
	var out []scope
	reader := mappings{text: text}
	line, column, name := 1, 0, 0
	for reader.at < len(text) {
		switch text[reader.at] {
		case ';':
			column = 0
			reader.at++
			continue
		case ',':
			reader.at++
			continue
		}
		var fields [3]int
		for i := 0; reader.at < len(text) && text[reader.at] != ',' && text[reader.at] != ';'; i++ {
			number, err := reader.number()
			if err != nil {
				return nil
			}
			if i < len(fields) {
				fields[i] = number
			}
		}
		column, name, line = column+fields[0], name+fields[1], line+fields[2]
		if min(column, name, line) < 0 || name >= len(names) || len(out) == maxScopes {
			return nil
		}
		out = append(out, scope{line, column, names[name]})
	}
	slices.SortStableFunc(out, compareScopes)
	return out
}

// compareScopes orders scopes by position.
func compareScopes(a, b scope) int {
	return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
}

// scopeOf returns the name of the function around a position, or "" if it finds none.
func (s *source) scopeOf(line, column int) string {
	next, _ := slices.BinarySearchFunc(s.scopes, scope{line: line, column: column + 1}, compareScopes)
	if next == 0 {
		return ""
	}
	return s.scopes[next-1].name
}
