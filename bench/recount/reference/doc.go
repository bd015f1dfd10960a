// Package reference computes the answers of the analytics endpoints in the slow and simple way: from all rows, every
// time, with loops. It is written from the product's definitions and shares neither code nor queries with the service.
// So the two can only agree if both are right.
//
// # Words
//
//   - A row is an event as the feed shows it. Two values that the feed does not
//     show come from the sender: the order of arrival, and the
//     stated engagement.
//   - A visitor is the distinct id of a row, else its anonymous id. Nothing merges
//     visitors: a person that becomes known is a second visitor.
//   - Days, weeks (from Monday) and months are in the application's zone.
//   - Answers are JSON values (maps, slices, numbers, words, nil), so that they can be
//     compared with the decoded answers of the server.
package reference
