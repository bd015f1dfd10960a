package campaigns

import (
	"encoding/json"
	"math/bits"
	"strconv"
	"time"

	"svc/actors/grain"
	"svc/domain"
)

// The tally of a campaign.
//
//	identity   org/app/id, two slugs and the campaign's id
//	rank       1
//	owns       the targets of its links, and the recipients that opened it and clicked
//	persists   entities campaignLinks, one; campaignSeen, one for every tallyBlock recipients, of openings and of clicks
//	woken by   calls only
//	limits     none of its own: a bit for each recipient
//	stops      after ten minutes without a message
const kindTally = "campaignTally"

// The kinds of its entities.
const (
	kindLinks = "campaignLinks"
	kindSeen  = "campaignSeen"
)

// tallyBlock is the number of recipients per entity.
const tallyBlock = 4096

// tally counts recipients once, however often they open or click.
type tally struct {
	links           []string
	opened, clicked seen
}

// seen is a set of recipients, by blocks.
type seen struct {
	blocks map[uint32][]byte
	count  int
}

// tallyLinks are the targets of a campaign's links by number.
type tallyLinks struct {
	URLs []string `json:"urls"`
}

type (
	// seenRecipient reports that a recipient opened the message, or followed a link.
	seenRecipient struct {
		Number  uint32 `json:"number"`
		Clicked bool   `json:"clicked"`
		Link    int    `json:"link"`
	}
	// tallied holds the counts, and the target of a followed link.
	tallied struct {
		Opened  int    `json:"opened"`
		Clicked int    `json:"clicked"`
		URL     string `json:"url"`
	}
)

var tallyKind = grain.NewKind[*tally](kindTally, 1, 10*time.Minute)

// The methods of the tally.
var (
	tallySetup  = grain.On(tallyKind, "setup", (*tally).onSetup, grain.Repeatable)
	tallySeen   = grain.On(tallyKind, "seen", (*tally).onSeen, grain.Repeatable)
	tallyCounts = grain.On(tallyKind, "counts", (*tally).onCounts, grain.Repeatable)
)

// Restore reads links and bits.
func (t *tally) Restore(entities []domain.Entity) error {
	*t = tally{opened: seen{blocks: map[uint32][]byte{}}, clicked: seen{blocks: map[uint32][]byte{}}}
	for _, entity := range entities {
		if entity.Kind == kindLinks {
			read, err := grain.Decode[tallyLinks](entity)
			if err != nil {
				return err
			}
			t.links = read.URLs
			continue
		}
		var block []byte
		if err := json.Unmarshal(entity.Payload, &block); err != nil {
			return err
		}
		number, err := strconv.ParseUint(entity.ID[1:], 10, 32)
		if err != nil {
			return err
		}
		set := &t.opened
		if entity.ID[0] == 'c' {
			set = &t.clicked
		}
		set.blocks[uint32(number)] = block
		for _, b := range block {
			set.count += bits.OnesCount8(b)
		}
	}
	return nil
}

// add adds a recipient to the set and returns the changed block, or nil if the recipient was in the set.
func (s *seen) add(number uint32) (block uint32, changed []byte) {
	block = number / tallyBlock
	at, bit := number%tallyBlock/8, byte(1)<<(number%8)
	old := s.blocks[block]
	if old != nil && old[at]&bit != 0 {
		return block, nil
	}
	changed = make([]byte, tallyBlock/8)
	copy(changed, old)
	changed[at] |= bit
	s.blocks[block] = changed
	s.count++
	return block, changed
}

// onSetup stores the targets of the links.
func (t *tally) onSetup(_ time.Time, m tallyLinks) (grain.Outcome[grain.None], error) {
	t.links = m.URLs
	return grain.Answer(grain.None{}, grain.Put(kindLinks, "links", m)), nil
}

// onSeen counts a recipient and returns the target of a link. It fails with not_found if there is no such link.
func (t *tally) onSeen(_ time.Time, m seenRecipient) (grain.Outcome[tallied], error) {
	set, prefix := &t.opened, "o"
	answer := tallied{}
	if m.Clicked {
		if m.Link < 0 || m.Link >= len(t.links) {
			return grain.Outcome[tallied]{}, domain.NotFound("link")
		}
		set, prefix, answer.URL = &t.clicked, "c", t.links[m.Link]
	} else if t.links == nil {
		return grain.Outcome[tallied]{}, domain.NotFound("campaign")
	}
	block, changed := set.add(m.Number)
	answer.Opened, answer.Clicked = t.opened.count, t.clicked.count
	if changed == nil {
		return grain.Answer(answer), nil
	}
	return grain.Answer(answer, grain.Put(kindSeen, prefix+strconv.FormatUint(uint64(block), 10), changed)), nil
}

func (t *tally) onCounts(time.Time, grain.None) (grain.Outcome[tallied], error) {
	return grain.Answer(tallied{Opened: t.opened.count, Clicked: t.clicked.count}), nil
}
