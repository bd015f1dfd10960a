// Package admin serves the operator's listener: health, metrics, profiles, and the commands of `svc admin`. Commands
// and profiles require a bearer token. Requests of web pages or under foreign host names are refused: access to the
// listener does not prove that the caller is the operator.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc/domain"
)

// Check is one condition of readiness.
type Check struct {
	Name string
	// Ready returns nil while the condition holds.
	Ready func(ctx context.Context) error
	// Warning is true if the node is ready even when the condition does not hold; the failure is only shown.
	Warning bool
}

// checkTime bounds all checks of one request.
const checkTime = 3 * time.Second

// Config holds the dependencies of the listener.
type Config struct {
	Checks   []Check
	Gatherer prometheus.Gatherer
	Operator Operator
	Letters  Letters
	// Backups and Moves may be nil.
	Backups Backups
	Moves   Moves
	// Ledger and Auditor record the effects of the operator's commands; nil records nothing.
	Ledger  Ledger
	Auditor Auditor
	Logger  *slog.Logger
	Now     func() time.Time
	// Token is the bearer token that commands and profiles require. The empty token permits
	// nothing.
	Token domain.Secret
	// Console returns scheme and host of the console, for links to it.
	Console func() string
	// Hosts lists the names under which the listener may be called, in addition to localhost and its own addresses.
	Hosts []string
}

// New returns the listener's handler.
func New(config Config) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { readyz(w, r, config.Checks) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(config.Gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	operator{config.Operator, config.Ledger, config.Auditor, config.Now, config.Logger, config.Console}.register(mux)
	letters{config.Letters}.register(mux)
	registerBackup(mux, config.Backups)
	registerMoves(mux, config.Moves)
	return guard(config, mux)
}

// guard returns a handler that checks every request before next.
func guard(config Config, next http.Handler) http.Handler {
	checked := &guarded{next: next, token: config.Token}
	for _, host := range config.Hosts {
		if _, err := netip.ParseAddr(hostName(host)); err != nil {
			checked.hosts = append(checked.hosts, hostName(host))
		}
	}
	return checked
}

// readyz answers 200 while every check holds, else 503 with the failed checks.
func readyz(w http.ResponseWriter, r *http.Request, checks []Check) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTime)
	defer cancel()
	status, states := http.StatusOK, map[string]string{}
	for _, check := range checks {
		states[check.Name] = "ok"
		err := check.Ready(ctx)
		switch {
		case err == nil:
		case check.Warning:
			states[check.Name] = "warning: " + err.Error()
		default:
			status, states[check.Name] = http.StatusServiceUnavailable, err.Error()
		}
	}
	write(w, status, states)
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body)
}

// refuse writes an error in full: only the operator reads it.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	body := map[string]any{"error": err.Error()}
	if known, ok := errors.AsType[*domain.Error](err); ok {
		status = domain.InfoOf(known.Code).Status
		body = map[string]any{"error": known.Message, "code": known.Code}
		if len(known.Fields) > 0 {
			body["errors"] = known.Fields
		}
	}
	write(w, status, body)
}
