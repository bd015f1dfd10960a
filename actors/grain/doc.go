// Package grain is the shell of persistent actors. A grain is one activation: a Core with the state and the rules of
// its kind, in a shell. The shell loads the state before the first message, saves the writes of a message before it
// answers, and lets all later messages wait in order.
//
// A Kind is declared once, next to its core. Each of its methods is a value that ties the name on the wire to the type
// of the request, the type of the answer, and the handler. Declaring the value enters it in the kind's table, and the
// clients call through the same value:
//
//	var counterKind = grain.NewKind[*counter]("counter", 2, time.Minute)
//
//	var counterAdd = grain.On(counterKind, "add", (*counter).onAdd)
//
//	total, err := counterAdd.Ask(ctx, actors, "visits", 5)
//
// The package depends on no kind and on no module of the product.
package grain
