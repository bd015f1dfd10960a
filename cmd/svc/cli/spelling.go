package cli

import "fmt"

// DidYouMean returns a question after the known word that is nearest to a misspelt one, and
// nothing where none is near.
func DidYouMean(word, prefix string, known []string) string {
	nearest, least := "", 1+max(1, len(word)/4)
	for _, candidate := range known {
		if d := distance(word, candidate); d < least {
			nearest, least = candidate, d
		}
	}
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, nearest)
}

// distance counts the letters that must be added, removed, changed, or exchanged with their
// neighbour, to make one word of another.
func distance(a, b string) int {
	var before []int
	previous, current := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		current[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			current[j+1] = min(previous[j+1]+1, current[j]+1, previous[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
		}
		before, previous, current = previous, current, make([]int, len(b)+1)
	}
	return previous[len(b)]
}
