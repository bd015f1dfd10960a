package svc

// UsesSegment reports whether the evaluation of the flag asks if somebody is in a segment.
func (f *Flag) UsesSegment(id string) bool {
	if f.Archived {
		return false
	}
	for _, rule := range f.Rules {
		for _, condition := range rule.Conditions {
			if condition.Field == fieldSegment && names(condition.Value, id) {
				return true
			}
		}
	}
	return false
}

// names reports whether the value of a condition is a word or has it in its list.
func names(value any, word string) bool {
	switch value := value.(type) {
	case string:
		return value == word
	case []any:
		for _, one := range value {
			if one == word {
				return true
			}
		}
	}
	return false
}
