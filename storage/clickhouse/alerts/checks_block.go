package alerts

import (
	"github.com/ClickHouse/ch-go/proto"

	"svc/domain"
	"svc/domain/monitor"
	"svc/storage/clickhouse/columns"
)

// checkBlock has the columns of checks that are inserted together.
type checkBlock struct {
	app, monitor, status, wrong columns.Dictionary
	at                          proto.ColInt64
	failures                    proto.ColUInt32
	code                        proto.ColUInt16
	dns, connect, tls           proto.ColUInt32
	firstByte, total            proto.ColUInt32
	certificateEnds             proto.ColUInt32
	encoded                     proto.Buffer
}

// encode returns checks as one Native block of revision 0, valid until the next call.
func (b *checkBlock) encode(checks []monitor.Check) []byte {
	columns.Reset(b.columns())
	var app domain.AppRef
	var name string
	for i := range checks {
		c := &checks[i]
		if c.App != app || i == 0 {
			app, name = c.App, c.App.String()
		}
		b.app.Append(name)
		b.monitor.Append(c.Monitor)
		b.status.Append(string(c.State.LastStatus))
		b.wrong.Append(c.State.LastError)
		b.at = append(b.at, c.Result.At.UnixMilli())
		b.failures = append(b.failures, c.State.ConsecutiveFailures)
		b.code = append(b.code, uint16(c.Result.StatusCode))
		phases, ends := &c.Result.Phases, uint32(0)
		if !c.Result.CertificateEnds.IsZero() {
			ends = uint32(min(max(c.Result.CertificateEnds.Unix(), 0), lastSecond))
		}
		b.dns, b.connect, b.tls = append(b.dns, phases.DNS), append(b.connect, phases.Connect), append(b.tls, phases.TLS)
		b.firstByte, b.total = append(b.firstByte, phases.FirstByte), append(b.total, phases.Total)
		b.certificateEnds = append(b.certificateEnds, ends)
	}
	return columns.Encode(&b.encoded, b.columns(), len(checks))
}

// lastSecond is the largest value of a DateTime.
const lastSecond = 1<<32 - 1

// columns lists the columns in the order of the table.
func (b *checkBlock) columns() []columns.Column {
	return []columns.Column{
		{Name: "app", Type: columns.Word, Data: &b.app},
		{Name: "monitor", Type: columns.Word, Data: &b.monitor},
		{Name: "at", Type: columns.Time, Data: &b.at},
		{Name: "status", Type: columns.Word, Data: &b.status},
		{Name: "failures", Type: proto.ColumnTypeUInt32, Data: &b.failures},
		{Name: "code", Type: proto.ColumnTypeUInt16, Data: &b.code},
		{Name: "error", Type: columns.Word, Data: &b.wrong},
		{Name: "dns", Type: proto.ColumnTypeUInt32, Data: &b.dns},
		{Name: "connect", Type: proto.ColumnTypeUInt32, Data: &b.connect},
		{Name: "tls", Type: proto.ColumnTypeUInt32, Data: &b.tls},
		{Name: "first_byte", Type: proto.ColumnTypeUInt32, Data: &b.firstByte},
		{Name: "total", Type: proto.ColumnTypeUInt32, Data: &b.total},
		{Name: "certificate_ends", Type: "DateTime('UTC')", Data: &b.certificateEnds},
	}
}
