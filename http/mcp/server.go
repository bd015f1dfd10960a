package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	manual "svc/docs"
	"svc/domain"
	"svc/domain/conversation"
	"svc/http/route"
	"svc/http/tools"
)

// Organizations reads the organizations of a token.
type Organizations interface {
	// Memberships returns the organizations that a grant's token may address.
	Memberships(ctx context.Context, grant domain.Grant) ([]domain.Membership, error)
}

// Apps reads applications.
type Apps interface {
	Get(ctx context.Context, ref domain.AppRef) (domain.Application, error)
	// List returns applications of an organization by slug, and whether more follow.
	List(ctx context.Context, org, after string, limit int) ([]domain.Application, bool, error)
}

// Settings reads the permissions that organizations give to models.
type Settings interface {
	Settings(ctx context.Context, org, user string) (conversation.AISettings, error)
}

// Tools are the routes that a model may call.
type Tools interface {
	Tool(name string) (conversation.Tool, bool)
	AllWhere(sees func(tool *conversation.Tool) bool) []conversation.Tool
	FindWhere(sees func(tool *conversation.Tool) bool, query string, limit int) []conversation.Tool
	Need(name string) tools.Need
	Repeatable(name string) bool
	Target(ctx context.Context, secret domain.Secret, ref domain.AppRef, name string, input json.RawMessage) (conversation.Target, error)
	Execute(ctx context.Context, secret domain.Secret, ref domain.AppRef, name string, input json.RawMessage) (conversation.ToolOutcome, error)
}

// Proposals stores calls that a person must decide on.
type Proposals interface {
	// Propose records a call and executes nothing; origin names the caller's program.
	Propose(ctx context.Context, who conversation.Principal, secret domain.Secret, call conversation.ToolCall, origin string) (conversation.Action, error)
}

// Docs contains the documentation.
type Docs interface {
	Pages() []manual.DocPage
}

// Config holds the parts of a Server. All but PublicURL and Logger are required.
type Config struct {
	Authority     route.Authority
	Organizations Organizations
	Apps          Apps
	Settings      Settings
	Tools         Tools
	Proposals     Proposals
	Docs          Docs
	// PublicURL is the address under which callers reach the service; empty means the host of the request.
	PublicURL string
	// Version is shown to clients.
	Version string
	Logger  *slog.Logger
}

// Server answers /mcp.
type Server struct {
	config   Config
	protocol *sdk.Server
	handler  http.Handler
}

// maxBody bounds a message, in bytes.
const maxBody = 1 << 20

// New returns a server. It does no I/O.
func New(config Config) *Server {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: config}
	s.protocol = sdk.NewServer(&sdk.Implementation{Name: "svc", Title: "Analytics, monitoring and assistant service", Version: config.Version}, &sdk.ServerOptions{
		Logger:       config.Logger,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { *c = private() },
	})
	s.protocol.AddReceivingMiddleware(s.receive)
	s.registerAll()
	s.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.protocol }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: config.Logger, MaxRequestBodyBytes: maxBody,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   true, // admitHost does it and knows the public name.
	})
	return s
}

// registerAll registers the tools and pages for any caller with the SDK.
func (s *Server) registerAll() {
	call := func(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return s.callTool(ctx, callerOf(ctx), request)
	}
	for _, tool := range []*sdk.Tool{findTool(), readTool(), writeTool(), errorTool()} {
		s.protocol.AddTool(tool, call)
	}
	all := s.config.Tools.AllWhere(func(*conversation.Tool) bool { return true })
	for i := range all {
		s.protocol.AddTool(s.toolOf(&all[i]), call)
	}
	s.protocol.AddResourceTemplate(pageTemplate(), func(ctx context.Context, request *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return s.readResource(ctx, callerOf(ctx), request.Params.URI)
	})
}

// private marks an answer as the caller's own: another token may see other tools.
func private() sdk.Cacheable { return sdk.Cacheable{CacheScope: "private"} }

// Routes returns the rows of the protocol and of its discovery.
func (s *Server) Routes() []route.Route {
	row := func(method, path, operation, summary string, serve route.RawHandler) route.Route {
		effect := route.Read
		if method == http.MethodPost {
			effect = route.Write
		}
		return route.Route{Surface: route.Agents, Method: method, Path: path, Operation: operation, Effect: effect, Summary: summary, Raw: serve}
	}
	return []route.Route{
		row(http.MethodPost, "/mcp", "mcp.message", "Take a message of the Model Context Protocol", s.serve),
		row(http.MethodGet, "/.well-known/oauth-protected-resource", "mcp.resource", "Say how /mcp is protected", s.describe),
		row(http.MethodGet, "/.well-known/oauth-protected-resource/mcp", "mcp.resourceOfPath", "Say how /mcp is protected", s.describe),
	}
}

// serve answers one message, or one batch of an early client.
func (s *Server) serve(w *route.Response, r *http.Request) {
	who, err := s.admit(w, r)
	if err != nil {
		if domain.CodeOf(err) == domain.CodeUnauthorized {
			w.Header().Set("Www-Authenticate", `Bearer realm="svc", resource_metadata="`+s.origin(r)+`/.well-known/oauth-protected-resource"`)
		}
		w.Refuse(r, err, nil)
		return
	}
	id, held, refused := check(r)
	to := &answer{ResponseWriter: w, id: id}
	if refused != nil {
		to.refuse(refused)
		return
	}
	if held {
		to.held = &bytes.Buffer{}
	}
	s.handler.ServeHTTP(to, r.WithContext(withCaller(r.Context(), who)))
	to.finish()
}
