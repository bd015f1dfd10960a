// Package storage groups the folders that access data stores. Package kafka accesses the log, package clickhouse the
// tables, package chdb the ClickHouse engine inside the process, and package geo the address database. Three packages
// work in the data folder: package datadir locks it, package spool stores uploads in it, and package vault stores the
// keys. Package sourcemaps reads source maps, package lru is a cache, and package groupcommit combines writes.
//
// # Tables
//
// All tables are in ClickHouse. Column "parts": "month" means one part for each month, "file" one for each file of an
// export, and "number" one for all people of an environment as one node folds them. A slot is a quarter of an hour.
//
// Rows with a day of expiry are removed after that day. These are the rows of events, occurrences and metric points, and
// all rows that views derive from them. Rows about people are removed within a day after the profile of their visitor.
// Chunks of uploads are removed after a day, rows of exports a day after the export is ready, folded people after two
// hours, dead letters after 30 days, and checks after 90 days.
//
//	table            ordered by                                   parts  written by                               read by
//	events           environment, ts, id                          month  block.Store                              feed, filtered reads, edges of windows, intakes after a restart
//	traffic          environment, slot, is_bot                    month  view of events                           overview, series
//	visits           environment, slot, is_bot, visitor, session, guest  month  view of events                           overview, series, live
//	names            environment, slot, is_bot, name, visitor, guest  month  view of events                           catalogue of event names, conversions
//	event_counts     environment, name, path, slot, is_bot        month  view of events                           conversions
//	newcomers        environment, is_bot, visitor                 -      view of events                           retention
//	profiles         environment, visitor                         -      view of events                           people
//	arrivals         environment, visitor                         -      view of events                           people
//	entries          environment, visitor, session                -      view of events                           people
//	traits           environment, visitor                         -      view of events                           people
//	links            environment, anonymous, known                -      view of events                           people, funnels, retention
//	aliases          environment, low, high                       -      view of events, merges of people         roots
//	roots            environment, visitor                         -      blocks with aliases, merges of people    people, funnels, retention
//	splits           environment, visitor, at                     -      members that remove ids from people        people, views of links and aliases
//	activations      environment, visitor                         -      the owner of partition 0, hourly         people
//	flag_counts      environment, flag, variant, day              -      flags.Recorder, every five seconds       lists and results of flags
//	deliveries       app, destination, created, id                -      dispatchers, four times a second          the delivery log, replays
//	campaign_recipients  environment, campaign, number           -      runs of campaigns, at the start           runs of campaigns
//	campaign_outcomes  environment, visitor, campaign, number    -      runs of campaigns                         timelines of people
//	billing          environment, kind, subject, id               -      block.Store                              revenue, revenue of people
//	flag_exposures   environment, flag, visitor, variant          -      flags.Recorder, every five seconds       results of flags
//	person_folds     person                                       number  people.KeepFolds                        lists and counts of many people
//	export_rows      file, piece, position                        file   exports.Runner                            files of exports
//	occurrences      environment, issue, ts, id                   month  block.Store                              occurrences of an issue, its tags
//	issues           environment, issue                           -      view of occurrences                      lists of issues
//	issue_users      environment, ts                              month  view of occurrences                      users and sparks of issues, overview of errors
//	issue_releases   environment, release, issue                  -      view of occurrences                      releases of issues
//	metric_points    environment, name, ts, series                month  block.Store                              series of a few hours, rules on metrics
//	metric_rollups   environment, name, series, slot              month  view of metric_points                    series with labels
//	metric_totals    environment, name, slot                      month  view of metric_points                    series without labels
//	metric_hours     environment, name, slot                      month  view of metric_totals                    series of whole hours
//	metric_seen      -                                            -      block.Store                              no reader: it feeds metric_series and stores nothing
//	metric_series    environment, name, series                    -      view of metric_seen                      catalogue of metrics
//	usage            environment, day, signal, fate, code         -      block.Store                              telemetry, budgets
//	tallies          source, seq                                  -      block.Store                              new owners of partitions
//	dead_letters     environment, id                              -      the sink                                 svc admin deadletters
//	retentions       environment                                  -      the owner of partition 0                 the owner of partition 0, after a restart
//	checks           app, monitor, at                             month  alerts.CheckWriter                       the next two, through projections
//	latest_checks    -                                            -      no writer: it reads checks               monitors
//	uptime           -                                            -      no writer: it reads checks               monitors
//	entities         owner, kind, id                              -      owned.Store, from the log                actors when they activate, nodes when they start
//	wakeups          kind, identity, name                         -      owned.Store, from the log                the sweep of due work
//	ledger           org, sequence                                -      owned.Store, from the log                the ledger's routes
//	audit_rows       org, at, id                                  month  owned.Store, from the log                svc admin audit
//	refused_records  at, key                                      -      owned.Store                              operators only
//	source_maps      app, key                                     -      uploads of maps                          frames of errors
//	upload_chunks    org, sha1                                    -      uploads in pieces                        the assembly of an upload
//	installation     name, edition, at                            -      starts and repairs                       every start
//	migrations       name                                         -      clickhouse.Open                          clickhouse.Open
package storage
