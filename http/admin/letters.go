package admin

import (
	"context"
	"net/http"
	"strings"

	"svc/domain"
	"svc/domain/ingest"
)

// Letters lists, replays and drops dead letters: accepted items that could not be folded or stored.
type Letters interface {
	Count(ctx context.Context) ([]ingest.LetterCount, error)
	List(ctx context.Context, environment uint64) ([]ingest.LetterRow, error)
	Show(ctx context.Context, id string) (ingest.DeadLetter, error)
	Replay(ctx context.Context, ids []string) (int, error)
	Drop(ctx context.Context, ids []string) (int, error)
}

// LetterList is the answer to deadletters.list: the number of waiting letters, and the newest of them.
type LetterList struct {
	Counts  []ingest.LetterCount `json:"counts"`
	Letters []ingest.LetterRow   `json:"letters"`
}

type letters struct{ port Letters }

func (l letters) register(mux *http.ServeMux) {
	mux.HandleFunc("POST /admin/v1/deadletters.list", serve(l.list))
	mux.HandleFunc("POST /admin/v1/deadletters.show", serve(l.show))
	mux.HandleFunc("POST /admin/v1/deadletters.replay", serve(l.replay))
	mux.HandleFunc("POST /admin/v1/deadletters.drop", serve(l.drop))
}

func (l letters) list(ctx context.Context, c Command) (any, error) {
	counts, err := l.port.Count(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := l.port.List(ctx, c.Environment)
	return LetterList{append([]ingest.LetterCount{}, counts...), append([]ingest.LetterRow{}, rows...)}, err
}

func (l letters) show(ctx context.Context, c Command) (any, error) {
	letter, err := l.port.Show(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"id": c.ID, "environment": letter.Environment, "kind": letter.Kind, "at": letter.At, "reason": letter.Reason, "partition": letter.Partition, "payload": letter.Payload,
	}, nil
}

func (l letters) replay(ctx context.Context, c Command) (any, error) {
	ids, err := l.named(ctx, c)
	if err != nil {
		return nil, err
	}
	count, err := l.port.Replay(ctx, ids)
	return map[string]int{"replayed": count}, err
}

func (l letters) drop(ctx context.Context, c Command) (any, error) {
	ids, err := l.named(ctx, c)
	if err != nil {
		return nil, err
	}
	count, err := l.port.Drop(ctx, ids)
	return map[string]int{"dropped": count}, err
}

// named returns the letters of a command: by their ids, or the newest waiting ones of one environment or of all. A
// command without a selection concerns no letter.
func (l letters) named(ctx context.Context, c Command) ([]string, error) {
	if c.ID != "" {
		return strings.Split(c.ID, ","), nil
	}
	if c.Environment == 0 && !c.All {
		return nil, domain.Invalid(domain.FieldError{Field: "id", Code: "missing_value", Message: "Name dead letters by id, an environment, or all."})
	}
	rows, err := l.port.List(ctx, c.Environment)
	ids := make([]string, 0, len(rows))
	for i := range rows {
		ids = append(ids, rows[i].ID)
	}
	return ids, err
}
