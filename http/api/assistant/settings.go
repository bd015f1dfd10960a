package assistant

import (
	"context"
	"fmt"
	"slices"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/api"
	"svc/http/route"
)

// AISettings stores the organizations' settings of the assistant.
type AISettings interface {
	// Settings returns an organization's settings, and the tools that a member always allows.
	Settings(ctx context.Context, org, user string) (conversation.AISettings, error)
	PutPolicy(ctx context.Context, org string, policy conversation.AIPolicy) error
	// PutCredential stores a provider's credential; an empty key removes it.
	PutCredential(ctx context.Context, org string, credential conversation.AICredential, key domain.Secret) error
	Mark(ctx context.Context, org, user, tool string, always bool) error
}

// AITools lists the tools.
type AITools interface {
	// Tool returns a tool of the assistant.
	Tool(name string) (conversation.Tool, bool)
	// Names lists all tools of models: the tools of the assistant and of agents.
	Names() []string
}

// consoleAI serves the console's routes of the assistant.
type consoleAI struct {
	settings  AISettings
	tools     AITools
	assistant Assistant
	passkeys  api.Passkeys
}

func consoleAIRoutes(ports Ports) []route.Route {
	ai := consoleAI{settings: ports.Settings, tools: ports.Tools, assistant: ports.Assistant, passkeys: ports.Passkeys}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/orgs/{org}/ai", Operation: "console.ai.get", Scope: domain.ScopeRead, Permission: domain.PermAIUse, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Read what the organization has set about the assistant", Handler: route.Typed(ai.get),
		},
		{
			Surface: route.Console, Method: "PUT", Path: "/orgs/{org}/ai/policy", Operation: "console.ai.putPolicy", Scope: domain.ScopeAdmin, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Destructive, Ledger: "ai.policy.updated", Rate: domain.RateDefault,
			Summary: "Replace the rules and the budget of the assistant", Handler: route.Typed(ai.putPolicy),
		},
		{
			Surface: route.Console, Method: "PUT", Path: "/orgs/{org}/ai/credential", Operation: "console.ai.putCredential", Scope: domain.ScopeAdmin, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Destructive, Ledger: "ai.credential.updated", Rate: domain.RateDefault,
			Summary: "Keep a model provider's credential of the organization", Handler: route.Typed(ai.putCredential),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/orgs/{org}/ai/credential", Operation: "console.ai.deleteCredential", Scope: domain.ScopeAdmin, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Destructive, Ledger: "ai.credential.removed", Rate: domain.RateDefault,
			Summary: "Remove the organization's credential, so that the platform's is used", Status: 204, Handler: route.Typed(ai.deleteCredential),
		},
		{
			Surface: route.Console, Method: "PUT", Path: "/orgs/{org}/ai/always/{tool}", Operation: "console.ai.allow", Scope: domain.ScopeWrite, Permission: domain.PermAIUse, Effect: route.Write, Unrecorded: "a preference of one member", Rate: domain.RateDefault,
			Summary: "Always allow a write tool for the signed-in person", Status: 204, Handler: route.Typed(ai.allow),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/orgs/{org}/ai/always/{tool}", Operation: "console.ai.forbid", Scope: domain.ScopeWrite, Permission: domain.PermAIUse, Effect: route.Write, Unrecorded: "a preference of one member", Rate: domain.RateDefault,
			Summary: "Ask again before a tool runs", Status: 204, Handler: route.Typed(ai.forbid),
		},
		{
			Surface: route.Console, Method: "GET", Path: "/apps/{org}/{app}/ai/actions", Operation: "console.ai.ownActions", Module: domain.ModuleAI, Scope: domain.ScopeRead, Permission: domain.PermAIUse, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List what was proposed to the signed-in person", Handler: route.Typed(assistant{ports.Assistant}.actions),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/ai/actions/{id}/challenge", Operation: "console.ai.challenge", Module: domain.ModuleAI, Scope: domain.ScopeWrite, Permission: domain.PermAIUse, Effect: route.Write, Unrecorded: "a challenge changes nothing", Rate: domain.RateDefault,
			Summary: "Begin to confirm a destructive action with a passkey", Codes: []domain.Code{domain.CodeConflict, domain.CodePasskeyRequired, domain.CodeNotAvailable}, Handler: route.Typed(ai.challenge),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/ai/actions/{id}/approve", Operation: "console.ai.approve", Module: domain.ModuleAI, Scope: domain.ScopeWrite, Permission: domain.PermAIUse, Effect: route.Destructive, Unrecorded: "the conversation records the decision", Rate: domain.RateDefault,
			Summary: "Approve a destructive action with a reason and a fresh passkey", Codes: []domain.Code{domain.CodeConflict, domain.CodePasskeyRequired, domain.CodeNotAvailable}, Handler: route.Typed(ai.approve),
		},
		{
			Surface: route.Console, Method: "GET", Path: "/apps/{org}/{app}/ai/members/{user}/actions", Operation: "console.ai.actions", Module: domain.ModuleAI, Scope: domain.ScopeRead, Permission: domain.PermAIUse, Role: domain.RoleAdmin, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List what was proposed to a member", Handler: route.Typed(ai.actions),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/ai/members/{user}/actions/{id}/revoke", Operation: "console.ai.revoke", Module: domain.ModuleAI, Scope: domain.ScopeWrite, Permission: domain.PermAIUse, Role: domain.RoleAdmin, Effect: route.Write, Unrecorded: "the conversation records the decision", Rate: domain.RateDefault,
			Summary: "Deny an action that was proposed to a member", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(ai.revoke),
		},
	}
}

