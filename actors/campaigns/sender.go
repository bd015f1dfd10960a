package campaigns

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/campaign"
)

// The sender of a campaign: the core of the dispatcher.
//
//	identity   org/app/id, two slugs and the campaign's id
//	rank       2
//	owns       the texts of the campaign, and the progress of its sending
//	persists   entities campaignContent; campaignSending, one; campaignChunk, one for every open chunk of the audience;
//	           campaignHour and campaignDue, one each
//	woken by   calls, and the wake-up send while the campaign is scheduled or sent
//	limits     maxOpenChunks chunks of chunkSize recipients
//	stops      after ten minutes without a message
const kindSender = "campaign"

// The kinds of its entities.
const (
	kindContent = "campaignContent"
	kindSending = "campaignSending"
	kindChunk   = "campaignChunk"
	kindHour    = "campaignHour"
	kindDue     = "campaignDue" // the time of the sender's next check, with the version of the wake-up
)

const (
	// keptContents is the number of retained versions of the texts; the book names the valid one.
	keptContents = 8
	// wakeAfter is the time after a save at which the sender is woken if nothing else happens, as after a crash.
	wakeAfter = 5 * time.Second
	// detailBytes bounds the stored part of a mail server's answer.
	detailBytes = 160
)

// sender is the core of a dispatcher.
type sender struct {
	identity string
	contents map[string]keptContent
	state    sendingState
	chunks   map[uint32]*chunk
	hour     sendingHour
	// armed is when the sender was last asked to check its campaign, zero while there is nothing to do. nudged says
	// that this happened while a run works.
	armed  time.Time
	nudged bool
}

type keptContent struct {
	Content campaign.Content `json:"content"`
	At      time.Time        `json:"at"`
}

// sendingState is the progress of the sending, without the open chunks.
type sendingState struct {
	// Run is the run that works for the sender; messages of other runs are refused.
	Run string `json:"run,omitempty"`
	// Batches are the stored pages of the audience; Cursor is the beginning of the next one.
	Batches   []batch `json:"batches,omitempty"`
	Cursor    string  `json:"cursor,omitempty"`
	Collected bool    `json:"collected,omitempty"`
	// Rows is the number of stored recipients. Next is the first recipient that is in no chunk yet.
	Rows uint32 `json:"rows,omitempty"`
	Next uint32 `json:"next,omitempty"`
	// Progress counts closed chunks, and people without an address.
	Progress campaign.Progress `json:"progress"`
}

// batch is a stored page of an audience.
type batch struct {
	// Number separates the rows of the page from the rows of a page that was not recorded.
	Number uint64 `json:"number"`
	Size   int    `json:"size"`
}

// sendingHour counts the messages of an hour.
type sendingHour struct {
	Began time.Time `json:"began"`
	Count int       `json:"count"`
}

// chunk holds consecutive recipients and their outcomes.
type chunk struct {
	First uint32 `json:"first"`
	// Fates has a letter for each recipient.
	Fates []byte `json:"fates"`
	// Tries are the attempts for recipients that wait. Details are the answers of the mail server for others.
	Tries   map[uint32]try    `json:"tries,omitempty"`
	Details map[uint32]string `json:"details,omitempty"`
}

// try counts the attempts for a recipient.
type try struct {
	Attempts int       `json:"attempts"`
	Next     time.Time `json:"next"`
}

type (
	// restSender says that there is nothing to do before Due; zero means never. It has no effect if the sender was
	// armed after Armed.
	restSender struct {
		Armed time.Time `json:"armed"`
		Due   time.Time `json:"due,omitzero"`
	}
	readContent struct {
		Hash string `json:"hash"`
	}
	resumeRun struct {
		Run string `json:"run"`
	}
	// resumed is the state from which a run continues.
	resumed struct {
		State  sendingState `json:"state"`
		Chunks []chunk      `json:"chunks"`
		Hour   sendingHour  `json:"hour"`
	}
	collectPage struct {
		Run    string         `json:"run"`
		Batch  batch          `json:"batch"`
		Skips  campaign.Skips `json:"skips"`
		Cursor string         `json:"cursor"`
		Done   bool           `json:"done"`
	}
	openChunk struct {
		Run   string `json:"run"`
		Chunk chunk  `json:"chunk"`
	}
	closeChunk struct {
		Run   string `json:"run"`
		First uint32 `json:"first"`
	}
	// step claims recipients, and reports the results of others.
	step struct {
		Run     string   `json:"run"`
		Claims  []uint32 `json:"claims,omitempty"`
		Results []result `json:"results,omitempty"`
		// Budget is the number of messages per hour; 0 is unlimited.
		Budget int `json:"budget,omitempty"`
	}
	result struct {
		Number   uint32        `json:"number"`
		Fate     campaign.Fate `json:"fate"`
		Attempts int           `json:"attempts,omitempty"`
		Next     time.Time     `json:"next,omitzero"`
		Detail   string        `json:"detail,omitempty"`
	}
	stepped struct {
		Granted []uint32    `json:"granted"`
		Hour    sendingHour `json:"hour"`
	}
	noteTrouble struct {
		Run     string `json:"run"`
		Trouble string `json:"trouble"`
	}
)

