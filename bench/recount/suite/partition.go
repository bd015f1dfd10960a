package suite

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// partitions compares answers with each other. Every page view has exactly one value of some dimensions, so the page
// views of their rows add up to the overview's, for any page size.
func (s *Suite) partitions(ctx context.Context) ([]Failure, error) {
	if !s.routes["/analytics/breakdown"] {
		return nil, nil
	}
	var failures []Failure
	for _, a := range s.apps {
		now := s.Now.In(a.zone)
		for i, dimension := range []string{"event", "source", "medium", "path", "entry_path"} {
			begin := now.AddDate(0, 0, -50*(i+1))
			query := url.Values{
				"env": {"production"}, "dimension": {dimension}, "limit": {fmt.Sprint(7 + 31*i)}, "includeBots": {fmt.Sprint(i%2 == 0)},
				"range": {"custom:" + begin.Format(time.DateOnly) + ".." + begin.AddDate(0, 0, 10*i+1).Format(time.DateOnly)},
			}
			q := question{app: a, path: "/analytics/breakdown", query: query, pages: 1000}
			got, status, err := s.answer(ctx, &q)
			if err != nil {
				return failures, err
			}
			whole := url.Values{"env": query["env"], "includeBots": query["includeBots"], "range": query["range"]}
			_, overview, err := s.server.read(ctx, a.slug, "/analytics/overview", whole)
			if err != nil {
				return failures, err
			}
			sum := 0.0
			rows, _ := got["data"].([]any)
			for _, row := range rows {
				values, _ := row.(map[string]any)
				count, _ := values["pageviews"].(float64)
				sum += count
			}
			if status != 200 || sum != overview["pageviews"] {
				failures = append(failures, Failure{Question: q.path + "?" + readable(query), Differences: []string{
					fmt.Sprintf("status %d: the rows have %v page views, the overview %v", status, sum, overview["pageviews"]),
				}})
			}
		}
	}
	return failures, nil
}
