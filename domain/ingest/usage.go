package ingest

import (
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// Signal is a kind of telemetry items.
type Signal string

// The signals. Identifies and aliases count as events, web vitals as metric points.
const (
	SignalEvents  Signal = "events"
	SignalErrors  Signal = "errors"
	SignalMetrics Signal = "metricPoints"
	SignalFlags   Signal = "flagEvaluations"
)

// Signals lists the signals in display order.
func Signals() []Signal { return []Signal{SignalEvents, SignalErrors, SignalMetrics, SignalFlags} }

// Values lists the signals.
func (Signal) Values() []Signal { return Signals() }

// Fate is the outcome of an item: stored, a repetition of another one, or dropped for a reason.
type Fate string

// The fates. All except the first two and the last are drop reasons.
const (
	FateStored    Fate = "stored"
	FateDuplicate Fate = "duplicate"
	// FateBudget is the monthly budget, FateSampled the sample rate of the policy.
	FateBudget  Fate = "budget"
	FateSampled Fate = "sampled"
	// FateInvalid is an item or a request that breaks a rule of the protocol, named by a code.
	FateInvalid Fate = "invalid"
	// FateBot is an event of a program, if the policy drops them.
	FateBot Fate = "bot"
	// FateBadKey is a request with a key that was revoked, or without a valid one for the environment that it names.
	FateBadKey Fate = "badKey"
	// FateTooOld is an item that is older than its key permits, or that a later one of its series has overtaken.
	FateTooOld Fate = "tooOld"
	// FateDeadLetter is an item that was accepted but could not be stored, and waits for the operator; FateGivenUp is
	// one that the operator gave up.
	FateDeadLetter Fate = "deadLetter"
	FateGivenUp    Fate = "givenUp"
	// FateClientSide counts items that an SDK reports it did not send.
	FateClientSide Fate = "clientSide"
	// FateDisabled is an item of a signal or a module that is switched off.
	FateDisabled Fate = "disabled"
	// FateRateLimited is an error above the limit per minute of its issue or its key.
	FateRateLimited Fate = "rateLimited"
	// FateExcluded is internal traffic; the code is the kind of the rule that excluded it.
	FateExcluded Fate = "excluded"
	// FateStripped counts parts that were left out of stored items; the code says why. The items have other fates as
	// well.
	FateStripped Fate = "stripped"
)

// DropReasons lists the fates of dropped items in display order.
func DropReasons() []Fate {
	return []Fate{
		FateBudget, FateSampled, FateInvalid, FateBot, FateBadKey, FateTooOld, FateDeadLetter, FateGivenUp, FateClientSide, FateDisabled, FateRateLimited, FateExcluded,
	}
}

// Fates lists all fates.
func Fates() []Fate { return append([]Fate{FateStored, FateDuplicate, FateStripped}, DropReasons()...) }

// UsageKey identifies a count: the items of one signal that an environment sent on a UTC day and that have the same
// fate.
type UsageKey struct {
	Environment uint64
	// Day is a UTC day, in days since 1970.
	Day    int32
	Signal Signal
	Fate   Fate
	// Code is the broken rule, or the client's reason.
	Code string
}

// UsageCount is a number of items and their approximate bytes in the log. A negative number removes items from a count
// that they left for another.
type UsageCount struct {
	UsageKey
	Items, Bytes int64
	// Last is when the last of them arrived, in milliseconds.
	Last int64
}

// DayOf returns the UTC day of an instant in milliseconds, in days since 1970.
func DayOf(ms int64) int32 { return int32(ms / (24 * time.Hour).Milliseconds()) }

// UsageCounts are counts with different keys. The list is short, so look-ups scan it.
type UsageCounts []UsageCount

// Add adds items to the count of their key.
func (c *UsageCounts) Add(one UsageCount) {
	for i := range *c {
		if known := &(*c)[i]; known.UsageKey == one.UsageKey {
			known.Items += one.Items
			known.Bytes += one.Bytes
			known.Last = max(known.Last, one.Last)
			return
		}
	}
	*c = append(*c, one)
}

// TallyMark identifies a group of counts that came through the log: the counter, and the number of the group. A group
// is a repetition if its number is not greater than the last one.
type TallyMark struct {
	Source string
	Seq    uint64
	AtMs   int64
}

// LetterSignal returns the signal of a dead letter's item; none for a whole record.
func LetterSignal(kind LetterKind) Signal {
	switch kind {
	case LetterEvent, LetterBilling:
		return SignalEvents
	case LetterError:
		return SignalErrors
	case LetterPoint:
		return SignalMetrics
	case LetterRecord:
	}
	return ""
}

// Rejection is an item of a request that was not accepted, and the reason.
type Rejection struct {
	Index   int    `json:"index"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Signal is the kind of the item.
	Signal Signal `json:"-"`
}

// RejectionFate returns the fate of an item that was rejected with a code.
func RejectionFate(code string) Fate {
	switch code {
	case "too_old":
		return FateTooOld
	case string(domain.CodeModuleDisabled), CodeSignalOff:
		return FateDisabled
	case CodeOverBudget:
		return FateBudget
	case string(domain.CodeRateLimited):
		return FateRateLimited
	}
	return FateInvalid
}

// Codes of rejected items that a telemetry policy causes.
const (
	CodeSignalOff  = "signal_off"
	CodeOverBudget = "over_budget"
)

// UsageDays is the number of UTC days of usage in an answer, including today.
const UsageDays = 30

// SignalUsage counts the items of one signal by their fate.
type SignalUsage struct {
	Stored, Duplicates int64
	Dropped            map[Fate]int64
	// Codes are the items dropped as invalid by their code.
	Codes map[string]int64
	// Stripped are the parts that were left out of items, by their code.
	Stripped map[string]int64
	// ClientReasons are the items that clients report as not sent, by their ClientReasonCode.
	ClientReasons map[string]int64
	Bytes         int64
	// LastAt is when the last item arrived; zero if none did.
	LastAt time.Time
}

// ClientReason is the client's reason for not sending an item, and the category of the item.
type ClientReason struct{ Reason, Category string }

// clientReasonMark separates reason and category in a code. The code of errors is the reason alone.
const clientReasonMark, clientReasonError = "/", "error"

// ClientReasonCode returns the code under which such items are counted.
func ClientReasonCode(reason, category string) string {
	if category == clientReasonError {
		return reason
	}
	return reason + clientReasonMark + category
}

// ClientReasonOf parses a code.
func ClientReasonOf(code string) ClientReason {
	reason, category, has := strings.Cut(code, clientReasonMark)
	if !has {
		category = clientReasonError
	}
	return ClientReason{reason, category}
}

// Received counts all items.
func (u *SignalUsage) Received() int64 {
	received := u.Stored + u.Duplicates
	for _, items := range u.Dropped {
		received += items
	}
	return received
}

// UsageDay is the usage of an environment on one UTC day.
type UsageDay struct {
	// Date is the beginning of the day.
	Date    time.Time
	Signals map[Signal]*SignalUsage
}

// NewUsageDays returns empty days up to the day of now, the oldest first.
func NewUsageDays(now time.Time, days int) []UsageDay {
	today := now.UTC().Truncate(24 * time.Hour)
	out := make([]UsageDay, days)
	for i := range out {
		signals := map[Signal]*SignalUsage{}
		for _, signal := range Signals() {
			signals[signal] = &SignalUsage{Dropped: map[Fate]int64{}, Codes: map[string]int64{}, Stripped: map[string]int64{}, ClientReasons: map[string]int64{}}
		}
		out[i] = UsageDay{Date: today.AddDate(0, 0, i+1-days), Signals: signals}
	}
	return out
}

// AddUsage adds counts to their days; it ignores counts of other days.
func AddUsage(days []UsageDay, counts []UsageCount) {
	for i := range counts {
		c := &counts[i]
		at := slices.IndexFunc(days, func(d UsageDay) bool { return DayOf(d.Date.UnixMilli()) == c.Day })
		if at < 0 || days[at].Signals[c.Signal] == nil {
			continue
		}
		usage := days[at].Signals[c.Signal]
		usage.Bytes += c.Bytes
		if last := time.UnixMilli(c.Last).UTC(); last.After(usage.LastAt) {
			usage.LastAt = last
		}
		switch c.Fate {
		case FateStored:
			usage.Stored += c.Items
		case FateDuplicate:
			usage.Duplicates += c.Items
		case FateStripped:
			usage.Stripped[c.Code] += c.Items
		default:
			usage.Dropped[c.Fate] += c.Items
			if c.Fate == FateInvalid {
				usage.Codes[c.Code] += c.Items
			}
			if c.Fate == FateClientSide {
				usage.ClientReasons[c.Code] += c.Items
			}
		}
	}
}