// aiPolicy contains the limits that an organization sets for the assistant.
type aiPolicy struct {
	DeniedTools   []string              `json:"deniedTools" doc:"Tools that are not offered to the model."`
	DeniedEffects []conversation.Effect `json:"deniedEffects" doc:"Whole effect classes that are not offered."`
	MaxScope      *domain.Scope         `json:"maxScope" doc:"The widest scope of the assistant's tokens; null caps nothing."`
	MonthlyBudget *int64                `json:"monthlyBudget" doc:"Tokens a month from which no round is admitted; 0 pauses model calls, null removes the cap."`
}

// aiSettings is the answer of GET …/ai.
type aiSettings struct {
	Policy     aiPolicy      `json:"policy"`
	Spent      aiSpent       `json:"spent" doc:"This month, in UTC."`
	Credential *aiCredential `json:"credential" doc:"Null where the platform's is used."`
	Always     []string      `json:"alwaysAllowed" doc:"The tools that the signed-in person always allows."`
}

type aiSpent struct {
	InputTokens  int64 `json:"inputTokens"`
	OutputTokens int64 `json:"outputTokens"`
}

type aiCredential struct {
	Provider conversation.AIProvider `json:"provider"`
	Model    *string                 `json:"model"`
	Last4    string                  `json:"last4"`
}

func aiSettingsOf(s *conversation.AISettings) aiSettings {
	shown := aiSettings{
		Policy: aiPolicy{
			DeniedTools: append([]string{}, s.Policy.DeniedTools...), DeniedEffects: append([]conversation.Effect{}, s.Policy.DeniedEffects...),
			MonthlyBudget: s.Policy.MonthlyBudget,
		},
		Spent: aiSpent{s.Spent.Input, s.Spent.Output}, Always: append([]string{}, s.Always...),
	}
	if s.Policy.MaxScope != "" {
		shown.Policy.MaxScope = &s.Policy.MaxScope
	}
	if s.Credential != nil {
		shown.Credential = &aiCredential{s.Credential.Provider, api.OrNull(s.Credential.Model), s.Credential.Last4}
	}
	return shown
}

func (c consoleAI) get(ctx context.Context, call *route.Call, in api.OrgPath) (aiSettings, error) {
	person, err := api.SignedIn(call)
	if err != nil {
		return aiSettings{}, err
	}
	settings, err := c.settings.Settings(ctx, in.Org, person.ID)
	return aiSettingsOf(&settings), err
}

type putAIPolicy struct {
	api.OrgPath
	Body aiPolicyBody `body:"json"`
}

// aiPolicyBody is the body of PUT …/ai/policy, which replaces the whole policy: absent fields are not restricted.
type aiPolicyBody struct {
	DeniedTools   []string                     `json:"deniedTools" doc:"Tools that are not offered to models; absent denies none."`
	DeniedEffects []conversation.Effect        `json:"deniedEffects" doc:"Whole effect classes that are not offered; absent denies none."`
	MaxScope      route.Nullable[domain.Scope] `json:"maxScope" doc:"The widest scope of the assistant's tokens; absent or null caps nothing."`
	MonthlyBudget route.Nullable[int64]        `json:"monthlyBudget" doc:"Tokens a month from which no round is admitted; 0 pauses model calls, absent or null removes the cap."`
}

func (p *putAIPolicy) policy() conversation.AIPolicy {
	policy := conversation.AIPolicy{DeniedTools: p.Body.DeniedTools, DeniedEffects: p.Body.DeniedEffects, MonthlyBudget: p.Body.MonthlyBudget.Value}
	if scope := p.Body.MaxScope.Value; scope != nil {
		policy.MaxScope = *scope
	}
	return policy
}

// Check applies the rules of policies.
func (p *putAIPolicy) Check(*route.Call) []domain.FieldError {
	policy := p.policy()
	return policy.Validate()
}

// maxUnknownTools bounds the problems of one policy.
const maxUnknownTools = 10

