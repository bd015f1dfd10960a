package main

import (
	"context"

	"svc/actors/assistant"
	"svc/actors/conversations"
	"svc/actors/grain"
	"svc/cluster"
	"svc/cmd/svc/version"
	"svc/domain/conversation"
	assistantapi "svc/http/api/assistant"
	"svc/http/mcp"
	"svc/http/outbound/llm"
	"svc/http/route"
	"svc/http/tools"
)

// assistantModule adds the assistant with its conversations, and the MCP endpoint for agents.
func (n *node) assistantModule() module {
	return module{
		name: "assistant",
		kinds: func(node *grain.Node) []cluster.Kind {
			return conversations.Kinds(node, n.db.Ledger())
		},
		wire: n.wireAssistant,
		callers: func(tools *tools.Set) []route.Route {
			n.assistant = n.newAssistant(tools)
			return append(assistantapi.Routes(assistantapi.Ports{
				Assistant: turns{n.assistant}, Approvals: n.assistant, Settings: n.ai, Tools: settingsTools{tools}, Passkeys: n.identity,
			}), n.agents(tools).Routes()...)
		},
		parts: func() []part {
			return []part{
				{"assistant", "Running turns record their ends with the actors, and read through the routes without a listener.", n.assistant.Run},
			}
		},
	}
}

// wireAssistant creates the stores of the organizations' AI policies and credentials.
func (n *node) wireAssistant() error {
	box, err := n.vault.Box("model providers")
	if err != nil {
		return err
	}
	n.ai = &conversations.AI{Actors: n.cluster, Sealer: box}
	return nil
}

func (n *node) newAssistant(tools *tools.Set) *assistant.Assistant {
	conversations := &conversations.Conversations{Actors: n.cluster}
	return &assistant.Assistant{
		Conversations: conversations, Approvals: conversations, Roles: n.identity, Settings: n.ai, Tools: tools.Assistant,
		Models: models{&llm.Models{Credentials: n.ai, Platform: llm.Access{
			Provider: n.config.AIProvider, Model: n.config.AIModel, Key: n.config.AIKey, BaseURL: n.config.AIBaseURL,
		}}},
		Tokens: n.identity, Ledger: n.ledgers(), Apps: n.apps,
		NewID: n.random.ID, Now: n.now, Logger: n.logger,
	}
}

// models adapts the models to the assistant.
type models struct{ *llm.Models }

func (m models) Model(ctx context.Context, org string) (assistant.Model, error) {
	model, err := m.Models.Model(ctx, org)
	if err != nil {
		return nil, err
	}
	return model, nil
}

// ledgers returns the client of the ledgers.
func (n *node) ledgers() *conversations.Ledgers {
	ledgers := &conversations.Ledgers{Actors: n.cluster}
	if n.db != nil { // a node that is not open only lists its rows
		ledgers.Known = n.db.KnownEntries
	}
	return ledgers
}

// agents returns the server of the Model Context Protocol.
func (n *node) agents(tools *tools.Set) *mcp.Server {
	return mcp.New(mcp.Config{
		Authority: n.identity, Organizations: n.identity, Apps: n.apps, Settings: n.ai, Tools: tools.Holders, Proposals: n.assistant, Docs: n.library,
		PublicURL: n.config.Origin(), Version: version.API, Logger: n.logger,
	})
}

// settingsTools are the tools in the settings of the assistant: all names, and the assistant's own tools.
type settingsTools struct{ *tools.Set }

// Tool returns a tool of the assistant.
func (s settingsTools) Tool(name string) (conversation.Tool, bool) { return s.Assistant.Tool(name) }

// turns adapts the assistant to package http.
type turns struct{ *assistant.Assistant }

func (t turns) Ask(ctx context.Context, who conversation.Principal, question conversation.Question) (assistantapi.Turn, error) {
	turn, err := t.Assistant.Ask(ctx, who, question)
	if err != nil {
		return nil, err
	}
	return turn, nil
}

func (t turns) Approve(ctx context.Context, who conversation.Principal, id, reason string) (assistantapi.Turn, error) {
	turn, err := t.Assistant.Approve(ctx, who, id, reason)
	if err != nil {
		return nil, err
	}
	return turn, nil
}
