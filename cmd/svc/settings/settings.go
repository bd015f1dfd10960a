// Package settings is the configuration of the server: one table of environment variables, the [Config] that they set,
// and `svc config`, which prints them.
package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/cluster"
	"svc/domain"
	"svc/domain/campaign"
	"svc/domain/conversation"
	"svc/storage/clickhouse"
)

// Config is everything that the environment may set.
type Config struct {
	HTTPAddr     string
	AdminAddr    string
	AdminHosts   []string
	DataDir      string
	PublicURL    string
	KafkaBrokers []string
	// ClickHouseDSN is the DSN of the first shard, ClickHouseShards are the DSNs of the others.
	ClickHouseDSN    string
	ClickHouseShards []string
	// ClickHouseCluster is the name of the cluster of each shard's replicas.
	ClickHouseCluster string
	Partitions        int
	NodeAddr          string
	ClusterSecret     domain.Secret
	MasterKey         domain.Secret
	GeoDB             string
	RateLimit         int
	LogLevel          slog.Level
	LogSync           string
	LogRetention      time.Duration
	LogKeep           int64 // MiB
	DiskFloor         int64 // MiB; 0 chooses automatically
	ErrorLimit        int
	SpoolSize         int64 // MiB
	Memory            int64 // MiB; 0 uses the memory of the control group or the machine
	IngestMemory      int64 // MiB
	FlushInterval     time.Duration
	ErasureDelay      time.Duration
	BootstrapFile     string
	ChdbLib           string
	MonitorAllow      domain.Targets
	Proxies           []netip.Prefix
	MonitorLeast      time.Duration
	StripeURL         string
	MailServer        domain.Secret
	MailFrom          string
	MailDomains       campaign.MailDomains
	KafkaListen       string
	StoreListen       string
	AIProvider        conversation.AIProvider
	AIKey             domain.Secret
	AIModel           string
	AIBaseURL         string
}

// setting is one row of the configuration table.
type setting struct {
	name, preset, unit, meaning string
	secret                      bool
	set                         func(c *Config, value string) error
}

// The values of SVC_LOG_SYNC.
const (
	SyncAlways = "always"
	SyncOS     = "os"
)

// maxPartitions limits SVC_PARTITIONS.
const maxPartitions = 4096

