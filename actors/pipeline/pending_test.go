package pipeline

import (
	"reflect"
	"testing"

	"svc/domain/event"
)

func TestPendingBlockSurvivesItsText(t *testing.T) {
	for _, want := range []pendingBlock{
		{id: 1, spans: []recordRange{{0, 0, 0}}},
		{id: 1<<63 - 1, spans: []recordRange{{3, 1 << 40, 1<<40 + 17}, {15, 5, 6}}},
	} {
		got, err := parsePending(want.String())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q reads as %+v, %v; want %+v", want.String(), got, err, want)
		}
	}
	for _, text := range []string{"", "block1", "block1 1", "block2 1 0,0,0", "block1 x! 0,0,0", "block1 1 0,0", "block1 1 0,-1,0", "block1 1 0,0,0,0"} {
		if got, err := parsePending(text); err == nil {
			t.Errorf("%q reads as %+v", text, got)
		}
	}
}

func FuzzParsePending(f *testing.F) {
	f.Add("block1 zz 0,1,2 3,4,5")
	f.Add("block1 1 0,0")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		pending, err := parsePending(text)
		if err != nil {
			return
		}
		again, err := parsePending(pending.String())
		if err != nil || !reflect.DeepEqual(again, pending) {
			t.Errorf("%q reads as %+v, whose text reads as %+v, %v", text, pending, again, err)
		}
	})
}

// TestDecide lists the positions that a crash may leave of a block over partitions 0 and 1.
func TestDecide(t *testing.T) {
	block := pendingBlock{id: 7, spans: []recordRange{{0, 10, 19}, {1, 20, 29}}}
	text := block.String()
	before := func(p int, offset int64) event.LogPosition { return event.LogPosition{Partition: p, Offset: offset} }
	in := func(p int, offset int64) event.LogPosition {
		return event.LogPosition{Partition: p, Offset: offset, Metadata: text}
	}
	for _, c := range []struct {
		name      string
		positions []event.LogPosition
		want      verdict
		settled   []event.LogPosition
	}{
		{"nothing was written", []event.LogPosition{before(0, 10), before(1, 20)}, nonePending, nil},
		{"one of two boundaries was written", []event.LogPosition{in(0, 10), before(1, 20)}, notBegun, []event.LogPosition{before(0, 10)}},
		{"the other one was written", []event.LogPosition{before(0, 10), in(1, 20)}, notBegun, []event.LogPosition{before(1, 20)}},
		{"both were written", []event.LogPosition{in(0, 10), in(1, 20)}, undecided, []event.LogPosition{before(0, 10), before(1, 20)}},
		{"one of two was committed after", []event.LogPosition{before(0, 20), in(1, 20)}, stored, []event.LogPosition{before(1, 30)}},
		{"both were committed after", []event.LogPosition{before(0, 20), before(1, 30)}, nonePending, nil},
		{"a third partition is not in the block", []event.LogPosition{before(0, 20), in(1, 20), before(2, 99)}, stored, []event.LogPosition{before(1, 30)}},
		{"the first is in a later block", []event.LogPosition{{Partition: 0, Offset: 25, Metadata: pendingBlock{id: 9, spans: []recordRange{{0, 25, 26}}}.String()}, in(1, 20)}, stored, []event.LogPosition{before(1, 30)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := block.decide(byPartition(c.positions)); got != c.want {
				t.Fatalf("verdict %d, want %d", got, c.want)
			}
			if settled := block.resolve(c.want, c.positions); !reflect.DeepEqual(settled, c.settled) {
				t.Errorf("settled as %+v, want %+v", settled, c.settled)
			}
		})
	}
}

// TestPendingBlocks lists the texts that several nodes may have left.
func TestPendingBlocks(t *testing.T) {
	one := pendingBlock{id: 7, spans: []recordRange{{0, 10, 19}, {1, 20, 29}}}
	two := pendingBlock{id: 3, spans: []recordRange{{2, 0, 5}}}
	got, err := pendingBlocks([]event.LogPosition{
		{Partition: 0, Offset: 10, Metadata: one.String()},
		{Partition: 1, Offset: 20, Metadata: one.String()},
		{Partition: 2, Metadata: two.String()},
		{Partition: 3, Offset: 4},
	})
	if err != nil || !reflect.DeepEqual(got, []pendingBlock{two, one}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := pendingBlocks([]event.LogPosition{{Metadata: "strange"}}); err == nil {
		t.Error("a strange text is passed over")
	}
}
