package route

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/share"
)

// Call is one gated request: the results of the gates, and the values that the handler adds to the answer. It serves
// one request only.
type Call struct {
	Route     *Route
	RequestID string
	// Now is the instant of the request. Every decision about the request uses it.
	Now   time.Time
	Grant domain.Grant
	// App is the application of the path, the zero value if the path has none.
	App domain.Application
	// Parts holds the part of the application that the row names.
	Parts share.AppParts

	// Environment is the slug of the parameter env, empty on routes without it.
	Environment string

	request *http.Request
	// response receives the stream; streams is set if the caller asked for one.
	response *Response
	streams  bool
	path     []pathValue
	rate     domain.RateState
	refused  error
	cursors  *domain.Cursors
	list     string
	secret   string
	about    string
	concerns []string
	subjects []string
	happened domain.LedgerKind
	note     string
	trailID  string
	carrier  *domain.Carrier
	each     map[string]*domain.Carrier
	public   string
	site     string
	audited  bool
	volatile bool
	queries  *querySlots
	header   http.Header
	status   int
}

// Origin returns the scheme and host under which callers reach the service. If none are configured, as in tests, it
// returns the scheme and host of the request.
func (c *Call) Origin() string {
	if c.public != "" {
		return strings.TrimSuffix(c.public, "/")
	}
	return "http://" + c.request.Host
}

// Request returns the request, for handlers that describe the caller's program.
func (c *Call) Request() *http.Request { return c.request }

// Note adds a text to the audit row of the call, if it succeeds.
func (c *Call) Note(text string) { c.note = text }

// Param returns a parameter of the path, "" if the route has no such parameter.
func (c *Call) Param(name string) string {
	for _, value := range c.path {
		if value.name == name {
			return value.value
		}
	}
	return ""
}

// Ref returns the address of the path's application.
func (c *Call) Ref() domain.AppRef { return domain.AppRef{Org: c.Param("org"), App: c.Param("app")} }

// Answer sets the status of the answer, for rows that have more than one.
func (c *Call) Answer(status int) { c.status = status }

// Created answers 201 with the address of the new resource, relative to the surface's base.
func (c *Call) Created(path string) {
	c.status = http.StatusCreated
	c.header.Set("Location", c.Route.Surface.Base()+path)
}

// Tag sets the entity tag of the answer. A GET with an If-None-Match that contains the tag is answered 304.
func (c *Call) Tag(revision uint64) { c.header.Set("ETag", entityTag(revision)) }

// TagWith is Tag for an answer with a part that changes without a revision. If the part is empty, the tag is the one of
// the revision. If-Match compares revisions only.
func (c *Call) TagWith(revision uint64, part string) {
	if part == "" {
		c.Tag(revision)
		return
	}
	sum := sha256.Sum256([]byte(part))
	c.header.Set("ETag", fmt.Sprintf(`"%d%s%x"`, revision, partOfTag, sum[:8]))
}

// partOfTag separates a revision from the part in an entity tag.
const partOfTag = "-"

// Volatile marks an answer with content that its entity tag does not cover; it is never answered 304.
func (c *Call) Volatile() { c.volatile = true }

func entityTag(revision uint64) string { return `"` + strconv.FormatUint(revision, 10) + `"` }

// IfMatch returns the revision that the caller requires, nil if it requires none. It fails with precondition_failed if
// If-Match names another revision than the present one.
func (c *Call) IfMatch(present uint64) (*uint64, error) {
	wanted := strings.Join(c.request.Header.Values("If-Match"), ",")
	if wanted == "" || strings.TrimSpace(wanted) == "*" {
		return nil, nil
	}
	if !matchesRevision(wanted, present) {
		return nil, domain.Errorf(domain.CodePrecondition, "The version named by If-Match is not the present one; read it again.")
	}
	return &present, nil
}

// matchesRevision reports whether a list of entity tags contains a tag of a revision, with any part.
func matchesRevision(list string, revision uint64) bool {
	for candidate := range strings.SplitSeq(list, ",") {
		tag := strings.TrimSpace(candidate)
		if number, _, parted := strings.Cut(tag, partOfTag); parted {
			tag = number + `"`
		}
		if tag == entityTag(revision) {
			return true
		}
	}
	return false
}

// matchesTag reports whether a list of entity tags contains a tag; weak comparison ignores the mark of weak tags.
func matchesTag(list, tag string, weak bool) bool {
	for _, candidate := range strings.Split(list, ",") {
		candidate = strings.TrimSpace(candidate)
		if weak {
			candidate = strings.TrimPrefix(candidate, "W/")
		}
		if candidate == tag || weak && candidate == "*" {
			return true
		}
	}
	return false
}

// Keyset returns the keyset in the caller's cursor, nil if the caller sent none. It fails with
// invalid_cursor if the cursor belongs to another list.
func (c *Call) Keyset(cursor string, size int) ([]string, error) {
	if cursor == "" {
		return nil, nil
	}
	return c.cursors.Decode(c.list, cursor, size)
}

// Next returns the cursor of the page that begins after the row with this keyset, and adds it to
// the Link header.
func (c *Call) Next(keyset ...string) *string {
	cursor := c.cursors.Encode(c.list, keyset...)
	query := c.request.URL.Query()
	query.Set("cursor", cursor)
	c.header.Set("Link", "<"+c.request.URL.EscapedPath()+"?"+query.Encode()+`>; rel="next"`)
	return &cursor
}

// PageOf makes a page of rows. If more rows follow, its cursor contains the keyset of the last row.
func PageOf[Row any](call *Call, rows []Row, more bool, keyset func(last Row) []string) domain.Page[Row] {
	page := domain.Page[Row]{Data: rows, Environment: call.Environment}
	if page.Data == nil {
		page.Data = []Row{}
	}
	if more && len(rows) > 0 {
		page.NextCursor = call.Next(keyset(rows[len(rows)-1])...)
	}
	return page
}

// within returns the context of the handler. The context of a query has a deadline; a stream has its own bound.
func (c *Call) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if c.Route.Rate != domain.RateQuery || c.streams {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
