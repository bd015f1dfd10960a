package destinations

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/destination"
)

// Sealer encrypts credentials.
type Sealer interface {
	Opener
	// Seal encrypts a text under a name.
	Seal(name string, clear []byte) []byte
}

// TargetChecker checks addresses that this service is asked to call.
type TargetChecker interface {
	// CheckTarget returns the reason for not calling a URL, or nil. It also refuses a name that resolves to an address
	// that is not public.
	CheckTarget(ctx context.Context, url string) *domain.FieldError
}

// DispatchLog is the delivery log.
type DispatchLog interface {
	Log
	// Dispatches returns a page of the deliveries of a destination, the newest first.
	Dispatches(ctx context.Context, q destination.DispatchQuery) ([]destination.Dispatch, error)
	// Parked returns the conversions of parked deliveries, the oldest first, from a position on. If an id is given, it
	// returns only that delivery.
	Parked(ctx context.Context, ref domain.AppRef, destination, id string, after *destination.DispatchKey, limit int) ([]destination.Dispatch, error)
}

// Destinations makes, changes, tests and deletes destinations, and replays their deliveries.
type Destinations struct {
	Actors grain.Caller
	Random grain.Random
	// Allowed holds the addresses to which a webhook may lead. Targets checks the addresses that a URL's name resolves
	// to.
	Allowed domain.Targets
	Targets TargetChecker
	Sealer  Sealer
	Sender  Sender
	Log     DispatchLog
	Now     func() time.Time
	// Sync publishes a change on this node before it is answered; nil if there are no other nodes.
	Sync func(ctx context.Context, kind, identity string) error
}

// stateTime bounds how long a list waits for the state of a queue.
const stateTime = 2 * time.Second

// List returns the destinations of an application by id, with their states. If a queue does not answer in time, its
// state is the zero one.
func (d *Destinations) List(ctx context.Context, ref domain.AppRef) ([]destination.Destination, []destination.State, error) {
	all, err := bookList.Ask(ctx, d.Actors, ref.String(), grain.None{})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, stateTime)
	defer cancel()
	states := make([]destination.State, len(all))
	var asked sync.WaitGroup
	for i := range all {
		asked.Go(func() { states[i], _ = queueState.Ask(ctx, d.Actors, queueIdentity(ref, all[i].ID), grain.None{}) }) // see above
	}
	asked.Wait()
	return all, states, nil
}

// find returns a destination of an application.
func (d *Destinations) find(ctx context.Context, ref domain.AppRef, id string) (destination.Destination, error) {
	all, err := bookList.Ask(ctx, d.Actors, ref.String(), grain.None{})
	if err != nil {
		return destination.Destination{}, err
	}
	at := slices.IndexFunc(all, func(one destination.Destination) bool { return one.ID == id })
	if at < 0 {
		return destination.Destination{}, domain.NotFound("destination")
	}
	return all[at], nil
}

// check returns the problems of a specification.
func (d *Destinations) check(ctx context.Context, spec *destination.Spec, app *domain.Application) error {
	problems := spec.Validate(d.Allowed, app.Environments)
	if len(problems) == 0 && spec.Kind == destination.Webhook {
		if problem := d.Targets.CheckTarget(ctx, spec.Config.URL); problem != nil {
			problem.Field = "config.url"
			problems = append(problems, *problem)
		}
	}
	if len(problems) > 0 {
		return domain.Invalid(problems...)
	}
	return nil
}

// Create makes a destination. A webhook gets the secret that it is given, else a new one, which is returned only this
// time. It fails with invalid_request as destination.Spec.Validate does.
func (d *Destinations) Create(ctx context.Context, app *domain.Application, spec destination.Spec, secret domain.Secret) (made destination.Destination, shown domain.Secret, err error) {
	spec.Normalize()
	if err := d.check(ctx, &spec, app); err != nil {
		return made, "", err
	}
	made = destination.Destination{ID: d.Random.NewID(ctx, "dst_"), AppID: app.ID, Spec: spec, Numbers: numbersOf(spec.Environments, app.Environments), CreatedAt: d.Now(), UpdatedAt: d.Now()}
	if secret == "" && spec.Kind == destination.Webhook {
		shown = d.newSecret(ctx)
		secret = shown
	}
	if secret != "" {
		if err := d.checkCredential(ctx, spec.Kind, secret); err != nil {
			return made, "", err
		}
		if made.Sealed, err = d.seal(made.ID, destination.Credential{Secret: secret}); err != nil {
			return made, "", err
		}
	}
	made, err = bookCreate.Ask(ctx, d.Actors, app.Ref().String(), made)
	return made, shown, d.synced(ctx, app.Ref(), err)
}

