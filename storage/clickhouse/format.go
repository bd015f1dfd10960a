package clickhouse

import (
	"context"
	"io"

	"svc/domain"
)

// Format runs a query and returns its result in a format of the engine, without a time limit. Times are in ISO 8601,
// and missing values are empty in CSV. The caller closes the result. ClickHouse's TCP protocol has no formats: Format
// then returns not_available.
func (c *Conn) Format(ctx context.Context, what, format, query string, args Args) (io.ReadCloser, error) {
	c = c.routed(args)
	if c.native {
		return nil, errFormats()
	}
	settings := c.readSettings()
	settings["max_execution_time"], settings["max_threads"] = 0, 1
	settings["date_time_output_format"], settings["format_csv_null_representation"] = "iso", ""
	output, err := c.driver.QueryFormat(WithSettings(ctx, settings), format, query, args.list()...)
	if err != nil {
		return nil, ReadError(what, err)
	}
	return output, nil
}

// errFormats returns the error of a connection without formats.
func errFormats() error {
	return domain.Errorf(domain.CodeNotAvailable, "The store is reached over a protocol without formats; have SVC_CLICKHOUSE_DSN name its HTTP port.")
}
