package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/actors/grain"
	"svc/actors/pipeline"
	"svc/cluster"
	"svc/cmd/svc/settings"
	"svc/domain"
	"svc/domain/ingest"
	"svc/http/route"
)

// toy is a module as CONTRIBUTING.md describes how to add one: it counts the events named "toy" of an environment. Its
// listener receives them, its part notifies its actor, and its route queries the actor.
type toy struct {
	node   *node
	stored chan toyCount
}

type toyCount struct {
	Environment uint64 `json:"environment"`
	Events      int    `json:"events"`
	Block       uint64 `json:"block"`
}

// The toy actor.
type toyCore struct{ count toyCount }

var (
	toyKind = grain.NewKind[*toyCore]("toy", 1, time.Minute)
	toyAdd  = grain.On(toyKind, "add", (*toyCore).onAdd, grain.Repeatable)
	toyGet  = grain.On(toyKind, "get", (*toyCore).onGet, grain.Repeatable)
)

func (c *toyCore) Restore(entities []domain.Entity) (err error) {
	c.count = toyCount{}
	for _, entity := range entities {
		c.count, err = grain.Decode[toyCount](entity)
	}
	return err
}

// onAdd counts a block once, however often it is reported.
func (c *toyCore) onAdd(_ time.Time, more toyCount) (grain.Outcome[grain.None], error) {
	if more.Block <= c.count.Block {
		return grain.Answer(grain.None{}), nil
	}
	c.count.Events, c.count.Block = c.count.Events+more.Events, more.Block
	return grain.Answer(grain.None{}, grain.Put("toy", "count", c.count)), nil
}

func (c *toyCore) onGet(time.Time, grain.None) (grain.Outcome[toyCount], error) {
	return grain.Answer(c.count), nil
}

func (y *toy) module() module {
	return module{
		name: "toy",
		kinds: func(node *grain.Node) []cluster.Kind {
			return []cluster.Kind{toyKind.Row(node, func(string) *toyCore { return &toyCore{} })}
		},
		listeners: func() []pipeline.Listener { return []pipeline.Listener{toyListener{toy: y}} },
		parts: func() []part {
			return []part{{"toy", "It calls the toy actor about stored blocks, so it stops before the actors.", y.run}}
		},
		routes: func() ([]route.Route, error) {
			return []route.Route{{
				Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/toys/{number}", Operation: "toys.get", Scope: domain.ScopeRead, Permission: domain.PermAppsRead,
				Effect: route.Read, Rate: domain.RateDefault, Summary: "Count toys", Handler: route.Typed(y.get),
			}}, nil
		},
	}
}

type toyInput struct {
	Number string `path:"number" doc:"The number of an environment."`
}

type toyOutput struct {
	Events int `json:"events" doc:"How many events are named toy."`
}

func (y *toy) get(ctx context.Context, _ *route.Call, in toyInput) (toyOutput, error) {
	count, err := toyGet.Ask(ctx, y.node.cluster, in.Number, grain.None{})
	return toyOutput{count.Events}, err
}