// settings is the configuration table; docs/configuration.md and `svc config` show it.
func settings() []setting {
	text := func(field func(*Config) *string) func(*Config, string) error {
		return func(c *Config, value string) error { *field(c) = value; return nil }
	}
	return []setting{
		{"SVC_HTTP_ADDR", ":8080", "address", "where clients reach the service", false, text(func(c *Config) *string { return &c.HTTPAddr })},
		{"SVC_ADMIN_ADDR", "127.0.0.1:8081", "address", "health, metrics, pprof and the operator's API; never expose it", false, text(func(c *Config) *string { return &c.AdminAddr })},
		{"SVC_ADMIN_HOSTS", "", "names", "names under which that listener may be asked, beside localhost and its own addresses", false, setAdminHosts},
		{"SVC_DATA_DIR", "./data", "folder", "where the embedded log, the embedded engine and the vault key live", false, text(func(c *Config) *string { return &c.DataDir })},
		{"SVC_PUBLIC_URL", "", "URL", "how clients see the service; empty derives it from SVC_HTTP_ADDR", false, setPublicURL},
		{"SVC_TRUSTED_PROXIES", "", "addresses", "addresses and prefixes of the proxies in front of the service, that may name the visitor in X-Forwarded-For, Forwarded, CF-Connecting-IP or X-Real-IP; empty trusts no proxy. The first of these headers that a request has counts, so let the proxy set or remove it. See [telemetry](telemetry.md)", false, setProxies},
		{"SVC_KAFKA_BROKERS", "", "host:port,…", "Apache Kafka; empty runs the embedded broker in the data directory", false, setBrokers},
		{"SVC_CLICKHOUSE_DSN", "", "URL", "the ClickHouse server; several, separated by spaces or commas, are shards, to which others may only be appended; empty runs the embedded engine in the data directory", true, setStore},
		{"SVC_CLICKHOUSE_CLUSTER", "", "word", "the name by which the servers know the replicas of each shard: tables are replicated among them, and a DSN may list them; empty means servers without replicas", false, setStoreCluster},
		{"SVC_PARTITIONS", "16", "count", "partitions of the log; fixed once data is there", false, setPartitions},
		{"SVC_NODE_ADDR", "", "host:port", "where other nodes reach this one; empty runs one node alone", false, address(func(c *Config) *string { return &c.NodeAddr })},
		{"SVC_CLUSTER_SECRET", "", "text", "shared by the nodes of a cluster, 16 characters or more; needed with SVC_NODE_ADDR", true, func(c *Config, v string) error { c.ClusterSecret = domain.Secret(v); return nil }},
		{"SVC_KAFKA_LISTEN", "", "host:port", "where the embedded broker serves other nodes too; empty serves this one only", false, address(func(c *Config) *string { return &c.KafkaListen })},
		{"SVC_CLICKHOUSE_LISTEN", "", "host:port", "where the embedded engine serves other nodes too, without any check of who connects; empty serves this one only", false, address(func(c *Config) *string { return &c.StoreListen })},
		{"SVC_MASTER_KEY", "", "text", "the vault's key, the same on all nodes; empty makes a key file of mode 0600 in the data directory", true, func(c *Config, v string) error { c.MasterKey = domain.Secret(v); return nil }},
		{"SVC_GEO_DB", "", "file", "an MMDB with cities; empty knows countries only", false, text(func(c *Config) *string { return &c.GeoDB })},
		{"SVC_AI_PROVIDER", "", "word", "gemini, anthropic or openai: who answers the assistant's questions where an organization has no credential of its own", false, setAIProvider},
		{"SVC_AI_API_KEY", "", "text", "the provider's key; empty leaves the assistant to organizations with their own", true, func(c *Config, v string) error { c.AIKey = domain.Secret(v); return nil }},
		{"SVC_AI_MODEL", "", "word", "the model; empty takes the provider's default", false, text(func(c *Config) *string { return &c.AIModel })},
		{"SVC_AI_BASE_URL", "", "URL", "another address of the provider's API, as its official library takes it", false, setAIBaseURL},
		{"SVC_RATE_LIMIT", "600", "requests/min", "per access token; 0 switches limits off", false, setRate},
		{"SVC_LOG_LEVEL", "info", "word", "debug, info, warn or error", false, func(c *Config, v string) error { return c.LogLevel.UnmarshalText([]byte(v)) }},
		{"SVC_LOG_SYNC", SyncAlways, "word", "always: the embedded log is forced to disk before the answer; os: left to the operating system", false, setSync},
		{"SVC_LOG_RETENTION", "1h", "duration", "how long the log keeps records that were stored", false, duration(func(c *Config) *time.Duration { return &c.LogRetention }, time.Minute, 30*24*time.Hour)},
		{"SVC_LOG_KEEP", "256", "MiB", "how much the embedded log keeps of records that were stored; what is over goes earlier; a start reads all of it", false, setLogKeep},
		{"SVC_DISK_FLOOR", "0", "MiB", "free space of the data folder's disk below which nothing is taken in, stored or merged; 0 is a twentieth of the disk, a gigabyte at most", false, setDiskFloor},
		{"SVC_ERROR_LIMIT", "60000", "errors/min", "of one key over the Sentry protocol, on each node; 0 switches the limit off", false, setErrorLimit},
		{"SVC_SPOOL_SIZE", "1024", "MiB", "how much of what SDKs of Sentry send is kept on disk while the log does not take it", false, mebibytes(func(c *Config) *int64 { return &c.SpoolSize }, 1)},
		{"SVC_MEMORY", "", "MiB", "how much memory the process may take, 512 or more with the embedded engine; empty takes the limit of its control group, else the machine's memory", false, mebibytes(func(c *Config) *int64 { return &c.Memory }, leastMemory)},
		{"SVC_INGEST_MEMORY", "256", "MiB", "how much memory the bodies take that are being read, unpacked and decoded; what is over waits four seconds and is answered with 503; a fifth of SVC_MEMORY, but 128 MiB, where that is less", false, mebibytes(func(c *Config) *int64 { return &c.IngestMemory }, leastIngestMemory)},
		{"SVC_FLUSH_INTERVAL", "500ms", "duration", "the least time between two blocks stored in ClickHouse; on a node alone four times that while nobody has read for a minute", false, duration(func(c *Config) *time.Duration { return &c.FlushInterval }, 10*time.Millisecond, time.Minute)},
		{"SVC_ERASURE_DELAY", "1m", "duration", "how long after its request an erasure removes rows; nothing shows them from the request on", false, duration(func(c *Config) *time.Duration { return &c.ErasureDelay }, 100*time.Millisecond, time.Hour)},
		{"SVC_MONITOR_ALLOW", "", "addresses", "addresses and prefixes that monitors and webhooks may call although they are not public; empty allows none", false, setMonitorAllow},
		{"SVC_MONITOR_LEAST", "30s", "duration", "the shortest interval of a monitor", false, duration(func(c *Config) *time.Duration { return &c.MonitorLeast }, time.Second, time.Hour)},
		{"SVC_STRIPE_URL", "https://api.stripe.com", "URL", "where the API of Stripe is, for billing connectors", false, text(func(c *Config) *string { return &c.StripeURL })},
		{"SVC_MAIL_SERVER", "", "URL", "smtp://user:password@host:port or smtps://…, which takes the notices of e-mail channels; empty sends none", true, setMailServer},
		{"SVC_MAIL_FROM", "svc@localhost", "address", "the sender of e-mail", false, setMailFrom},
		{"SVC_MAIL_DOMAINS", "", "names", "domains of addresses that campaigns may be sent from; empty permits that of SVC_MAIL_FROM", false, setMailDomains},
		{"SVC_BOOTSTRAP_FILE", "", "file", "where the first start writes its token and keys (mode 0600)", false, text(func(c *Config) *string { return &c.BootstrapFile })},
		{"SVC_CHDB_LIB", "", "file", "another copy of the engine library; empty uses what `make deps` fetched", false, text(func(c *Config) *string { return &c.ChdbLib })},
	}
}

