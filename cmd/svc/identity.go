package main

import "context"

// checkIdentity notes whose data this is in a store that is new, and compares it in others.
func (n *node) checkIdentity(ctx context.Context) error {
	facts, err := n.db.Facts(ctx)
	if err != nil {
		return err
	}
	if _, known := facts[dataSetFact]; known {
		return nil
	}
	// A store of a version without facts has had its first start.
	used, err := n.db.Used(ctx)
	if err != nil {
		return err
	}
	if used {
		if _, err := n.db.NoteFact(ctx, firstStartFact, "shown"); err != nil {
			return err
		}
	}
	_, err = n.db.NoteFact(ctx, dataSetFact, n.chance.ID("set_"))
	return err
}

// dataSetFact is the random id of everything that is stored.
const dataSetFact = "data set"
