package lru

import "testing"

func TestTheCacheForgetsWhatWasUsedLongAgo(t *testing.T) {
	m := New[string, int](700)
	m.Put("a", 1, 100)
	m.Put("b", 2, 100)
	if value, known := m.Get("a"); !known || value != 1 {
		t.Errorf("a is %d, %t", value, known)
	}
	m.Put("c", 3, 0)
	if _, known := m.Get("b"); known {
		t.Error("b was used least lately and is kept")
	}
	m.Put("a", 4, 100)
	if value, _ := m.Get("a"); value != 4 || m.used != 500 || len(m.items) != 2 {
		t.Errorf("a is %d; %d bytes of %d results", value, m.used, len(m.items))
	}
	m.Put("d", 5, 1000)
	if _, known := m.Get("d"); known || m.used != 0 || m.order.Len() != 0 {
		t.Errorf("what does not fit is kept: %d bytes", m.used)
	}
}
