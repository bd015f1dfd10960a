package block

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/ClickHouse/ch-go/proto"

	"svc/domain/ingest"
)

// search finds the rows of one kind in a block that a trial refuses.
type search struct {
	trial *trial
	block *Block
	kind  kindRows
	// environmentsLeft and rowsLeft are the remaining trial inserts of the search for environments and for single rows.
	environmentsLeft, rowsLeft int
}

// piece is a set of rows that the trial refuses together, with the reason.
type piece struct {
	rows   []int
	reason string
}

// run returns the refused rows. It returns none if the trial refuses plain rows or accepts all rows.
func (s *search) run(ctx context.Context) (out []ingest.RefusedRow, err error) {
	plain := newPlainBlock()
	s.kind.plain(plain)
	if taken, err := s.trial.insert(ctx, plain, s.kind); err != nil || !taken {
		return nil, err
	}
	environments, err := s.environments(ctx)
	if err != nil || len(environments) == 0 {
		return nil, err
	}
	s.trial.of.suspects.add(environments, s)
	for _, environment := range environments {
		found, err := s.divide(ctx, environment)
		if err != nil {
			return nil, err
		}
		if found, err = s.confirm(ctx, environment.rows, found); err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return s.confirm(ctx, s.byEnvironment(), out)
}

// environments returns the rows of each refused environment. It tries previously refused environments separately, so
// that two inserts usually suffice to separate them from the others.
func (s *search) environments(ctx context.Context) ([]piece, error) {
	suspects, others := s.trial.of.suspects.part(s)
	var refused []piece
	for _, rows := range [][]int{others, suspects} {
		found, err := s.environmentsIn(ctx, rows)
		if err != nil {
			return nil, err
		}
		refused = append(refused, found...)
	}
	return refused, nil
}

// environmentsIn halves rows between environments until each refused piece belongs to one.
func (s *search) environmentsIn(ctx context.Context, rows []int) ([]piece, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if taken, err := s.takes(ctx, rows); err != nil || taken {
		return nil, err
	}
	whole := piece{rows, s.trial.reason}
	at := s.border(rows)
	if at == 0 || s.environmentsLeft < 2 {
		return []piece{whole}, nil
	}
	s.environmentsLeft -= 2
	left, err := s.environmentsIn(ctx, rows[:at])
	if err != nil {
		return nil, err
	}
	right, err := s.environmentsIn(ctx, rows[at:])
	if err != nil {
		return nil, err
	}
	if len(left)+len(right) == 0 { // they are only refused together
		return []piece{whole}, nil
	}
	return append(left, right...), nil
}

// border returns the index of a boundary between two environments, as near to the middle as possible. It returns 0 if
// all rows belong to one.
func (s *search) border(rows []int) int {
	environments, middle := s.environmentColumn(), len(rows)/2
	for off := range len(rows) {
		for _, at := range [...]int{middle - off, middle + off} {
			if at > 0 && at < len(rows) && environments[rows[at-1]] != environments[rows[at]] {
				return at
			}
		}
	}
	return 0
}

// divide halves a refused piece, largest parts first, until only single rows or no trials are left.
func (s *search) divide(ctx context.Context, refused piece) (out []ingest.RefusedRow, err error) {
	queue := []piece{refused}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if len(next.rows) == 1 || s.rowsLeft < 2 {
			out = s.refuse(out, next)
			continue
		}
		s.rowsLeft -= 2
		middle := len(next.rows) / 2
		for _, half := range [][]int{next.rows[:middle], next.rows[middle:]} {
			taken, err := s.takes(ctx, half)
			if err != nil {
				return nil, err
			}
			if !taken {
				queue = append(queue, piece{half, s.trial.reason})
			}
		}
	}
	return out, nil
}

// confirm tries the rows without the refused ones. The remaining rows may include rows that are refused only together
// with others. confirm then refuses the second half of the rest, until the trial accepts the rest.
func (s *search) confirm(ctx context.Context, rows []int, out []ingest.RefusedRow) ([]ingest.RefusedRow, error) {
	refused := make(map[int]bool, len(out))
	for _, row := range out {
		refused[row.Row] = true
	}
	rest := slices.DeleteFunc(slices.Clone(rows), func(row int) bool { return refused[row] })
	for len(rest) > 0 {
		taken, err := s.takes(ctx, rest)
		if err != nil || taken {
			return out, err
		}
		half := len(rest) / 2
		out, rest = s.refuse(out, piece{rest[half:], s.trial.reason}), rest[:half]
	}
	return out, nil
}

// refuse adds the rows of a piece to the refused rows.
func (s *search) refuse(out []ingest.RefusedRow, refused piece) []ingest.RefusedRow {
	for _, row := range refused.rows {
		out = append(out, ingest.RefusedRow{Kind: s.kind.kind, Row: row, Reason: refused.reason})
	}
	return out
}

// takes reports whether the trial accepts rows of the block.
func (s *search) takes(ctx context.Context, rows []int) (bool, error) {
	part := newPlainBlock()
	appendRows(s.kind.columns(part), s.kind.columns(s.block), rows)
	return s.trial.insert(ctx, part, s.kind)
}

// environmentColumn returns the environments of the rows, which are the first column.
func (s *search) environmentColumn() proto.ColUInt64 {
	return *s.kind.columns(s.block)[0].Data.(*proto.ColUInt64)
}

// byEnvironment returns the indexes of all rows, grouped by environment.
func (s *search) byEnvironment() []int {
	environments := s.environmentColumn()
	rows := make([]int, len(environments))
	for row := range rows {
		rows[row] = row
	}
	slices.SortStableFunc(rows, func(x, y int) int { return cmp.Compare(environments[x], environments[y]) })
	return rows
}

// suspects are the environments with rows that the store refused in this process.
type suspects struct {
	mu sync.Mutex
	of map[uint64]bool
}

// add stores the environments of refused pieces. If it is full, it drops all others.
func (s *suspects) add(refused []piece, found *search) {
	environments := found.environmentColumn()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of)+len(refused) > maxSuspects {
		s.of = map[uint64]bool{}
	}
	for _, piece := range refused {
		s.of[environments[piece.rows[0]]] = true
	}
}

// part splits the rows of a search into rows of suspects and others.
func (s *suspects) part(of *search) (suspected, others []int) {
	environments := of.environmentColumn()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range of.byEnvironment() {
		if s.of[environments[row]] {
			suspected = append(suspected, row)
		} else {
			others = append(others, row)
		}
	}
	return suspected, others
}
