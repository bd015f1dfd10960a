package main

import "testing"

func TestRegister(t *testing.T) {
	type step struct {
		do     string
		number int
		want   bool // of a read
	}
	for name, steps := range map[string][]step{
		"new":                              {{"read", 0, true}, {"read", 1, false}},
		"acknowledged":                     {{"send", 1, false}, {"ack", 1, false}, {"read", 1, true}, {"read", 0, false}},
		"without an answer":                {{"send", 1, false}, {"read", 0, true}, {"read", 1, true}},
		"read once, it does not go back":   {{"send", 1, false}, {"read", 1, true}, {"read", 0, false}},
		"late, behind an acknowledged one": {{"send", 1, false}, {"send", 2, false}, {"ack", 2, false}, {"read", 2, true}, {"read", 1, true}, {"read", 2, false}},
		"read before the acknowledged one": {{"send", 1, false}, {"read", 1, true}, {"send", 2, false}, {"ack", 2, false}, {"read", 1, false}, {"read", 2, true}},
		"never sent":                       {{"send", 1, false}, {"ack", 1, false}, {"read", 7, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var r register
			for n, s := range steps {
				switch s.do {
				case "send":
					r.send(s.number)
				case "ack":
					r.acknowledge(s.number)
				default:
					if got := r.allows(s.number); got != s.want {
						t.Errorf("step %d: a read of %d is allowed: %t, want %t", n, s.number, got, s.want)
					}
				}
			}
		})
	}
}
