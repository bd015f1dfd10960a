package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"svc/domain"
)

// BackupSpec selects the data to back up and the destination.
type BackupSpec struct {
	// Dir is a folder on the server's machine that does not exist or is empty.
	Dir string `json:"dir"`
	// Store is the destination for the tables of a ClickHouse server, in its own syntax: Disk('…', '…') or S3(…). The
	// embedded store copies into Dir.
	Store string `json:"store,omitempty"`
	// Stores are these destinations if SVC_CLICKHOUSE_DSN lists several servers, in the order of the list.
	Stores []string `json:"stores,omitempty"`
	// WithoutKey omits the master key.
	WithoutKey bool `json:"withoutKey,omitempty"`
}

// Backups makes backups.
type Backups interface {
	// Backup returns a report of the copied data for the operator.
	Backup(ctx context.Context, spec BackupSpec) (any, error)
}

// registerBackup serves the command, which takes as long as the store needs for its copy.
func registerBackup(mux *http.ServeMux, port Backups) {
	if port == nil {
		return
	}
	mux.HandleFunc("POST /admin/v1/backup", serveLong("The body is no JSON of a backup: it has the members dir, store or stores, and withoutKey.", port.Backup))
}

// serveLong reads a command of its own type and writes its answer, without a time limit.
func serveLong[T any](form string, run func(ctx context.Context, spec T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var spec T
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCommand))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&spec); err != nil {
			refuse(w, domain.Invalid(domain.FieldError{Code: "invalid_json", Message: form}))
			return
		}
		if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
			refuse(w, err)
			return
		}
		answer, err := run(r.Context(), spec)
		if err != nil {
			refuse(w, err)
			return
		}
		write(w, http.StatusOK, answer)
	}
}
