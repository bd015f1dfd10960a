package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"svc/cmd/svc/settings"
)

// Server is a running server that accepts the operator's commands: its address, and the file with its token.
type Server struct{ addr, tokenFile string }

// Presets returns the server of the environment, else the default server.
func Presets() Server {
	return Server{addr: settings.Value("SVC_ADMIN_ADDR"), tokenFile: filepath.Join(settings.Value("SVC_DATA_DIR"), TokenFile)}
}

// Flags adds the flags that select another server.
func (s *Server) Flags(flags *flag.FlagSet) {
	flags.StringVar(&s.addr, "addr", s.addr, "the admin listener")
	flags.StringVar(&s.tokenFile, "token-file", s.tokenFile, "the file with the operator's token")
}

// Ask sends a command and returns the answer. It waits for as long as ctx allows.
func (s *Server) Ask(ctx context.Context, call string, command any) ([]byte, error) {
	token, err := ReadToken(s.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("%w; name the server's data directory with SVC_DATA_DIR, or the file with --token-file", err)
	}
	body, err := json.Marshal(command)
	if err != nil {
		return nil, fmt.Errorf("encoding the command: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addr+"/admin/v1/"+call, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("addressing the server: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+token.Reveal())
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		if _, refused := errors.AsType[*net.OpError](err); refused {
			return nil, fmt.Errorf("no server answers at %s; start it with `svc serve`, or name it with --addr", s.addr)
		}
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server refused: %s", strings.TrimSpace(string(answer)))
	}
	return answer, nil
}
