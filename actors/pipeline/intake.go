package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/actors/attempt"
	"svc/actors/enrich"
	"svc/cluster"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/domain/occurrence"
	"svc/domain/revenue"
	"svc/protos"
)

// The intake actor.
//
//	identity   the number of a partition of the log
//	rank       1
//	owns       the ids of the partition's recent events, errors, metric points and billing items,
//	           the open sessions of its visitors, the totals of its cumulative
//	           metric series, the last tallies of their sources, its parsers' caches
//	persists   nothing of its own: the rows it makes are its state, read back when
//	           a generation of ownership begins
//	woken by   the stream, with the state at the beginning of a generation and
//	           then with the records in order, one batch under way at a time
//	limits     RecentIDs, RecentErrors, RecentMetrics and RecentBillings ids; cumulative
//	           series of an hour; the stream waits while the sink is full
//	stops      with the ownership of its partition
const kindIntake = "intake"

// RecentIDs is the least number of event ids that a partition remembers: as many as a table of 2^19 slots holds.
const RecentIDs = 393_000

// Locator finds the place of an address.
type Locator interface {
	Locate(ip netip.Addr) (country, region, city string)
}

// blocks receives the rows that an intake makes.
type blocks interface {
	// append adds the rows of one record, all in the same block.
	append(generation int32, record recordRange, made *folded)
}

// folded is the result of folding a record: rows, and the items that could not be folded.
type folded struct {
	ingest.Rows
	letters []ingest.DeadLetter
	bytes   int // of the record
}

// recordRange is the range of log offsets that rows were made from.
type recordRange struct {
	partition   int
	first, last int64
}

// begin gives an intake the state of its partition for a generation. In this state, the records below next are folded.
type begin struct {
	generation int32
	next       int64
	ids        *dedup
	errorIDs   *dedup
	metricIDs  *dedup
	billings   *said
	sessions   *sessionizer
	deltas     *deltas
	tallies    map[string]ingest.TallyMark
}

// resume asks an intake to retain its state for the next generation, which starts at offset next. done receives whether
// it does. The intake declines if it folded past next: a record that was in its mailbox when the last block was taken
// is folded after that, and its rows were dropped.
type resume struct {
	generation int32
	next       int64
	done       chan bool
}

// Bounce answers that the intake does not have the state.
func (m *resume) Bounce() { m.done <- false }

// fold makes an intake fold records; done receives one value.
type fold struct {
	generation int32
	records    []event.LogRecord
	done       chan error
}

// errIntakeStopped ends a fold that was not executed, or not completely.
var errIntakeStopped = errors.New("the intake stopped")

// Bounce fails the fold for the waiting stream.
func (m *fold) Bounce() { m.done <- errIntakeStopped }

// IntakeConfig holds the dependencies of intakes.
type IntakeConfig struct {
	// Locator returns a locator for one intake.
	Locator func() Locator
	// Lives distinguishes erased visitors from later ones with the same ids; nil if no visitor was erased.
	Lives Lives
	// Processors are taken while records are folded; nil if there are always enough.
	Processors Processors
	Metrics    *IntakeMetrics
	Logger     *slog.Logger
}

// IntakeKind returns the kind of the intake actors. They pass their rows to the sink of their partition.
func IntakeKind(config IntakeConfig, sinks *Sinks) cluster.Kind {
	return cluster.Kind{
		Name: kindIntake, Rank: 1, Stays: true, Partition: intakePartition,
		New: func(identity string) actor.Actor {
			return NewIntake(config, intakePartition(identity, math.MaxInt32), sinks)
		},
	}
}

// NewIntake returns the intake of a partition, without state.
func NewIntake(config IntakeConfig, partition int, sinks *Sinks) *Intake {
	return newIntake(config, partition, sinks.of(partition))
}

func newIntake(config IntakeConfig, partition int, to blocks) *Intake {
	if config.Lives == nil {
		config.Lives = nobody{}
	}
	return &Intake{
		lives:     config.Lives,
		partition: partition, agents: enrich.NewUserAgents(userAgentCache), locator: config.Locator(), processors: config.Processors, blocks: to,
		metrics: config.Metrics, logger: config.Logger,
	}
}

// Intake makes rows of the records of one partition.
type Intake struct {
	partition  int
	generation int32
	next       int64 // the offset after the last folded record
	ids        *dedup
	errorIDs   *dedup
	metricIDs  *dedup
	billings   *said
	sessions   *sessionizer
	deltas     *deltas
	// sources maps the sources of tallies to their last tallies.
	sources    map[string]ingest.TallyMark
	lives      Lives
	agents     *enrich.UserAgents
	locator    Locator
	processors Processors // nil if there are always enough
	blocks     blocks
	metrics    *IntakeMetrics
	logger     *slog.Logger
	// folded belongs to the current record. Its rows share the record's memory, so anything that outlives it must clone
	// its strings.
	folded
	record protos.Record
}

// userAgentCache is the number of user agents that a partition caches.
const userAgentCache = 2048

// Receive handles one message of the mailbox.
func (i *Intake) Receive(c actor.Context) { i.Handle(c.Message()) }

