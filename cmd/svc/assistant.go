package main

import (
	"context"
	"slices"

	"svc"
	"svc/actors/assistant"
	"svc/actors/conversations"
	"svc/actors/grain"
	"svc/cluster"
	"svc/cmd/svc/version"
	assistantapi "svc/http/api/assistant"
	"svc/http/docs"
	"svc/http/mcp"
	"svc/http/outbound/llm"
	"svc/http/route"
	"svc/http/tools"
)

// assistantModule is the assistant with its conversations, and the door of agents.
func (n *node) assistantModule() module {
	return module{
		name: "assistant",
		kinds: func(node *grain.Node) []cluster.Kind {
			return conversations.Kinds(node, n.db.Ledger(), func(ctx context.Context, entry svc.LedgerEntry) error { return n.ledgers().Record(ctx, entry) })
		},
		wire: n.wireAssistant,
		routes: func() ([]route.Route, error) {
			return append(assistantapi.Routes(assistantapi.Ports{
				Assistant: turns{n.assistant}, Approvals: n.assistant, Settings: n.ai, Tools: modelTools{n}, Passkeys: n.identity,
			}), n.agents(n.library).Routes()...), nil
		},
		parts: func() []part {
			return []part{
				{"assistant", "Running turns record their ends with the actors, and read through the routes without a listener.", n.assistant.Run},
			}
		},
	}
}

// wireAssistant makes the assistant; its tools are named once the table is known.
func (n *node) wireAssistant() error {
	box, err := n.vault.Box("model providers")
	if err != nil {
		return err
	}
	n.ai = &conversations.AI{Actors: n.cluster, Sealer: box}
	n.tools = &routeTools{}
	conversations := &conversations.Conversations{Actors: n.cluster}
	n.assistant = &assistant.Assistant{
		Conversations: conversations, Approvals: conversations, Roles: n.identity, Settings: n.ai, Tools: n.tools,
		Models: models{&llm.Models{Credentials: n.ai, Platform: llm.Access{
			Provider: n.config.AIProvider, Model: n.config.AIModel, Key: n.config.AIKey, BaseURL: n.config.AIBaseURL,
		}}},
		Tokens: n.identity, Ledger: n.ledgers(), Apps: n.apps,
		NewID: n.random.ID, Now: n.now, Logger: n.logger,
	}
	return nil
}

// models is the assistant's view of the models.
type models struct{ *llm.Models }

func (m models) Model(ctx context.Context, org string) (assistant.Model, error) {
	model, err := m.Models.Model(ctx, org)
	if err != nil {
		return nil, err
	}
	return model, nil
}

// ledgers returns the client of the ledgers.
func (n *node) ledgers() *conversations.Ledgers { return &conversations.Ledgers{Actors: n.cluster} }

// agents returns the server of the Model Context Protocol.
func (n *node) agents(library *docs.Library) *mcp.Server {
	n.agentTools = &routeTools{}
	return mcp.New(mcp.Config{
		Authority: n.identity, Organizations: n.identity, Apps: n.apps, Settings: n.ai, Tools: n.agentTools, Proposals: n.assistant, Docs: library,
		PublicURL: n.config.Origin(), Version: version.API, Logger: n.logger,
	})
}

// openAgentTools makes the tools for holders of a token; the handler executes them.
func (n *node) openAgentTools(table []route.Route) (err error) {
	n.agentTools.Registry, err = tools.NewForHolders(table)
	return err
}

// routeTools are the tools of the route table. The table holds routes of the assistant, so the tools
// are filled in after the assistant was made.
type routeTools struct{ *tools.Registry }

// openTools makes the tools of the table, which the handler executes.
func (n *node) openTools(table []route.Route) (err error) {
	n.tools.Registry, err = tools.New(table)
	return err
}

// modelTools are the tools of all models, once both registries are made.
type modelTools struct{ node *node }

// Tool returns a tool of the assistant.
func (m modelTools) Tool(name string) (svc.Tool, bool) { return m.node.tools.Tool(name) }

// Names lists the tools of the assistant and of agents.
func (m modelTools) Names() []string {
	names := slices.Concat(m.node.tools.Names(), m.node.agentTools.Names())
	slices.Sort(names)
	return slices.Compact(names)
}

// turns is http's view of the assistant.
type turns struct{ *assistant.Assistant }

func (t turns) Ask(ctx context.Context, who svc.Principal, question svc.Question) (assistantapi.Turn, error) {
	turn, err := t.Assistant.Ask(ctx, who, question)
	if err != nil {
		return nil, err
	}
	return turn, nil
}

func (t turns) Approve(ctx context.Context, who svc.Principal, id, reason string) (assistantapi.Turn, error) {
	turn, err := t.Assistant.Approve(ctx, who, id, reason)
	if err != nil {
		return nil, err
	}
	return turn, nil
}