// unknownTools returns a problem for each of the first denied names that match no tool, since such a denial has no
// effect.
func (c consoleAI) unknownTools(denied []string) (problems []domain.FieldError) {
	names := c.tools.Names()
	for i, name := range denied {
		if len(problems) < maxUnknownTools && !slices.Contains(names, name) {
			problem := api.UnknownWord(fmt.Sprintf("deniedTools[%d]", i), "tool", name, nil)
			if len(problems) == 0 {
				problem.Allowed = names
			}
			problems = append(problems, problem)
		}
	}
	return problems
}

func (c consoleAI) putPolicy(ctx context.Context, call *route.Call, in putAIPolicy) (aiSettings, error) {
	call.About("policy")
	if problems := c.unknownTools(in.Body.DeniedTools); len(problems) > 0 {
		return aiSettings{}, domain.Invalid(problems...)
	}
	if err := c.settings.PutPolicy(ctx, in.Org, in.policy()); err != nil {
		return aiSettings{}, err
	}
	return c.get(ctx, call, in.OrgPath)
}

type putAICredential struct {
	api.OrgPath
	Body aiCredentialBody `body:"json"`
}

// aiCredentialBody is the body of PUT …/ai/credential.
type aiCredentialBody struct {
	Provider conversation.AIProvider `json:"provider" required:"true"`
	Model    string                  `json:"model" doc:"The family's default where it is absent."`
	APIKey   string                  `json:"apiKey" required:"true" doc:"Kept sealed and never shown."`
}

// leastKey is the minimum length of a provider's key.
const leastKey = 8

// Check applies the rules of credentials.
func (p *putAICredential) Check(*route.Call) (problems []domain.FieldError) {
	if !slices.Contains(conversation.AIProviders(), p.Body.Provider) {
		problems = append(problems, api.UnknownWord("provider", "provider", string(p.Body.Provider), api.Words(conversation.AIProviders())))
	}
	if len(p.Body.APIKey) < leastKey {
		problems = append(problems, domain.FieldError{Field: "apiKey", Code: "invalid_value", Message: "The key is too short to be one."})
	}
	return problems
}

func (c consoleAI) putCredential(ctx context.Context, call *route.Call, in putAICredential) (aiSettings, error) {
	call.About("credential")
	key := in.Body.APIKey
	credential := conversation.AICredential{Provider: in.Body.Provider, Model: in.Body.Model, Last4: key[len(key)-4:]}
	if err := c.settings.PutCredential(ctx, in.Org, credential, domain.Secret(key)); err != nil {
		return aiSettings{}, err
	}
	return c.get(ctx, call, in.OrgPath)
}

func (c consoleAI) deleteCredential(ctx context.Context, call *route.Call, in api.OrgPath) (route.Empty, error) {
	call.About("credential")
	return route.Empty{}, c.settings.PutCredential(ctx, in.Org, conversation.AICredential{}, "")
}

type toolPath struct {
	api.OrgPath
	Tool string `path:"tool" doc:"The tool's name."`
}

// allow marks a tool as always allowed; this is possible only for writes.
func (c consoleAI) allow(ctx context.Context, call *route.Call, in toolPath) (route.Empty, error) {
	tool, found := c.tools.Tool(in.Tool)
	if !found {
		return route.Empty{}, domain.NotFound("tool")
	}
	if tool.Effect != conversation.EffectWrite {
		return route.Empty{}, domain.Invalid(domain.FieldError{Field: "tool", Code: "invalid_value", Message: "Only tools of the effect write can be allowed once and for all."})
	}
	return route.Empty{}, c.mark(ctx, call, in, true)
}

func (c consoleAI) forbid(ctx context.Context, call *route.Call, in toolPath) (route.Empty, error) {
	return route.Empty{}, c.mark(ctx, call, in, false)
}

func (c consoleAI) mark(ctx context.Context, call *route.Call, in toolPath, always bool) error {
	person, err := api.SignedIn(call)
	if err != nil {
		return err
	}
	return c.settings.Mark(ctx, in.Org, person.ID, in.Tool, always)
}

type listMemberActions struct {
	listActions
	User string `path:"user" doc:"The member's id."`
}

func (c consoleAI) actions(ctx context.Context, call *route.Call, in listMemberActions) (domain.Page[action], error) {
	return assistant{c.assistant}.actionPage(ctx, call, call.Ref(), in.User, in.listActions)
}

type revokeAction struct {
	rejectAction
	User string `path:"user" doc:"The member's id."`
}

func (c consoleAI) revoke(ctx context.Context, call *route.Call, in revokeAction) (decided, error) {
	who, err := asker(call)
	if err != nil {
		return decided{}, err
	}
	revoked, err := c.assistant.Revoke(ctx, who, in.User, in.ID, in.Body.Reason)
	if err != nil {
		return decided{}, err
	}
	return decided{Action: actionOf(&revoked)}, nil
}
