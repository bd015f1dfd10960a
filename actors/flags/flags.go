package flags

import (
	"context"

	"svc"
	"svc/actors/grain"
)

// Flags is the client of the flags actors.
type Flags struct {
	Actors grain.Caller
	// Sync makes a change known to this node before it is answered, where the owner is another one; nil where there
	// are no others.
	Sync func(ctx context.Context, kind, identity string) error
}

// List returns the flags of an application by key, the archived ones among them.
func (f *Flags) List(ctx context.Context, ref svc.AppRef) ([]svc.Flag, error) {
	return bookList.Ask(ctx, f.Actors, ref.String(), grain.None{})
}

// Get returns a flag. It fails with not_found where there is none.
func (f *Flags) Get(ctx context.Context, ref svc.AppRef, key string) (svc.Flag, error) {
	return bookGet.Ask(ctx, f.Actors, ref.String(), findFlag{key})
}

// Put replaces a flag by a valid, normalised definition, or makes it; with ifMatch only where the flag has that version.
// action says what the change was. What it returns is evaluated on this node.
func (f *Flags) Put(ctx context.Context, ref svc.AppRef, key string, spec *svc.FlagSpec, ifMatch *uint64, by svc.LedgerActor) (flag svc.Flag, action string, err error) {
	changed, err := bookPut.Ask(ctx, f.Actors, ref.String(), putFlag{Key: key, Spec: *spec, IfMatch: ifMatch, By: by})
	return changed.Flag, changed.Action, f.synced(ctx, ref, err)
}

// Archive ends the evaluation of a flag and keeps its history. It fails with conflict where the flag is archived.
func (f *Flags) Archive(ctx context.Context, ref svc.AppRef, key string, ifMatch *uint64, by svc.LedgerActor) (svc.Flag, error) {
	changed, err := bookArchive.Ask(ctx, f.Actors, ref.String(), archiveFlag{Key: key, IfMatch: ifMatch, By: by})
	return changed.Flag, f.synced(ctx, ref, err)
}

// History returns the versions of a flag, the newest first.
func (f *Flags) History(ctx context.Context, ref svc.AppRef, key string) ([]svc.FlagChange, error) {
	return bookHistory.Ask(ctx, f.Actors, ref.String(), findFlag{key})
}

// SegmentUses returns the flags of an application whose conditions name a segment.
func (f *Flags) SegmentUses(ctx context.Context, app svc.Application, id string) (uses []svc.SegmentUse, err error) {
	flags, err := f.List(ctx, app.Ref())
	for n := range flags {
		if flags[n].UsesSegment(id) {
			uses = append(uses, svc.SegmentUse{Kind: "flag", Name: flags[n].Key, Production: flags[n].Environments[svc.Production].Enabled})
		}
	}
	return uses, err
}

// synced is the answer to a change, once this node's definitions have it. A change that is not here in time is on its
// way: it was announced.
func (f *Flags) synced(ctx context.Context, ref svc.AppRef, err error) error {
	if err != nil || f.Sync == nil {
		return err
	}
	_ = f.Sync(ctx, kindFlags, ref.String()) // see above
	return nil
}