func setAdminHosts(c *Config, value string) error {
	for _, host := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }) {
		if parsed, err := url.Parse("http://" + host); err != nil || parsed.Host != host {
			return fmt.Errorf("%q is not the name of a host", host)
		}
		c.AdminHosts = append(c.AdminHosts, host)
	}
	return nil
}

func setBrokers(c *Config, value string) error {
	for _, broker := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }) {
		if _, _, err := net.SplitHostPort(broker); err != nil {
			return fmt.Errorf("%q is not host:port", broker)
		}
		c.KafkaBrokers = append(c.KafkaBrokers, broker)
	}
	return nil
}

// address is the setter of a host:port that may be empty.
func address(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, value string) error {
		if value == "" {
			return nil
		}
		if host, _, err := net.SplitHostPort(value); err != nil || host == "" {
			return errors.New("not host:port")
		}
		*field(c) = value
		return nil
	}
}

// checkCluster returns the settings that a node of a cluster lacks.
func (c Config) checkCluster() (problems []error) {
	if c.NodeAddr != "" && len(c.ClusterSecret.Reveal()) < cluster.LeastSecret {
		problems = append(problems, fmt.Errorf("SVC_NODE_ADDR needs SVC_CLUSTER_SECRET, the same on all nodes, of %d characters or more", cluster.LeastSecret))
	}
	if c.NodeAddr != "" && c.MasterKey.Reveal() == "" {
		problems = append(problems, errors.New("SVC_NODE_ADDR needs SVC_MASTER_KEY, the same on all nodes"))
	}
	if c.KafkaListen != "" && len(c.KafkaBrokers) > 0 {
		problems = append(problems, errors.New("SVC_KAFKA_LISTEN is for the embedded broker, and SVC_KAFKA_BROKERS names another"))
	}
	if c.ClickHouseDSN != "" {
		if err := clickhouse.CheckShards(append([]string{c.ClickHouseDSN}, c.ClickHouseShards...), c.ClickHouseCluster); err != nil {
			problems = append(problems, fmt.Errorf("SVC_CLICKHOUSE_DSN: %w", err))
		}
	}
	if c.ClickHouseCluster != "" && c.ClickHouseDSN == "" {
		problems = append(problems, errors.New("SVC_CLICKHOUSE_CLUSTER is for servers, which SVC_CLICKHOUSE_DSN names"))
	}
	if c.StoreListen != "" && c.ClickHouseDSN != "" {
		problems = append(problems, errors.New("SVC_CLICKHOUSE_LISTEN is for the embedded engine, and SVC_CLICKHOUSE_DSN names a server"))
	}
	return problems
}

// URLAt returns the base URL for clients: SVC_PUBLIC_URL, else one that is derived from the listener's address.
func (c *Config) URLAt(address string) string {
	if c.PublicURL != "" {
		return c.PublicURL
	}
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// Origin returns the base URL for clients like URLAt. It is empty if the port is chosen when the listener is bound, as
// in tests.
func (c *Config) Origin() string {
	if _, port, err := net.SplitHostPort(c.HTTPAddr); c.PublicURL == "" && (err != nil || port == "0") {
		return ""
	}
	return c.URLAt(c.HTTPAddr)
}

// setStore sets the addresses of the shards. Each must be one ClickHouse server: with several servers in one address,
// the driver would switch to another when the first is unavailable, and find other data there.
func setStore(c *Config, value string) error {
	if value == "" {
		return nil
	}
	all := clickhouse.ListDSN(value)
	if len(all) == 0 {
		return errors.New("it lists no server")
	}
	c.ClickHouseDSN, c.ClickHouseShards = all[0], all[1:]
	return nil
}

func setStoreCluster(c *Config, value string) error {
	if value != "" && !clickhouse.ValidCluster(value) {
		return errors.New("not a word of letters, digits, underscores, hyphens and dots")
	}
	c.ClickHouseCluster = value
	return nil
}

func setPublicURL(c *Config, value string) error {
	if value == "" {
		return nil
	}
	parsed, err := url.Parse(value)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return errors.New("not an http or https URL")
	}
	c.PublicURL = strings.TrimSuffix(value, "/")
	return nil
}