var senderKind = grain.NewKind[*sender](kindSender, 2, 10*time.Minute)

// The methods of the sender.
var (
	senderWrite    = grain.On(senderKind, "write", (*sender).onWrite, grain.Repeatable)
	senderRead     = grain.On(senderKind, "read", (*sender).onRead, grain.Repeatable)
	senderArm      = grain.On(senderKind, "arm", (*sender).onArm, grain.Repeatable)
	senderRest     = grain.On(senderKind, "rest", (*sender).onRest, grain.Repeatable)
	senderProgress = grain.On(senderKind, "progress", (*sender).onProgress, grain.Repeatable)
	senderResume   = grain.On(senderKind, "resume", (*sender).onResume, grain.Repeatable)
	senderCollect  = grain.On(senderKind, "collect", (*sender).onCollect, grain.Repeatable)
	senderOpen     = grain.On(senderKind, "open", (*sender).onOpen, grain.Repeatable)
	senderStep     = grain.On(senderKind, "step", (*sender).onStep, grain.Repeatable)
	senderClose    = grain.On(senderKind, "close", (*sender).onClose, grain.Repeatable)
	senderTrouble  = grain.On(senderKind, "trouble", (*sender).onTrouble, grain.Repeatable)
	_              = grain.On(senderKind, "wake", (*sender).onWake)
)

// Restore reads texts and progress.
func (s *sender) Restore(entities []domain.Entity) (err error) {
	s.contents, s.state, s.chunks, s.hour = map[string]keptContent{}, sendingState{}, map[uint32]*chunk{}, sendingHour{}
	for _, entity := range entities {
		switch entity.Kind {
		case kindContent:
			s.contents[entity.ID], err = grain.Decode[keptContent](entity)
		case kindSending:
			s.state, err = grain.Decode[sendingState](entity)
		case kindHour:
			s.hour, err = grain.Decode[sendingHour](entity)
		case kindChunk:
			var read chunk
			read, err = grain.Decode[chunk](entity)
			s.chunks[read.First] = &read
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onWrite stores texts under their hash, and deletes old ones.
func (s *sender) onWrite(now time.Time, content campaign.Content) (grain.Outcome[grain.None], error) {
	hash := content.Hash()
	s.contents[hash] = keptContent{content, now}
	outcome := grain.Answer(grain.None{}, grain.Put(kindContent, hash, s.contents[hash]))
	for len(s.contents) > keptContents {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(s.contents)), func(a, b string) int {
			return cmp.Or(s.contents[a].At.Compare(s.contents[b].At), cmp.Compare(a, b))
		})
		delete(s.contents, oldest)
		outcome.Writes = append(outcome.Writes, grain.Delete(kindContent, oldest))
	}
	return outcome, nil
}

func (s *sender) onRead(_ time.Time, m readContent) (grain.Outcome[campaign.Content], error) {
	kept, known := s.contents[m.Hash]
	if !known {
		return grain.Outcome[campaign.Content]{}, domain.NotFound("text of the campaign")
	}
	return grain.Answer(kept.Content), nil
}

// wakeup returns the effects that wake the sender at due, or never if due is zero.
func (s *sender) wakeup(due time.Time) grain.Effects {
	return grain.Effects{Writes: []grain.Write{grain.Put(kindDue, "due", due)}, Wakeups: []domain.Wakeup{{Kind: kindSender, Identity: s.identity, Name: "send", Due: due}}}
}

// onArm makes the sender check its campaign, now, and again after a crash. Two calls at the same instant differ, so
// that a run that checked before the second one does not end it.
func (s *sender) onArm(now time.Time, _ grain.None) (grain.Outcome[grain.None], error) {
	s.armed, s.nudged = later(now, s.armed.Add(1)), true
	return grain.Outcome[grain.None]{Effects: s.wakeup(now.Add(wakeAfter))}, nil
}

func (s *sender) onRest(_ time.Time, m restSender) (grain.Outcome[grain.None], error) {
	if !s.armed.Equal(m.Armed) {
		return grain.Answer(grain.None{}), nil
	}
	s.armed = time.Time{}
	return grain.Outcome[grain.None]{Effects: s.wakeup(m.Due)}, nil
}

func (s *sender) onWake(now time.Time, _ string) (grain.Outcome[grain.None], error) {
	if s.armed.IsZero() {
		s.armed = now
	}
	return grain.Outcome[grain.None]{Effects: s.wakeup(now.Add(wakeAfter))}, nil
}

// onProgress sums up closed and open chunks.
func (s *sender) onProgress(time.Time, grain.None) (grain.Outcome[campaign.Progress], error) {
	progress := s.state.Progress
	for _, c := range s.chunks {
		c.count(&progress)
	}
	return grain.Answer(progress), nil
}

// count adds the outcomes of a chunk's recipients.
func (c *chunk) count(progress *campaign.Progress) {
	for _, fate := range c.Fates {
		progress.Count(campaign.Fate(fate), 1)
	}
}

// put stores a chunk.
func (c *chunk) put() grain.Write { return grain.Put(kindChunk, chunkID(c.First), c) }

func chunkID(first uint32) string { return strconv.FormatUint(uint64(first), 10) }
