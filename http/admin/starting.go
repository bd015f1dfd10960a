package admin

import "net/http"

// Starting returns the handler of a node that does not serve yet: it is alive, and its checks name the pending
// conditions.
func Starting(config Config) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { readyz(w, r, config.Checks) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusServiceUnavailable, map[string]string{"error": "The node is starting; /readyz says what it waits for."})
	})
	return guard(config, mux)
}
