package campaigns

import (
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/campaign"
)

// wrote is the outcome of a method that answers and writes.
func wrote(answer any, writes ...grain.Write) grain.Outcome[any] {
	return grain.Answer(answer, writes...)
}

// TestBookLife takes a campaign from its draft to its end.
func TestBookLife(t *testing.T) {
	ada, bob := domain.LedgerActor{ID: "usr_1", Name: "Ada"}, domain.LedgerActor{ID: "usr_2", Name: "Bob"}
	must := func(m campaign.Mailing, err error) campaign.Mailing {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	at := actorstest.At
	draft := campaign.Mailing{
		ID: "cmp_1", Spec: campaign.Spec{Name: "Spring", Channels: []campaign.Channel{campaign.ChannelMail}, Rate: 20}, ContentHash: "a",
		Status: campaign.Draft, Revision: 1, Author: ada, Editors: []string{ada.ID}, CreatedAt: at(0), UpdatedAt: at(0), RetentionDays: 30,
	}
	spec := draft.Spec
	spec.Name = "Summer"
	edited := must(draft.Edited(spec, "b", ada, at(1)))
	edited.RetentionDays = 60
	pending := must(edited.Submitted(ada, at(2)))
	approved := must(pending.Decided(campaign.Decision{Approved: true, By: bob, At: at(4)}))
	scheduled := must(approved.Controlled(campaign.Schedule, at(time.Hour), at(5)))
	sending := scheduled.Moved(campaign.Sending, at(time.Hour))
	paused := must(sending.Controlled(campaign.Pause, time.Time{}, at(2*time.Hour)))
	resumed := must(paused.Controlled(campaign.Resume, time.Time{}, at(3*time.Hour)))
	failed := resumed
	failed.Problem = "audience_gone"
	failed = failed.Moved(campaign.Failed, at(4*time.Hour))
	kept := func(m campaign.Mailing) grain.Outcome[any] { return wrote(m, grain.Put(kindCampaign, m.ID, m)) }
	changed := domain.Errorf(domain.CodePrecondition, "The campaign was changed meanwhile; read it again.")
	own := &domain.Error{Code: domain.CodeForbidden, Reason: "own_campaign", Message: "Another member approves a campaign than those who wrote or submitted it."}
	wrong := &domain.Error{Code: domain.CodeConflict, Reason: "wrong_status", Message: "The campaign is sending, so it cannot be edited."}
	find, finish := findCampaign{"cmp_1"}, finishCampaign{"cmp_1", "audience_gone"}
	steps := []actorstest.Step{
		{Name: "none", Method: "list", Message: grain.None{}, Want: wrote(nil)},
		{Name: "none of this id", Method: "get", Message: find, Err: domain.NotFound("campaign")},
		{Name: "created", Method: "create", Message: draft, Want: kept(draft)},
		{Name: "created again", Method: "create", Message: draft, Want: wrote(draft)},
		{Name: "found", Method: "get", Message: find, Want: wrote(draft)},
		{Name: "an old revision", After: 1, Method: "edit", Message: editCampaign{"cmp_1", spec, "b", 60, ada, 7}, Err: changed},
		{Name: "edited", After: 1, Method: "edit", Message: editCampaign{"cmp_1", spec, "b", 60, ada, 1}, Want: kept(edited)},
		{Name: "submitted", After: 2, Method: "submit", Message: submitCampaign{"cmp_1", ada, 2}, Want: kept(pending)},
		{Name: "approved by its author", After: 3, Method: "decide", Message: decideCampaign{"cmp_1", campaign.Decision{Approved: true, By: ada}, 3}, Err: own},
		{Name: "approved", After: 4, Method: "decide", Message: decideCampaign{"cmp_1", campaign.Decision{Approved: true, By: bob}, 3}, Want: kept(approved)},
		{Name: "scheduled", After: 5, Method: "control", Message: controlCampaign{ID: "cmp_1", Action: campaign.Schedule, At: at(time.Hour)}, Want: kept(scheduled)},
		{Name: "begun too early", After: time.Hour - 1, Method: "begin", Message: find, Want: wrote(scheduled)},
		{Name: "begun", After: time.Hour, Method: "begin", Message: find, Want: kept(sending)},
		{Name: "begun again", After: time.Hour + 1, Method: "begin", Message: find, Want: wrote(sending)},
		{Name: "edited while it is sent", After: time.Hour + 1, Method: "edit", Message: editCampaign{ID: "cmp_1", By: ada}, Err: wrong},
		{Name: "paused", After: 2 * time.Hour, Method: "control", Message: controlCampaign{ID: "cmp_1", Action: campaign.Pause}, Want: kept(paused)},
		{Name: "its run ends late", After: 2 * time.Hour, Method: "finish", Message: finish, Want: wrote(paused)},
		{Name: "resumed", After: 3 * time.Hour, Method: "control", Message: controlCampaign{ID: "cmp_1", Action: campaign.Resume}, Want: kept(resumed)},
		{Name: "failed", After: 4 * time.Hour, Method: "finish", Message: finish, Want: kept(failed)},
		{Name: "failed again", After: 5 * time.Hour, Method: "finish", Message: finish, Want: wrote(failed)},
		{Name: "all", After: 5 * time.Hour, Method: "list", Message: grain.None{}, Want: wrote([]campaign.Mailing{failed})},
	}
	actorstest.Play(t, bookKind, func() *book { return &book{} }, true, steps)
	actorstest.WantEveryMethod(t, bookKind, steps)
}

// senderWoken returns the effects of a sender that is to be woken at an instant, or never for the zero time.
func senderWoken(due time.Time) grain.Outcome[any] {
	return grain.Outcome[any]{Answer: grain.None{}, Effects: grain.Effects{
		Writes: []grain.Write{grain.Put(kindDue, "due", due)}, Wakeups: []domain.Wakeup{{Kind: kindSender, Identity: "acme/web/cmp_1", Name: "send", Due: due}},
	}}
}

// TestSenderLife sends to three people. One is sent to, one is asked to wait, and one is claimed by a run that ends
// without a result.
func TestSenderLife(t *testing.T) {
	at := actorstest.At
	texts := campaign.Content{Subject: "Hi", Text: "Hi"}
	other := &domain.Error{Code: domain.CodeConflict, Reason: "other_run", Message: "Another run sends the campaign."}
	first := sendingState{Run: "run_1"}
	page := batch{Number: 7, Size: 3}
	collected := sendingState{Run: "run_1", Batches: []batch{page}, Collected: true, Rows: 3, Progress: campaign.Progress{Size: 5, TakenAt: at(2), Skips: campaign.Skips{NoAddress: 2}}}
	opened := collected
	opened.Next = 3
	second := opened
	second.Run = "run_2"
	away := second
	away.Progress.Trouble = "away"
	closed := away
	closed.Progress.Sent, closed.Progress.Failures.Uncertain = 2, 1
	sending := func(s sendingState) grain.Write { return grain.Put(kindSending, "sending", s) }
	fates := func(fates string, tries map[uint32]try) grain.Write {
		return grain.Put(kindChunk, "0", chunk{Fates: []byte(fates), Tries: tries})
	}
	hour := func(after time.Duration, count int) sendingHour { return sendingHour{at(after), count} }
	counted := func(h sendingHour) grain.Write { return grain.Put(kindHour, "hour", h) }
	waits := map[uint32]try{1: {1, at(2 * time.Hour)}}
	all := chunk{Fates: []byte("qqq")}
	steps := []actorstest.Step{
		{Name: "texts", Method: "write", Message: texts, Want: wrote(grain.None{}, grain.Put(kindContent, texts.Hash(), keptContent{texts, at(0)}))},
		{Name: "they are read", Method: "read", Message: readContent{texts.Hash()}, Want: wrote(texts)},
		{Name: "others", Method: "read", Message: readContent{"other"}, Err: domain.NotFound("text of the campaign")},
		{Name: "a run", After: 1, Method: "resume", Message: resumeRun{"run_1"}, Want: wrote(resumed{State: first}, sending(first))},
		{Name: "a page of another run", After: 2, Method: "collect", Message: collectPage{Run: "run_0", Batch: page}, Err: other},
		{Name: "a page", After: 2, Method: "collect", Message: collectPage{Run: "run_1", Batch: page, Skips: campaign.Skips{NoAddress: 2}, Done: true}, Want: wrote(collected, sending(collected))},
		{Name: "the page again", After: 3, Method: "collect", Message: collectPage{Run: "run_1", Batch: page}, Want: wrote(collected)},
		{Name: "a chunk", After: 4, Method: "open", Message: openChunk{"run_1", all}, Want: wrote(grain.None{}, fates("qqq", nil), sending(opened))},
		{Name: "the chunk again", After: 4, Method: "open", Message: openChunk{"run_1", all}, Want: wrote(grain.None{})},
		{
			Name: "claims within a budget of one", After: 5, Method: "step", Message: step{Run: "run_1", Claims: []uint32{0, 1}, Budget: 1},
			Want: wrote(stepped{[]uint32{0}, hour(5, 1)}, fates("cqq", nil), counted(hour(5, 1))),
		},
		{Name: "the claim again", After: 6, Method: "step", Message: step{Run: "run_1", Claims: []uint32{0}, Budget: 1}, Want: wrote(stepped{[]uint32{0}, hour(5, 1)})},
		{
			Name: "sent, and the next in this hour", After: 7, Method: "step", Message: step{Run: "run_1", Claims: []uint32{1}, Results: []result{{Number: 0, Fate: campaign.RecipientSent}}, Budget: 1},
			Want: wrote(stepped{[]uint32{}, hour(5, 1)}, fates("sqq", nil)),
		},
		{
			Name: "the next in the next hour", After: time.Hour + 5, Method: "step", Message: step{Run: "run_1", Claims: []uint32{1}, Budget: 1},
			Want: wrote(stepped{[]uint32{1}, hour(time.Hour+5, 1)}, fates("scq", nil), counted(hour(time.Hour+5, 1))),
		},
		{
			Name: "postponed, and the last without a budget", After: time.Hour + 6, Method: "step",
			Message: step{Run: "run_1", Claims: []uint32{2}, Results: []result{{Number: 1, Fate: campaign.RecipientWaits, Attempts: 1, Next: at(2 * time.Hour)}}},
			Want:    wrote(stepped{[]uint32{2}, hour(time.Hour+5, 1)}, fates("src", waits)),
		},
		{Name: "closed too early", After: time.Hour + 7, Method: "close", Message: closeChunk{Run: "run_1"}, Want: wrote(grain.None{})},
		{
			Name: "another run", After: time.Hour + 8, Method: "resume", Message: resumeRun{"run_2"},
			Want: wrote(resumed{second, []chunk{{Fates: []byte("sru"), Tries: waits}}, hour(time.Hour+5, 1)}, fates("sru", waits), sending(second)),
		},
		{Name: "the one before", After: time.Hour + 9, Method: "step", Message: step{Run: "run_1", Claims: []uint32{1}}, Err: other},
		{Name: "whoever is over is not claimed", After: time.Hour + 9, Method: "step", Message: step{Run: "run_2", Claims: []uint32{0, 2}}, Want: wrote(stepped{[]uint32{}, hour(time.Hour+5, 1)})},
		{Name: "trouble", After: time.Hour + 9, Method: "trouble", Message: noteTrouble{"run_2", "away"}, Want: wrote(grain.None{}, sending(away))},
		{Name: "the same trouble", After: time.Hour + 9, Method: "trouble", Message: noteTrouble{"run_2", "away"}, Want: wrote(grain.None{})},
		{
			Name: "sent at last", After: 2 * time.Hour, Method: "step", Message: step{Run: "run_2", Results: []result{{Number: 1, Fate: campaign.RecipientSent}}},
			Want: wrote(stepped{[]uint32{}, hour(time.Hour+5, 1)}, fates("ssu", map[uint32]try{})),
		},
		{Name: "progress", After: 2 * time.Hour, Method: "progress", Message: grain.None{}, Want: wrote(closed.Progress)},
		{Name: "closed", After: 2 * time.Hour, Method: "close", Message: closeChunk{Run: "run_2"}, Want: wrote(grain.None{}, grain.Delete(kindChunk, "0"), sending(closed))},
		{Name: "closed again", After: 2 * time.Hour, Method: "close", Message: closeChunk{Run: "run_2"}, Want: wrote(grain.None{})},
		{Name: "the same progress", After: 2 * time.Hour, Method: "progress", Message: grain.None{}, Want: wrote(closed.Progress)},
		{Name: "woken", After: 3 * time.Hour, Method: "wake", Message: "send", Want: senderWoken(at(3*time.Hour + wakeAfter))},
		{Name: "armed", After: 4 * time.Hour, Method: "arm", Message: grain.None{}, Want: senderWoken(at(4*time.Hour + wakeAfter))},
	}
	newSender := func() *sender { return &sender{identity: "acme/web/cmp_1"} }
	actorstest.Play(t, senderKind, newSender, true, steps)
	// The time of arming is not stored: a restored sender is woken.
	arming := []actorstest.Step{
		{Name: "armed", Method: "arm", Message: grain.None{}, Want: senderWoken(at(wakeAfter))},
		{Name: "armed again at once, while a run ends", Method: "arm", Message: grain.None{}, Want: senderWoken(at(wakeAfter))},
		{Name: "the run has not heard of that", After: 2, Method: "rest", Message: restSender{Armed: at(0)}, Want: wrote(grain.None{})},
		{Name: "nothing before a while", After: 3, Method: "rest", Message: restSender{Armed: at(1), Due: at(time.Hour)}, Want: senderWoken(at(time.Hour))},
		{Name: "woken", After: time.Hour, Method: "wake", Message: "send", Want: senderWoken(at(time.Hour + wakeAfter))},
		{Name: "nothing any more", After: time.Hour, Method: "rest", Message: restSender{Armed: at(time.Hour)}, Want: senderWoken(time.Time{})},
	}
	actorstest.Play(t, senderKind, newSender, false, arming)
	actorstest.WantEveryMethod(t, senderKind, append(steps, arming...))
}

// TestTallyLife counts each recipient once.
func TestTallyLife(t *testing.T) {
	bits := func(set ...int) []byte {
		block := make([]byte, tallyBlock/8)
		for _, bit := range set {
			block[bit/8] |= 1 << (bit % 8)
		}
		return block
	}
	seen := func(id string, block []byte) grain.Write { return grain.Put(kindSeen, id, block) }
	links := tallyLinks{URLs: []string{"https://shop.example/"}}
	steps := []actorstest.Step{
		{Name: "unknown", Method: "seen", Message: seenRecipient{Number: 1}, Err: domain.NotFound("campaign")},
		{Name: "set up", Method: "setup", Message: links, Want: wrote(grain.None{}, grain.Put(kindLinks, "links", links))},
		{Name: "opened", Method: "seen", Message: seenRecipient{Number: 9}, Want: wrote(tallied{Opened: 1}, seen("o0", bits(9)))},
		{Name: "opened again", Method: "seen", Message: seenRecipient{Number: 9}, Want: wrote(tallied{Opened: 1})},
		{Name: "no such link", Method: "seen", Message: seenRecipient{Number: 9, Clicked: true, Link: 1}, Err: domain.NotFound("link")},
		{Name: "clicked", Method: "seen", Message: seenRecipient{Number: 9, Clicked: true}, Want: wrote(tallied{1, 1, links.URLs[0]}, seen("c0", bits(9)))},
		{Name: "another opens", Method: "seen", Message: seenRecipient{Number: 10}, Want: wrote(tallied{Opened: 2, Clicked: 1}, seen("o0", bits(9, 10)))},
		{Name: "one of another block", Method: "seen", Message: seenRecipient{Number: tallyBlock + 3}, Want: wrote(tallied{Opened: 3, Clicked: 1}, seen("o1", bits(3)))},
		{Name: "clicked again", Method: "seen", Message: seenRecipient{Number: 9, Clicked: true}, Want: wrote(tallied{3, 1, links.URLs[0]})},
		{Name: "counts", Method: "counts", Message: grain.None{}, Want: wrote(tallied{Opened: 3, Clicked: 1})},
	}
	actorstest.Play(t, tallyKind, func() *tally { return &tally{} }, true, steps)
	actorstest.WantEveryMethod(t, tallyKind, steps)
}

// TestACampaignWithoutLinksCountsOpenings opens a message without links.
func TestACampaignWithoutLinksCountsOpenings(t *testing.T) {
	actorstest.Play(t, tallyKind, func() *tally { return &tally{} }, true, []actorstest.Step{
		{Name: "set up", Method: "setup", Message: tallyLinks{URLs: []string{}}, Want: wrote(grain.None{}, grain.Put(kindLinks, "links", tallyLinks{URLs: []string{}}))},
		{Name: "opened", Method: "seen", Message: seenRecipient{}, Want: wrote(tallied{Opened: 1}, grain.Put(kindSeen, "o0", append([]byte{1}, make([]byte, tallyBlock/8-1)...)))},
	})
}

// TestSuppressionsLife has an address that bounces, and a person that unsubscribes and subscribes again.
func TestSuppressionsLife(t *testing.T) {
	put := func(after time.Duration, reason, campaign string) grain.Outcome[any] {
		return wrote(grain.None{}, grain.Put(kindSuppression, "ab", suppression{reason, campaign, actorstest.At(after)}))
	}
	bounced, left := suppressAddress{"ab", reasonBounced, "cmp_1"}, suppressAddress{"ab", reasonUnsubscribed, "cmp_2"}
	known := func(hashes ...string) actorstest.Step {
		return actorstest.Step{Name: "known", Method: "known", Message: knownAddresses{[]string{"aa", "ab"}}, Want: wrote(knownAddresses{append([]string{}, hashes...)})}
	}
	steps := []actorstest.Step{
		known(),
		{Name: "bounced", After: 1, Method: "add", Message: bounced, Want: put(1, reasonBounced, "cmp_1")},
		{Name: "bounced again", After: 2, Method: "add", Message: bounced, Want: wrote(grain.None{})},
		{Name: "what a server has said stays", After: 2, Method: "lift", Message: suppressAddress{Hash: "ab"}, Want: wrote(grain.None{})},
		known("ab"),
		{Name: "unsubscribed", After: 3, Method: "add", Message: left, Want: put(3, reasonUnsubscribed, "cmp_2")},
		{Name: "bounced later", After: 4, Method: "add", Message: bounced, Want: wrote(grain.None{})},
		known("ab"),
		{Name: "subscribed", After: 5, Method: "lift", Message: suppressAddress{Hash: "ab"}, Want: wrote(grain.None{}, grain.Delete(kindSuppression, "ab"))},
		known(),
	}
	actorstest.Play(t, suppressionsKind, func() *suppressions { return &suppressions{} }, true, steps)
	actorstest.WantEveryMethod(t, suppressionsKind, steps)
}