// secretBytes is the length of a signing secret.
const secretBytes = 32

// newSecret returns a signing secret in the form of Standard Webhooks.
func (d *Destinations) newSecret(ctx context.Context) domain.Secret {
	return domain.Secret("whsec_" + base64.StdEncoding.EncodeToString(d.Random.NewBytes(ctx, secretBytes)))
}

func (d *Destinations) seal(id string, credential destination.Credential) ([]byte, error) {
	clear, err := json.Marshal(credential)
	if err != nil {
		return nil, fmt.Errorf("encoding a credential: %w", err)
	}
	return d.Sealer.Seal(id, clear), nil
}

// checkCredential refuses a text that cannot be a credential of a kind. The error does not quote the text.
func (d *Destinations) checkCredential(ctx context.Context, kind destination.Kind, secret domain.Secret) error {
	problem := destination.CheckCredential(kind, secret)
	if problem == nil && kind == destination.Slack {
		if problem = d.Targets.CheckTarget(ctx, secret.Reveal()); problem != nil {
			problem = &domain.FieldError{Field: "credential", Code: problem.Code, Message: "The credential of a chat is the public https address of its incoming webhook."}
		}
	}
	if problem != nil {
		return domain.Invalid(*problem)
	}
	return nil
}

// Update changes a destination. It fails with not_found if there is no such destination, and with invalid_request as
// Create does.
func (d *Destinations) Update(ctx context.Context, app *domain.Application, id string, patch destination.Patch) (destination.Destination, error) {
	present, err := d.find(ctx, app.Ref(), id)
	if err != nil {
		return present, err
	}
	spec := present.With(patch)
	spec.Normalize()
	if err := d.check(ctx, &spec, app); err != nil {
		return present, err
	}
	changed, err := bookChange.Ask(ctx, d.Actors, app.Ref().String(), changeDestination{ID: id, Patch: patch, Environments: app.Environments})
	return changed, d.synced(ctx, app.Ref(), err)
}

// Delete removes a destination and its waiting deliveries.
func (d *Destinations) Delete(ctx context.Context, ref domain.AppRef, id string) error {
	if _, err := bookDelete.Ask(ctx, d.Actors, ref.String(), findDestination{ID: id}); err != nil {
		return err
	}
	if err := d.synced(ctx, ref, nil); err != nil {
		return err
	}
	_, _ = queueDiscard.Ask(context.WithoutCancel(ctx), d.Actors, queueIdentity(ref, id), grain.None{}) // otherwise its dispatcher does it later
	return nil
}

// SetCredential replaces the credential of a destination. A webhook's previous secret signs along with the new one for
// destination.SecretRotation. If the new secret is empty, one is made here and returned only this time.
func (d *Destinations) SetCredential(ctx context.Context, ref domain.AppRef, id string, secret domain.Secret) (changed destination.Destination, shown domain.Secret, err error) {
	present, err := d.find(ctx, ref, id)
	if err != nil {
		return present, "", err
	}
	if secret == "" && present.Kind == destination.Webhook {
		shown = d.newSecret(ctx)
		secret = shown
	}
	if err := d.checkCredential(ctx, present.Kind, secret); err != nil {
		return present, "", err
	}
	next := destination.Credential{Secret: secret}
	if present.Kind == destination.Webhook {
		before, err := credentialOf(d.Sealer, &present)
		if err != nil {
			return present, "", err
		}
		next = before.Replaced(secret, d.Now())
	}
	sealed, err := d.seal(id, next)
	if err != nil {
		return present, "", err
	}
	changed, err = bookSeal.Ask(ctx, d.Actors, ref.String(), sealDestination{ID: id, Sealed: sealed, Before: present.Sealed})
	return changed, shown, d.synced(ctx, ref, err)
}

