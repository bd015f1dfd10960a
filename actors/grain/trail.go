package grain

import (
	"encoding/json"
	"fmt"

	"svc/domain"
)

// trail returns the trail of a save: the one that came with the call, completed by the core, and the entries of the
// core. If the call brought none, its id is the version of the save.
func (g *Grain) trail(encoded []byte, effects *Effects) (trail domain.Trail, err error) {
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
