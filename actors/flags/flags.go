package flags

import (
	"context"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/flag"
	"svc/domain/segment"
)

// Flags is the client of the flags actors.
type Flags struct {
	Actors grain.Caller
	// Sync publishes a change on this node before it is answered, if the owner is another node; nil if there are no
	// other nodes.
	Sync func(ctx context.Context, kind, identity string) error
}

// List returns the flags of an application by key, including archived ones.
func (f *Flags) List(ctx context.Context, ref domain.AppRef) ([]flag.Flag, error) {
	return bookList.Ask(ctx, f.Actors, ref.String(), grain.None{})
}

// Get returns a flag. It fails with not_found if there is no such flag.
func (f *Flags) Get(ctx context.Context, ref domain.AppRef, key string) (flag.Flag, error) {
	return bookGet.Ask(ctx, f.Actors, ref.String(), findFlag{key})
}

// Put replaces a flag by a valid, normalised definition, or makes it. With ifMatch, it does so only if the flag has
// that version. action is the kind of the change. This node already evaluates the returned flag.
func (f *Flags) Put(ctx context.Context, ref domain.AppRef, key string, spec *flag.Spec, ifMatch *uint64, by domain.LedgerActor) (flag flag.Flag, action string, err error) {
	changed, err := bookPut.Ask(ctx, f.Actors, ref.String(), putFlag{Key: key, Spec: *spec, IfMatch: ifMatch, By: by})
	return changed.Flag, changed.Action, f.synced(ctx, ref, err)
}

// Archive ends the evaluation of a flag and retains its history. It fails with conflict if the flag is already
// archived.
func (f *Flags) Archive(ctx context.Context, ref domain.AppRef, key string, ifMatch *uint64, by domain.LedgerActor) (flag.Flag, error) {
	changed, err := bookArchive.Ask(ctx, f.Actors, ref.String(), archiveFlag{Key: key, IfMatch: ifMatch, By: by})
	return changed.Flag, f.synced(ctx, ref, err)
}

// History returns the versions of a flag, the newest first.
func (f *Flags) History(ctx context.Context, ref domain.AppRef, key string) ([]flag.Change, error) {
	return bookHistory.Ask(ctx, f.Actors, ref.String(), findFlag{key})
}

// SegmentUses returns the flags of an application with conditions that name a segment.
func (f *Flags) SegmentUses(ctx context.Context, app domain.Application, id string) (uses []segment.Use, err error) {
	flags, err := f.List(ctx, app.Ref())
	for n := range flags {
		if flags[n].UsesSegment(id) {
			uses = append(uses, segment.Use{Kind: "flag", Name: flags[n].Key, Production: flags[n].Environments[conversation.Production].Enabled})
		}
	}
	return uses, err
}

// synced returns the error of a change once this node's definitions have the change. A change that does not arrive in
// time is on its way: it was announced.
func (f *Flags) synced(ctx context.Context, ref domain.AppRef, err error) error {
	if err != nil || f.Sync == nil {
		return err
	}
	_ = f.Sync(ctx, kindFlags, ref.String()) // see above
	return nil
}