// Handle handles a message from the stream or the cluster.
func (i *Intake) Handle(message any) {
	switch message := message.(type) {
	case *begin:
		i.onBegin(message)
	case *resume:
		message.done <- i.onResume(message)
	case *fold:
		message.done <- i.foldAll(message.generation, message.records)
	case *cluster.Released:
		i.onReleased()
	}
}

// onBegin takes over a state, unless another generation began after the state was read.
func (i *Intake) onBegin(m *begin) {
	if m.generation < i.generation {
		return
	}
	i.generation, i.next, i.ids, i.errorIDs, i.sessions = m.generation, m.next, m.ids, m.errorIDs, m.sessions
	i.metricIDs, i.billings, i.deltas, i.sources = m.metricIDs, m.billings, m.deltas, m.tallies
	if i.sources == nil {
		i.sources = map[string]ingest.TallyMark{}
	}
}

// onReleased drops the state: another node continues with it.
func (i *Intake) onReleased() {
	i.generation, i.next, i.ids, i.errorIDs, i.sessions = 0, 0, nil, nil, nil
	i.metricIDs, i.billings, i.deltas, i.sources = nil, nil, nil, nil
}

// onResume retains the state of the previous generation for the next one. It returns false if the intake does not have
// the state that the next generation needs.
func (i *Intake) onResume(m *resume) bool {
	if i.ids == nil || i.next != m.next || i.generation != m.generation-1 && i.generation != m.generation {
		return false
	}
	i.generation = m.generation
	return true
}

// foldAll folds records in order and adds their rows to the open block. It takes a processor for each record.
func (i *Intake) foldAll(generation int32, records []event.LogRecord) error {
	if i.ids == nil || generation != i.generation {
		return fmt.Errorf("intake %d has no state for generation %d", i.partition, generation)
	}
	for n := range records {
		record := &records[n]
		if err := i.foldNext(record); err != nil {
			return err
		}
		i.next, i.bytes = record.Offset+1, len(record.Value)
		i.blocks.append(generation, recordRange{i.partition, record.Offset, record.Offset}, &i.folded)
		i.release()
	}
	return nil
}

// foldNext folds a record once a processor is free.
func (i *Intake) foldNext(record *event.LogRecord) error {
	if i.processors != nil {
		if err := i.processors.Take(context.Background()); err != nil {
			return err
		}
		defer i.processors.Give()
	}
	i.foldRecord(record)
	return nil
}

// release drops the rows of a record and the memory that they share. Otherwise a row that is not overwritten for long
// would keep a record in memory.
func (i *Intake) release() {
	i.Rows.Clear()
	i.letters = nil
	i.record.Reset()
}

// foldRecord appends the rows of one record. An item becomes a dead letter if folding it panics. A record becomes one
// as a whole if it does not decode, since this program did not write it. The same records make the same rows and
// letters again.
func (i *Intake) foldRecord(record *event.LogRecord) {
	if err := attempt.Contained(func() error { return i.record.UnmarshalVTUnsafe(record.Value) }); err != nil {
		i.metrics.Broken.Inc()
		i.letters = append(i.letters, ingest.DeadLetter{
			Partition: i.partition, Offset: record.Offset, Kind: ingest.LetterRecord, Reason: "the record does not decode: " + err.Error(), Payload: bytes.Clone(record.Value),
		})
		i.logger.Error("record does not decode", "partition", i.partition, "offset", record.Offset, "error", err)
		return
	}
	foldItems(len(i.record.Events), &i.Events, func(n int) { i.foldEvent(i.record.Events[n]) },
		func(row *event.Row, n int) { row.Item = n }, i.quarantine(record, ingest.LetterEvent))
	foldItems(len(i.record.Occurrences), &i.Occurrences, func(n int) { i.foldOccurrence(i.record.Occurrences[n]) },
		func(row *occurrence.Row, n int) { row.Item = n }, i.quarantine(record, ingest.LetterError))
	foldItems(len(i.record.Points), &i.Points, func(n int) { i.foldPoint(i.record.Points[n]) },
		func(row *metric.Row, n int) { row.Item = n }, i.quarantine(record, ingest.LetterPoint))
	foldItems(len(i.record.Billings), &i.Billings, func(n int) { i.foldBilling(i.record.Billings[n]) },
		func(row *revenue.BillingRow, n int) { row.Item = n }, i.quarantine(record, ingest.LetterBilling))
	for _, tally := range i.record.Tallies {
		i.foldTally(tally)
	}
	i.metrics.Events.Add(float64(len(i.record.Events)))
	i.metrics.Errors.Add(float64(len(i.record.Occurrences)))
	i.metrics.Points.Add(float64(len(i.record.Points)))
	sent := len(i.record.Events) + len(i.record.Occurrences) + len(i.record.Points) + len(i.record.Billings)
	i.metrics.Duplicates.Add(float64(sent - i.Len() - len(i.letters)))
}

