// Package reference computes the answers of the analytics endpoints the slow and
// plain way: from all rows, every time, with loops. It is written from the words
// of the product's definitions and shares nothing with the service, neither code
// nor queries, so that the two can only agree by both being right.
//
// # Words
//
//   - A row is an event as the feed shows it. Two things that the feed does not
//     show come from who sent it: when it arrived among the others, and the
//     engagement that it stated.
//   - A visitor is the distinct id of a row, else its anonymous id. Nothing merges
//     visitors: a person who becomes known is a second visitor.
//   - Days, weeks (from Monday) and months are those of the application's zone.
//   - Answers are JSON values (maps, slices, numbers, words, nil), so that they are
//     compared with what came over the wire.
package reference
