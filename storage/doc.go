// Package storage groups the folders that speak to the machines that keep data:
// package kafka to the log, package clickhouse to the tables, package chdb to the
// ClickHouse engine inside the process, package geo to the address database.
//
// # Tables
//
// All tables are in ClickHouse and partitioned by month; rows leave by the
// expiry date that they carry. A slot is a quarter of an hour.
//
//	table     ordered by                                    written by        read by
//	events    environment, ts, id                           the sink          feed, filtered reads, edges of windows, intake after a restart
//	traffic   environment, slot, is_bot                     view of events    overview, time series
//	visits    environment, slot, is_bot, visitor, session   view of events    overview, time series, live
//	names     environment, slot, is_bot, name, visitor      view of events    catalogue of event names, conversions
//	entities  owner, kind, id                               actors            actors when they activate, nodes when they start
//	wakeups   kind, identity, name                          actors            the sweep of due work
//	audit     org, at                                       management API    audit log
//	migrations name                                         Open              Open
//
// entities, wakeups, audit and migrations never expire; the first two and the
// last are not partitioned.
package storage
