// Package grain is the shell that persistent actors share. A grain is one activation: a Core with the
// state and the rules of its kind, in a shell that loads the state before the first message,
// saves what a message writes before it answers, and lets everything else wait in order.
//
// A Kind is declared once, beside its core. Each of its methods is a value that ties the name on
// the wire to the type of the request, the type of the answer, and the handler; declaring it
// enters it in the kind's table, and the clients call through the same value:
//
//	var counterKind = grain.NewKind[*counter]("counter", 2, time.Minute)
//
//	var counterAdd = grain.On(counterKind, "add", (*counter).onAdd)
//
//	total, err := counterAdd.Ask(ctx, actors, "visits", 5)
//
// The package knows no kind and no module of the product.
package grain
