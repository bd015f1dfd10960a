package clickhouse

import "testing"

func TestMemoryForgetsWhatWasUsedLongAgo(t *testing.T) {
	m := newMemory[string, int](700)
	m.put("a", 1, 100)
	m.put("b", 2, 100)
	if value, known := m.get("a"); !known || value != 1 {
		t.Errorf("a is %d, %t", value, known)
	}
	m.put("c", 3, 0)
	if _, known := m.get("b"); known {
		t.Error("b was used least lately and is kept")
	}
	m.put("a", 4, 100)
	if value, _ := m.get("a"); value != 4 || m.used != 500 || len(m.items) != 2 {
		t.Errorf("a is %d; %d bytes of %d results", value, m.used, len(m.items))
	}
	m.put("d", 5, 1000)
	if _, known := m.get("d"); known || m.used != 0 || m.order.Len() != 0 {
		t.Errorf("what does not fit is kept: %d bytes", m.used)
	}
}
