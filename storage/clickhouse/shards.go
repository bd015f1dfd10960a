package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2"

	"svc/domain"
)

// A connection may lead to several stores, its shards. The rows of an environment are in the tables of one shard. The
// environment's number selects the shard, unless the environment was moved (places.go). All other data is on shard 0.
// All shards have all tables.
//
// A statement runs on one shard: the shard of the environment in its argument "environment", a number, and otherwise
// shard 0. Statements about several environments run on each shard, through [Split] or [Conn.Shards].

// ListDSN returns the DSNs of a list. They are separated by spaces, or by commas before the scheme of the next DSN.
func ListDSN(list string) (all []string) {
	for _, field := range strings.Fields(list) {
		from := 0
		for n := range len(field) {
			if _, rest, _ := strings.Cut(field[n:], ","); field[n] == ',' && scheme(rest) {
				all, from = append(all, field[from:n]), n+1
			}
		}
		if last := strings.TrimSuffix(field[from:], ","); last != "" {
			all = append(all, last)
		}
	}
	return all
}

// scheme reports whether a text begins like a DSN.
func scheme(text string) bool {
	before, _, found := strings.Cut(text, "://")
	return found && !strings.ContainsAny(before, ",/@: ")
}

// CheckShards returns an error if DSNs cannot be the shards of one installation. The error names a DSN by its position
// and repeats no part of it, because it may contain a password. With a cluster each DSN may name its replicas.
func CheckShards(all []string, cluster string) error {
	if len(all) == 0 || len(all) > domain.MaxShards {
		return fmt.Errorf("it lists %d servers, and can list from 1 to %d", len(all), domain.MaxShards)
	}
	places := map[string]int{}
	for n, dsn := range all {
		if err := CheckDSN(dsn, cluster); err != nil {
			if len(all) == 1 {
				return err
			}
			return fmt.Errorf("the DSN at place %d of %d: %w", n+1, len(all), err)
		}
		options, err := clickhouse.ParseDSN(dsn)
		if err != nil {
			return err
		}
		for _, addr := range options.Addr {
			if other, twice := places[addr]; twice {
				return fmt.Errorf("the DSNs at places %d and %d name the same server", other, n+1)
			}
			places[addr] = n + 1
		}
	}
	return nil
}

// addShard opens the store of the next shard.
func (c *Conn) addShard(ctx context.Context, other Config, queries Queries) error {
	if c.shards == nil {
		c.shards = []*link{c.link}
	}
	number := len(c.shards)
	other.Durable, other.Skipped, other.Cluster, other.Others = c.config.Durable, c.config.Skipped, c.config.Cluster, nil
	if other.Database == "" {
		other.Database = c.config.Database
	}
	other.Late = c.config.Late
	opened, err := openLate(ctx, other, queries)
	if err != nil {
		return fmt.Errorf("opening shard %d: %w", number, err)
	}
	opened.writes, opened.brought.queries = c.writes, queries
	c.shards = append(c.shards, opened.link)
	return nil
}

// PingShards returns the errors of the shards that do not answer.
func (c *Conn) PingShards(ctx context.Context) error {
	shards := c.Shards()
	problems := make([]error, len(shards))
	var asking sync.WaitGroup
	for shard, conn := range shards {
		asking.Go(func() {
			if err := conn.Ping(ctx); err != nil {
				problems[shard] = fmt.Errorf("shard %d: %w", shard, err)
			}
		})
	}
	asking.Wait()
	return errors.Join(problems...)
}

// Shards returns the connections of the shards by number. Without shards it returns the connection itself.
func (c *Conn) Shards() []*Conn {
	if c.shards == nil {
		return []*Conn{c}
	}
	all := make([]*Conn, len(c.shards))
	for shard := range c.shards {
		all[shard] = c.at(shard)
	}
	return all
}

// Home returns the connection of shard 0, regardless of the environment that a statement names.
func (c *Conn) Home() *Conn {
	if c.shards == nil {
		return c
	}
	return c.at(0)
}

// Of returns the connection of the shard of an environment.
func (c *Conn) Of(environment uint64) *Conn {
	if c.shards == nil {
		return c
	}
	return c.at(c.ShardOf(environment))
}

// ShardOf returns the number of the listed shard on which an environment lives. A start refuses to list fewer shards
// than before, so only an invalid environment number can select an unlisted one.
func (c *Conn) ShardOf(environment uint64) int {
	shard, moved := c.places.all()[environment]
	if !moved {
		shard = domain.ShardOf(environment)
	}
	if shard < len(c.shards) {
		return shard
	}
	return 0
}

// at returns the connection of one shard.
func (c *Conn) at(shard int) *Conn {
	one := *c
	one.link, one.shards = c.shards[shard], nil
	return &one
}

// routed returns the connection for a statement with the given arguments.
func (c *Conn) routed(args Args) *Conn {
	if c.shards == nil {
		return c
	}
	if environment, named := args["environment"].(uint64); named {
		return c.Of(environment)
	}
	return c.at(0)
}

// each calls do for the link of every shard.
func (c *Conn) each(do func(*link)) {
	if c.shards == nil {
		do(c.link)
	}
	for _, one := range c.shards {
		do(one)
	}
}

// Split calls do for each shard, with the connection of the shard and the items of its environments. It skips shards
// without items.
func Split[T any](c *Conn, items []T, of func(T) uint64, do func(c *Conn, items []T) error) error {
	if c.shards == nil {
		return do(c, items)
	}
	parts := make([][]T, len(c.shards))
	for _, item := range items {
		shard := c.ShardOf(of(item))
		parts[shard] = append(parts[shard], item)
	}
	var problems []error
	for shard, part := range parts {
		if len(part) > 0 {
			problems = append(problems, do(c.at(shard), part))
		}
	}
	return errors.Join(problems...)
}

// Environment is the argument of of [Split] for numbers of environments.
func Environment(number uint64) uint64 { return number }
