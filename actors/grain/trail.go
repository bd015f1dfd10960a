package grain

import (
	"encoding/json"
	"fmt"

	"svc"
)

// trail returns what a save leaves beside its entities: the trail that the call brought, completed
// by what the core knows, and the entries of the core. It is named after the save where the call
// brought none.
func (g *Grain) trail(encoded []byte, effects *Effects) (trail svc.Trail, err error) {
	if encoded != nil {
		if err := json.Unmarshal(encoded, &trail); err != nil {
			return trail, fmt.Errorf("decoding a trail: %w", err)
		}
	}
	for i := range trail.Entries {
		entry := &trail.Entries[i]
		if effects.Happened != "" {
			entry.Kind = effects.Happened
		}
		switch {
		case effects.About != "":
			entry.Subject = effects.About
		case entry.Subject == "" && len(effects.Writes) > 0:
			entry.Subject = effects.Writes[0].ID
		}
	}
	if trail.ID == "" && len(effects.Entries) > 0 {
		trail.ID = fmt.Sprintf("%s@%d", g.owner(), g.version.Number())
	}
	trail.Entries = append(trail.Entries, effects.Entries...)
	return trail, nil
}