func setPartitions(c *Config, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxPartitions {
		return fmt.Errorf("not a number from 1 to %d", maxPartitions)
	}
	c.Partitions = n
	return nil
}

// maxLogKeep limits SVC_LOG_KEEP: a pebibyte.
const maxLogKeep = 1 << 30

func setLogKeep(c *Config, value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 || n > maxLogKeep {
		return fmt.Errorf("not a number of MiB from 1 to %d", maxLogKeep)
	}
	c.LogKeep = n
	return nil
}

func setDiskFloor(c *Config, value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > maxLogKeep {
		return fmt.Errorf("not a number of MiB from 0 to %d", maxLogKeep)
	}
	c.DiskFloor = n
	return nil
}

func setErrorLimit(c *Config, value string) (err error) {
	c.ErrorLimit, err = strconv.Atoi(value)
	if err != nil || c.ErrorLimit < 0 {
		return errors.New("not a number of errors")
	}
	return nil
}

// mebibytes parses a size into a field; an empty one leaves it unchanged.
func mebibytes(field func(*Config) *int64, least int64) func(*Config, string) error {
	return func(c *Config, value string) (err error) {
		if value == "" {
			return nil
		}
		size := field(c)
		if *size, err = strconv.ParseInt(value, 10, 64); err != nil || *size < least || *size > mostMebibytes {
			return fmt.Errorf("not a number of MiB from %d to %d", least, mostMebibytes)
		}
		return nil
	}
}

// mostMebibytes limits sizes: a tebibyte. The largest body fits into leastIngestMemory. A node with the embedded engine
// does not start with less than leastMemory.
const (
	mostMebibytes     = 1 << 20
	leastIngestMemory = 128
	leastMemory       = 256
)

func setRate(c *Config, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return errors.New("not a number of requests")
	}
	c.RateLimit = n
	return nil
}

func setMonitorAllow(c *Config, value string) (err error) {
	c.MonitorAllow, err = domain.ParseAllow(value)
	return err
}

func setProxies(c *Config, value string) error {
	proxies, err := domain.ParseAllow(value)
	c.Proxies = proxies.Allow
	return err
}

func setSync(c *Config, value string) error {
	if value != SyncAlways && value != SyncOS {
		return fmt.Errorf("neither %q nor %q", SyncAlways, SyncOS)
	}
	c.LogSync = value
	return nil
}

func duration(field func(*Config) *time.Duration, least, most time.Duration) func(*Config, string) error {
	return func(c *Config, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < least || d > most {
			return fmt.Errorf("not a duration from %s to %s", least, most)
		}
		*field(c) = d
		return nil
	}
}

func setAIProvider(c *Config, value string) error {
	c.AIProvider = conversation.AIProvider(value)
	if value != "" && !slices.Contains(conversation.AIProviders(), c.AIProvider) {
		return fmt.Errorf("not one of %v", conversation.AIProviders())
	}
	return nil
}

func setAIBaseURL(c *Config, value string) error {
	if value == "" {
		return nil
	}
	parsed, err := url.Parse(value)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return fmt.Errorf("not an http or https URL")
	}
	c.AIBaseURL = strings.TrimSuffix(value, "/")
	return nil
}

// Load reads the environment. It reports every problem at once.
func Load(lookup func(string) (string, bool)) (Config, error) {
	var config Config
	var problems []error
	for _, s := range settings() {
		value, set := lookup(s.name)
		if !set || value == "" {
			value = s.preset
		}
		if err := s.set(&config, value); err != nil {
			shown := value
			if s.secret {
				shown = "•••"
			}
			problems = append(problems, fmt.Errorf("%s=%s: %w", s.name, shown, err))
		}
	}
	for _, addr := range []struct{ name, value string }{{"SVC_HTTP_ADDR", config.HTTPAddr}, {"SVC_ADMIN_ADDR", config.AdminAddr}} {
		if _, _, err := net.SplitHostPort(addr.value); err != nil {
			problems = append(problems, fmt.Errorf("%s=%s: not host:port", addr.name, addr.value))
		}
	}
	return config, errors.Join(append(problems, config.checkCluster()...)...)
}
