// Package flags implements the actor that owns the flags of an application, and the snapshot of compiled flags with
// which every node evaluates.
//
// # From a definition to an answer
//
//  1. The flags actor of the application checks a new definition against the other flags, saves the flag and its
//     version in the history in one write, publishes all flags to the definitions of its node, and answers.
//  2. Every node receives the flag from the log of state. Definitions compiles it once; unchanged flags retain their
//     compiled form. The revision of an application is the sum of the versions of its flags, so it only grows. A node
//     ignores versions older than the ones it knows, so its evaluations never go back.
//  3. An evaluation (package http/flags) finds the set of the key's environment in the snapshot and calls
//     flag.Set.Evaluate, the one function for the native endpoint, OFREP, PostHog's protocol and previews. The possible
//     answers of a flag are encoded when it is compiled, once for each protocol. Conditions that several flags share
//     are evaluated once per request. flag.Memory caches the outcomes of repeated requests for many flags. An
//     evaluation takes no lock and makes no call, and it continues with the last known definitions while the log or
//     the store is unavailable.
//  4. Conditions on stored data of a person read Persons, which looks people up in the background. An unknown person
//     is person_unknown at first. After that the data is at most ten seconds old whenever the store answers.
//  5. A stream waits for one channel, which is closed when the set is superseded.
//  6. Evaluations are counted in the entries of the set, and Recorder notes the first exposure of a visitor to a
//     variant. Both are stored every five seconds. A node that is killed loses the evaluations since the last write.
package flags