// run notifies the actors of stored events.
func (y *toy) run(ctx context.Context) error {
	for {
		select {
		case count := <-y.stored:
			if _, err := toyAdd.Ask(ctx, y.node.cluster, fmt.Sprint(count.Environment), count); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

type toyListener struct {
	pipeline.NopListener
	toy *toy
}

func (l toyListener) Open() pipeline.BlockListener {
	return &toyBlock{toy: l.toy, counts: map[uint64]int{}}
}

type toyBlock struct {
	pipeline.NopBlockListener
	toy    *toy
	counts map[uint64]int
}

func (b *toyBlock) Saw(_ int64, rows *ingest.Rows) {
	for i := range rows.Events {
		if rows.Events[i].Name == "toy" {
			b.counts[rows.Events[i].EnvironmentNumber]++
		}
	}
}

func (b *toyBlock) Committed(block uint64) {
	for environment, events := range b.counts {
		b.toy.stored <- toyCount{environment, events, block}
	}
}

// TestAModuleIsAdded adds the toy to a real node, by one declaration: its own listener, part and actor count its
// events, and its route answers. The kinds of all other modules are registered too.
func TestAModuleIsAdded(t *testing.T) {
	s := startServerWith(t, t.TempDir(), nil, func(n *node) []module {
		return []module{(&toy{node: n, stored: make(chan toyCount, 16)}).module()}
	})
	kindsAreRegistered(t, s.node)
	for i := range 3 {
		toy := item(fmt.Sprint("toy", i), "ada", "/", time.Now())
		toy["type"], toy["name"] = "event", "toy"
		s.send(toy)
	}
	s.send(item("view", "ada", "/", time.Now()))
	s.settled()
	var number uint64
	for _, environment := range s.node.collectors.Applications()[0].Environments {
		if environment.Slug == domain.DefaultEnvironment {
			number = environment.Number
		}
	}
	eventually(t, "the toys are counted", func() error {
		if got := s.get(fmt.Sprintf("%s/toys/%d", appPath, number)); got["events"] != 3.0 {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
}

// TestTheGuideNamesEveryMemberOfAModule reads the list of CONTRIBUTING.md.
func TestTheGuideNamesEveryMemberOfAModule(t *testing.T) {
	guide, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(guide), "## The first module")
	list, _, _ = strings.Cut(list, "\n## ")
	for member := range reflect.TypeFor[module]().Fields() {
		if !strings.Contains(list, "`"+member.Name+"`") {
			t.Errorf("the guide does not say what %s is for", member.Name)
		}
	}
}

// TestNoModuleIsHalfRegistered looks for components that a package offers and no module adds: listeners by their types,
// and packages of routes by their imports.
func TestNoModuleIsHalfRegistered(t *testing.T) {
	t.Parallel()
	n := newNode(settings.Config{}, slog.New(slog.DiscardHandler))
	names, brought := map[string]bool{}, map[string]bool{}
	for _, m := range n.modules() {
		if m.name == "" || names[m.name] {
			t.Errorf("the name %q of a module is empty or used twice", m.name)
		}
		names[m.name] = true
		if m.listeners != nil {
			for _, listener := range m.listeners() {
				kind := reflect.TypeOf(listener).Elem()
				brought[kind.PkgPath()+"."+kind.Name()] = true
			}
		}
	}
	imported := importsOf(t, ".")
	eachGoFile(t, "../../actors", func(path string, file *ast.File) {
		for name, object := range file.Scope.Objects {
			spec, _ := object.Decl.(*ast.TypeSpec)
			if spec == nil || !ast.IsExported(name) || !strings.HasSuffix(name, "Listener") || strings.HasPrefix(name, "Nop") {
				continue
			}
			if _, declared := spec.Type.(*ast.StructType); declared && !brought[packageOf(path)+"."+name] {
				t.Errorf("%s declares %s, and no module of modules.go has it among its listeners", path, name)
			}
		}
	})
	eachGoFile(t, "../../http", func(path string, file *ast.File) {
		if file.Scope.Lookup("Routes") == nil || strings.HasSuffix(file.Name.Name, "test") {
			return
		}
		if name := packageOf(path); !imported[name] {
			t.Errorf("%s has rows of the route table, and no module brings them", name)
		}
	})
}

// packageOf returns the import path of a file's package.
func packageOf(path string) string {
	return "svc/" + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
}

// kindsAreRegistered compares the kinds that packages of actors declare with those of a node. A call of an unregistered
// kind would only fail when it is made.
func kindsAreRegistered(t *testing.T, n *node) {
	t.Helper()
	registered := map[string]bool{}
	for _, kind := range n.actorKinds {
		registered[kind.Name] = true
	}
	constants, declared := map[string]string{}, map[string]string{}
	eachGoFile(t, "../../actors", func(path string, file *ast.File) {
		folder := filepath.Dir(path) + " "
		ast.Inspect(file, func(at ast.Node) bool {
			switch at := at.(type) {
			case *ast.ValueSpec:
				for i, value := range at.Values {
					if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
						constants[folder+at.Names[i].Name] = strings.Trim(literal.Value, `"`)
					}
				}
			case *ast.CallExpr:
				if name := declaredKind(at); name != "" {
					declared[folder+name] = path
				}
			}
			return true
		})
	})
	if len(declared) == 0 {
		t.Error("no package of actors declares a kind: the test looks for the wrong call")
	}
	for constant, path := range declared {
		if !registered[constants[constant]] {
			t.Errorf("%s declares the kind %q (%s), and no module registers it", path, constants[constant], constant)
		}
	}
}

// declaredKind returns the constant that names the kind which a call of grain.NewKind declares.
func declaredKind(call *ast.CallExpr) string {
	instance, ok := call.Fun.(*ast.IndexExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	function, ok := instance.X.(*ast.SelectorExpr)
	name, named := call.Args[0].(*ast.Ident)
	if !ok || !named || function.Sel.Name != "NewKind" {
		return ""
	}
	return name.Name
}

// eachGoFile calls yield with every file of the packages below a folder except tests.
func eachGoFile(t *testing.T, folder string, yield func(path string, file *ast.File)) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err == nil {
			yield(path, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// importsOf returns the imports of a package's files.
func importsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	imported := map[string]bool{}
	eachGoFile(t, folder, func(path string, file *ast.File) {
		if filepath.Dir(path) == "." {
			for _, spec := range file.Imports {
				imported[strings.Trim(spec.Path.Value, `"`)] = true
			}
		}
	})
	return imported
}
