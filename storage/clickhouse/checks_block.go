package clickhouse

import (
	"github.com/ClickHouse/ch-go/proto"

	"svc"
)

// checkBlock holds the columns of checks that are inserted together.
type checkBlock struct {
	app, monitor, status, wrong dictionary
	at                          proto.ColInt64
	failures                    proto.ColUInt32
	code                        proto.ColUInt16
	dns, connect, tls           proto.ColUInt32
	firstByte, total            proto.ColUInt32
	certificateEnds             proto.ColUInt32
	encoded                     proto.Buffer
}

// encode returns checks as one Native block of revision 0, valid until the next call.
func (b *checkBlock) encode(checks []svc.Check) []byte {
	resetColumns(b.columns())
	var app svc.AppRef
	var name string
	for i := range checks {
		c := &checks[i]
		if c.App != app || i == 0 {
			app, name = c.App, c.App.String()
		}
		b.app.append(name)
		b.monitor.append(c.Monitor)
		b.status.append(string(c.State.LastStatus))
		b.wrong.append(c.State.LastError)
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
	return encodeColumns(&b.encoded, b.columns(), len(checks))
}

// lastSecond is the last instant of a DateTime.
const lastSecond = 1<<32 - 1

// columns lists the columns in the order of the table.
func (b *checkBlock) columns() []blockColumn {
	return []blockColumn{
		{"app", kindWord, &b.app},
		{"monitor", kindWord, &b.monitor},
		{"at", kindTime, &b.at},
		{"status", kindWord, &b.status},
		{"failures", proto.ColumnTypeUInt32, &b.failures},
		{"code", proto.ColumnTypeUInt16, &b.code},
		{"error", kindWord, &b.wrong},
		{"dns", proto.ColumnTypeUInt32, &b.dns},
		{"connect", proto.ColumnTypeUInt32, &b.connect},
		{"tls", proto.ColumnTypeUInt32, &b.tls},
		{"first_byte", proto.ColumnTypeUInt32, &b.firstByte},
		{"total", proto.ColumnTypeUInt32, &b.total},
		{"certificate_ends", "DateTime('UTC')", &b.certificateEnds},
	}
}