// foldItems folds the items of one kind, each into one row at most. If folding an item panics, its row is dropped.
func foldItems[Row any](count int, rows *[]Row, fold func(n int), place func(row *Row, n int), failed func(n int, cause any)) {
	whole := 0
	attempt.Each(count, func(n int) {
		if fold(n); len(*rows) > whole {
			place(&(*rows)[whole], n)
			whole++
		}
	}, func(n int, cause any) {
		*rows = (*rows)[:whole]
		failed(n, cause)
	})
}

// quarantine returns a function that makes a dead letter of an item of a record.
func (i *Intake) quarantine(record *event.LogRecord, kind ingest.LetterKind) func(n int, cause any) {
	return func(n int, cause any) {
		reason := fmt.Sprintf("folding it panicked: %v", cause)
		i.logger.Error("folding an item panicked", "partition", i.partition, "offset", record.Offset, "kind", kind, "item", n, "cause", cause, "stack", string(debug.Stack()))
		i.letters = append(i.letters, letterOf(kind, record.Value, n, ingest.DeadLetter{Partition: i.partition, Offset: record.Offset, Reason: reason}))
		i.count(ingest.LetterSignal(kind), ingest.FateDeadLetter, i.countedItem(kind, n))
	}
}

// foldEvent appends the row of one event unless the event is a duplicate.
func (i *Intake) foldEvent(e *protos.Event) {
	thread := protos.Thread(e.Environment, e.SessionId, e.AnonymousId, e.DistinctId)
	if known(i.ids, protos.EventKey(e.Environment, thread, event.Visitor(e.DistinctId, e.AnonymousId), e.Id), e.Letter) {
		i.count(ingest.SignalEvents, ingest.FateDuplicate, countedEvent(e))
		return
	}
	if e.DropBots && i.agents.Parse(e.UserAgent).Bot {
		i.count(ingest.SignalEvents, ingest.FateBot, countedEvent(e))
		return
	}
	i.Events = append(i.Events, event.Row{})
	row := &i.Events[len(i.Events)-1]
	i.describe(row, e)
	row.Thread = thread
	i.placeInSession(row, e)
	i.count(ingest.SignalEvents, ingest.FateStored, countedEvent(e))
}

// describe fills the fields that the event contains, and the fields that follow from its texts.
func (i *Intake) describe(row *event.Row, e *protos.Event) {
	client := i.agents.Parse(e.UserAgent)
	if stated := e.GetClient(); stated != nil {
		client = enrich.Client{Device: stated.Device, Browser: stated.Browser, BrowserVersion: stated.BrowserVersion, OS: stated.Os, OSVersion: stated.OsVersion, Bot: client.Bot}
	}
	campaign := e.GetCampaign()
	row.Event = event.Event{
		ID: e.Id, Ts: time.UnixMilli(e.TsMs), ReceivedAt: time.UnixMilli(e.ReceivedMs),
		Name: e.Name, URL: e.Url, Path: e.Path, Title: e.Title, Referrer: e.Referrer,
		DistinctID: e.DistinctId, AnonymousID: e.AnonymousId,
		Attribution: event.Attribute(e.Url, e.Referrer, event.Campaign{
			Source: campaign.GetSource(), Medium: campaign.GetMedium(), Name: campaign.GetName(),
			Term: campaign.GetTerm(), Content: campaign.GetContent(),
		}),
		Device: client.Device, Browser: client.Browser, BrowserVersion: client.BrowserVersion,
		OS: client.OS, OSVersion: client.OSVersion, IsBot: client.Bot,
		Screen: e.Screen, Locale: e.Locale, Value: e.Value, Currency: e.Currency,
		Properties: json.RawMessage(e.Properties), Release: e.Release, Library: e.Library,
	}
	if place := e.GetPlace(); place != nil {
		row.Country, row.Region, row.City = place.Country, place.Region, place.City
	} else if address, err := netip.ParseAddr(e.Ip); err == nil {
		row.Country, row.Region, row.City = i.locator.Locate(address)
	}
	row.EnvironmentNumber, row.RetentionDays, row.EngagedMs = e.Environment, e.RetentionDays, e.EngagedMs
	row.UserAgent, row.Withheld = e.UserAgent, e.Withheld
	row.Life = i.lives.Life(e.Environment, row.Visitor(), e.ReceivedMs)
	if e.DistinctId != "" {
		row.OtherLife = i.lives.Life(e.Environment, e.AnonymousId, e.ReceivedMs)
	}
}

func intakeIdentity(partition int) string { return strconv.Itoa(partition) }

// intakePartition returns the partition that the identity of an intake names.
func intakePartition(identity string, partitions int) int {
	n, err := strconv.Atoi(identity)
	if err != nil {
		return 0
	}
	return n % partitions
}

// teller hands messages to actors of this node.
type teller interface {
	Tell(kind, identity string, message any) error
}

// foldRecords makes the intake of a partition fold records and waits for it.
func foldRecords(ctx context.Context, to teller, partition int, message *fold) error {
	if err := to.Tell(kindIntake, intakeIdentity(partition), message); err != nil {
		return fmt.Errorf("handing records to intake %d: %w", partition, err)
	}
	select {
	case err := <-message.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
