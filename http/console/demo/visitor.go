package demo

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// visitor is a visitor of the product's site.
type visitor struct {
	number int
	// first is the day of the first visit; known is true if the person registers on it.
	first              int
	known              bool
	name, company      string
	address, agent     string
	referrer, campaign string
	plan               string
}

// newcomers is the number of new visitors on an ordinary day.
const newcomers = 26

// arrivals returns the number of new visitors on a day.
func arrivals(number int) int { return int(newcomers * busy(number)) }

// comers returns the visitors of a day: new and returning ones.
func comers(number int) []visitor {
	var all []visitor
	count := 0
	for first := 0; first <= number; first++ {
		for range arrivals(first) {
			random := rand.New(rand.NewPCG(seed+1, uint64(count)*1000+uint64(number)))
			if first == number || random.Float64() < returning(count, number-first) {
				all = append(all, visitorOf(count, first))
			}
			count++
		}
	}
	return all
}

// returning is the probability of a visit a number of days after the first one.
func returning(number, later int) float64 {
	if registered(number) {
		return 0.34/(1+0.05*float64(later)) + 0.02
	}
	return 0.11 / float64(later)
}

// registered reports whether a visitor registers: one of six does.
func registered(number int) bool { return number%6 == 3 }

func visitorOf(number, first int) visitor {
	random := rand.New(rand.NewPCG(seed+2, uint64(number)))
	v := visitor{
		number: number, first: first, known: registered(number), name: pick(random.Float64(), givenNames()) + " " + pick(random.Float64(), familyNames()),
		company: pick(random.Float64(), companies()), address: pick(random.Float64(), addresses()), agent: pick(random.Float64(), agents()),
		referrer: pick(random.Float64(), referrers()), campaign: pick(random.Float64(), campaigns()), plan: pick(random.Float64(), plans()),
	}
	if first >= 62 && first < 66 && random.Float64() < 0.6 {
		v.referrer, v.campaign = "https://news.ycombinator.com/", ""
	}
	return v
}

// anonymous is the id of the visitor's browser.
func (v visitor) anonymous() string { return fmt.Sprintf("demo-browser-%04d", v.number) }

// user is the product's id of a registered person.
func (v visitor) user() string { return fmt.Sprintf("user-%04d", v.number) }

func (v visitor) email() string {
	return strings.ToLower(strings.ReplaceAll(v.name, " ", ".")) + fmt.Sprintf(".%d@", v.number) + strings.ToLower(strings.ReplaceAll(v.company, " ", "-")) + ".example"
}

func (v visitor) traits() map[string]any {
	return map[string]any{"email": v.email(), "name": v.name, "company": v.company, "plan": v.plan}
}

// visit is one visit: the visitor, the time, and the actions.
type visit struct {
	visitor
	begin   time.Time
	session string
	// member is true if the visitor had registered before.
	member bool
	paths  []string
}

// visit invents the visit of a person on this day.
func (d *day) visit(who visitor) visit {
	made := visit{visitor: who, begin: d.at(), session: fmt.Sprintf("demo-%d-%d", d.number, who.number), member: who.known && who.first < d.number}
	if made.member {
		made.paths = []string{"/app"}
		for range 1 + d.random.IntN(6) {
			made.paths = append(made.paths, pick(d.random.Float64(), appPages()))
		}
		return made
	}
	made.paths = []string{pick(d.random.Float64(), entryPages())}
	if d.random.Float64() < 0.44 && !who.known {
		return made
	}
	for range 1 + d.random.IntN(4) {
		made.paths = append(made.paths, pick(d.random.Float64(), sitePages()))
	}
	if who.known || d.random.Float64() < 0.08 {
		made.paths = append(made.paths, "/pricing", "/signup")
	}
	return made
}
