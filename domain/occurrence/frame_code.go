package occurrence

import (
	"encoding/json"
	"maps"
	"slices"

	"svc/domain"
)

// FrameCode is the source around a call.
type FrameCode struct {
	Before []string `json:"before,omitempty"`
	Line   string   `json:"line"`
	After  []string `json:"after,omitempty"`
}

// Limits of the source and the variables of frames: of a line, of the lines on a side, of a variable, of all variables
// of a frame, and of everything in an error together. All are in bytes except the number of lines.
const (
	MaxCodeLine   = 200
	MaxCodeLines  = 5
	MaxVarBytes   = 512
	MaxFrameVars  = 4 << 10
	MaxSurrounded = 64 << 10
)

// trimCode cuts source and variables to their limits. The frames nearest to the throw have priority.
func (o *Occurrence) trimCode() {
	left := MaxSurrounded
	for i := range o.Frames {
		frame := &o.Frames[i]
		frame.Vars = boundedVars(frame.Vars)
		size := len(frame.Vars)
		if code := frame.Code; code != nil {
			code.Before, code.After = code.Before[max(0, len(code.Before)-MaxCodeLines):], code.After[:min(len(code.After), MaxCodeLines)]
			code.Line = domain.Truncate(code.Line, MaxCodeLine)
			size += len(code.Line)
			for _, lines := range [][]string{code.Before, code.After} {
				for n := range lines {
					lines[n] = domain.Truncate(lines[n], MaxCodeLine)
					size += len(lines[n])
				}
			}
		}
		if left -= size; left < 0 {
			frame.Code, frame.Vars = nil, nil
		}
	}
}

// boundedVars retains the first variables by name, each cut to its limit.
func boundedVars(raw json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return nil
	}
	kept, left := map[string]json.RawMessage{}, MaxFrameVars
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := all[name]
		if len(value) > MaxVarBytes {
			value, _ = json.Marshal(domain.Truncate(string(value), MaxVarBytes)) // a text can always be encoded
		}
		if left -= len(name) + len(value); left < 0 || len(name) > MaxTagBytes {
			break
		}
		kept[name] = value
	}
	out, err := json.Marshal(kept)
	if err != nil {
		return nil
	}
	return out
}
