package chdb

import (
	"context"
	"fmt"
	"strings"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

// helloQuery is the first statement of every clickhouse-go connection. The client reads the answer with the newest
// revision of the Native format that it knows. It reads all later blocks with the revision that the answer names.
const helloQuery = "SELECT displayName(), version(), revision(), timezone()"

// libraryRevision is the revision in which libchdb writes Native blocks: no block info and no serialization byte per
// column. The hello announces it, so that the client reads the library's blocks without translation.
const libraryRevision = uint32(0)

// newHello asks the engine for its name, version and time zone and encodes the answer to helloQuery.
func newHello(p *pool) ([]byte, error) {
	c, err := p.acquire(context.Background(), forReading)
	if err != nil {
		return nil, err
	}
	defer p.release(c, forReading)
	answer, err := c.execute("SELECT displayName(), version(), timezone()", "TabSeparatedRaw")
	if err != nil {
		return nil, fmt.Errorf("asking the engine for its version: %w", err)
	}
	fields := strings.Split(strings.TrimSuffix(answer, "\n"), "\t")
	if len(fields) != 3 {
		return nil, fmt.Errorf("asking the engine for its version: unexpected answer %q", answer)
	}
	block := proto.NewBlock()
	for _, c := range []struct{ name, kind string }{
		{"displayName()", "String"}, {"version()", "String"}, {"revision()", "UInt32"}, {"timezone()", "String"},
	} {
		if err := block.AddColumn(c.name, column.Type(c.kind)); err != nil {
			return nil, fmt.Errorf("building the hello block: %w", err)
		}
	}
	if err := block.Append(fields[0], fields[1], libraryRevision, fields[2]); err != nil {
		return nil, fmt.Errorf("building the hello block: %w", err)
	}
	buffer := new(chproto.Buffer)
	if err := block.Encode(buffer, clickhouse.ClientTCPProtocolVersion); err != nil {
		return nil, fmt.Errorf("encoding the hello block: %w", err)
	}
	return buffer.Buf, nil
}