// Test sends an invented conversion to a destination, enabled or not. It returns the reason if the conversion was not
// taken, otherwise "", and the id of the delivery in the log.
func (d *Destinations) Test(ctx context.Context, ref domain.AppRef, id string) (problem, delivery string, err error) {
	dest, err := d.find(ctx, ref, id)
	if err != nil {
		return "", "", err
	}
	conversion := destination.TestConversion(d.Random.NewID(ctx, "evt_"), dest.Environments[0], d.Now())
	if len(dest.Numbers) > 0 {
		conversion.EnvironmentNumber = dest.Numbers[0]
	}
	item := destination.DispatchItem{ID: destination.DispatchID(id, conversion.EventID), Attempt: 1, Conversion: &conversion, Contact: &destination.Contact{}}
	attempting, cancel := context.WithTimeout(ctx, destination.DispatchTime)
	defer cancel()
	outcome := dispatch(attempting, d.Sender, d.Sealer, &dest, []destination.DispatchItem{item})[0]
	record := recordOf(ref, id, &item, &outcome, d.Now())
	record.Status, record.Test = destination.DispatchFailed, true
	if outcome.OK {
		record.Status = destination.DispatchAccepted
	}
	return outcome.Error, item.ID, d.Log.Append(ctx, []destination.Dispatch{record})
}

// replayAtOnce is the number of parked deliveries that are passed to the queue at a time. maxReplay bounds the
// deliveries that one call replays: another call can replay the rest.
const (
	replayAtOnce = 128
	maxReplay    = maxQueued / 2
	// busyTime bounds the wait for outcomes that are being recorded; busyPause is the pause between two checks.
	busyTime  = 5 * time.Second
	busyPause = 20 * time.Millisecond
)

// Replay queues parked deliveries again under their ids, the oldest first: one if an id is given, else all. It returns
// their number, and whether more are parked. It fails with not_found if the delivery is not parked.
func (d *Destinations) Replay(ctx context.Context, ref domain.AppRef, id, delivery string) (replayed int, more bool, err error) {
	if _, err := d.find(ctx, ref, id); err != nil {
		return 0, false, err
	}
	var after *destination.DispatchKey
	for replayed < maxReplay {
		parked, err := d.Log.Parked(ctx, ref, id, delivery, after, replayAtOnce)
		if err != nil {
			return replayed, false, err
		}
		if len(parked) == 0 {
			break
		}
		m := offer{}
		for i := range parked {
			m.Items = append(m.Items, *parked[i].Conversion)
			// A replay is not an attempt. Its record replaces the record of the previous attempt. The record of the
			// next attempt replaces it in turn. That attempt may end within the same millisecond, before this record is
			// stored.
			parked[i].At = parked[i].At.Add(time.Millisecond)
			parked[i].Status, parked[i].NextAt, parked[i].Error = destination.DispatchRetrying, d.Now(), ""
		}
		if err := d.requeue(ctx, queueIdentity(ref, id), m); err != nil {
			return replayed, false, err
		}
		if err := d.Log.Append(ctx, parked); err != nil {
			return replayed, false, err
		}
		replayed += len(parked)
		last := &parked[len(parked)-1]
		after = &destination.DispatchKey{CreatedMs: last.CreatedAt.UnixMilli(), ID: last.ID}
		if len(parked) < replayAtOnce {
			return replayed, false, nil
		}
	}
	if replayed == 0 && delivery != "" {
		return 0, false, domain.NotFound("parked delivery")
	}
	return replayed, replayed >= maxReplay, nil
}

// requeue passes parked deliveries to a queue. The log shows a delivery as parked a moment before its queue knows it.
// So requeue waits for the deliveries that the queue does not know as parked yet: a queue that dropped them afterwards
// would have lost the replay.
func (d *Destinations) requeue(ctx context.Context, identity string, m offer) error {
	ctx, cancel := context.WithTimeout(ctx, busyTime)
	defer cancel()
	for {
		answer, err := queueReplay.Ask(ctx, d.Actors, identity, m)
		if err != nil || len(answer.Busy) == 0 {
			return err
		}
		m.Items = slices.DeleteFunc(m.Items, func(c destination.Conversion) bool { return !slices.Contains(answer.Busy, c.EventID) })
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			return &domain.Error{Code: domain.CodeUnavailable, Message: "What became of these deliveries is being recorded. Replay them again."}
		}
	}
}

// Deliveries returns a page of the delivery log of a destination. It fails with not_found if there is no such
// destination.
func (d *Destinations) Deliveries(ctx context.Context, q destination.DispatchQuery) ([]destination.Dispatch, error) {
	if _, err := d.find(ctx, q.App, q.DestinationID); err != nil {
		return nil, err
	}
	return d.Log.Dispatches(ctx, q)
}

// synced returns the error of a change once this node's index has the change. A change that does not arrive in time is
// on its way.
func (d *Destinations) synced(ctx context.Context, ref domain.AppRef, err error) error {
	if err != nil || d.Sync == nil {
		return err
	}
	_ = d.Sync(ctx, kindBook, ref.String()) // see above
	return nil
}
