package api

import (
	"svc"
	"svc/http/route"
)

// turnEvents describes the stream of a turn.
const turnEvents = "The frames start, status, text, tools_loaded, tool_call, tool_result, approval_required, action, reveal, and done or error at the end. data is one JSON object whose type equals the event. With Last-Event-ID and the conversationId, the turn is followed from there."

func assistantRoutes(ports Ports) []route.Route {
	ai := assistant{assistant: ports.Assistant}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/ai/conversations", Operation: "ai.conversations", Module: svc.ModuleAI, Scope: svc.ScopeRead, Permission: svc.PermAIUse, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List the token owner's conversations with the assistant", Handler: route.Typed(ai.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/ai/conversations/{id}", Operation: "ai.conversation", Module: svc.ModuleAI, Scope: svc.ScopeRead, Permission: svc.PermAIUse, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "Read one conversation, or follow its running turn", Events: turnEvents, Handler: route.TypedStream(ai.get, ai.follow),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/ai/ask", Operation: "ai.ask", Module: svc.ModuleAI, Scope: svc.ScopeWrite, Permission: svc.PermAIUse, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Ask the assistant, with the answer as a stream", Events: turnEvents, Codes: []svc.Code{svc.CodeConflict}, Handler: route.Streamed(ai.ask),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/ai/actions", Operation: "ai.actions", Module: svc.ModuleAI, Scope: svc.ScopeRead, Permission: svc.PermAIUse, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List proposed actions and what became of them", Handler: route.Typed(ai.actions),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/ai/actions/{id}/approve", Operation: "ai.approve", Module: svc.ModuleAI, Scope: svc.ScopeWrite, Permission: svc.PermAIUse, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Approve a proposed action and resume the conversation", Events: turnEvents, Codes: []svc.Code{svc.CodeConflict}, Handler: route.TypedStream(ai.approve, ai.approveStream),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/ai/actions/{id}/reject", Operation: "ai.reject", Module: svc.ModuleAI, Scope: svc.ScopeWrite, Permission: svc.PermAIUse, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Reject a proposed action with a reason", Events: "One frame named action.", Codes: []svc.Code{svc.CodeConflict}, Handler: route.TypedStream(ai.reject, ai.rejectStream),
		},
	}
}

func consoleAIRoutes(ports Ports) []route.Route {
	ai := consoleAI{settings: ports.AISettings, tools: ports.AITools, assistant: ports.Assistant, passkeys: ports.Passkeys}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/orgs/{org}/ai", Operation: "console.ai.get", Scope: svc.ScopeRead, Permission: svc.PermAIUse, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "Read what the organization has set about the assistant", Handler: route.Typed(ai.get),
		},
		{
			Surface: route.Console, Method: "PUT", Path: "/orgs/{org}/ai/policy", Operation: "console.ai.putPolicy", Scope: svc.ScopeAdmin, Permission: svc.PermOrgRead, Role: svc.RoleAdmin, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Replace the rules and the budget of the assistant", Handler: route.Typed(ai.putPolicy),
		},
		{
			Surface: route.Console, Method: "PUT", Path: "/orgs/{org}/ai/credential", Operation: "console.ai.putCredential", Scope: svc.ScopeAdmin, Permission: svc.PermOrgRead, Role: svc.RoleAdmin, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Keep a model provider's credential of the organization", Handler: route.Typed(ai.putCredential),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/orgs/{org}/ai/credential", Operation: "console.ai.deleteCredential", Scope: svc.ScopeAdmin, Permission: svc.PermOrgRead, Role: svc.RoleAdmin, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Remove the organization's credential, so that the platform's is used", Status: 204, Handler: route.Typed(ai.deleteCredential),
		},
		{
			Surface: route.Console, Method: "PUT", Path: "/orgs/{org}/ai/always/{tool}", Operation: "console.ai.allow", Scope: svc.ScopeWrite, Permission: svc.PermAIUse, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Always allow a write tool for the signed-in person", Status: 204, Handler: route.Typed(ai.allow),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/orgs/{org}/ai/always/{tool}", Operation: "console.ai.forbid", Scope: svc.ScopeWrite, Permission: svc.PermAIUse, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Ask again before a tool runs", Status: 204, Handler: route.Typed(ai.forbid),
		},
		{
			Surface: route.Console, Method: "GET", Path: "/apps/{org}/{app}/ai/actions", Operation: "console.ai.ownActions", Module: svc.ModuleAI, Scope: svc.ScopeRead, Permission: svc.PermAIUse, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List what was proposed to the signed-in person", Handler: route.Typed(assistant{ports.Assistant}.actions),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/ai/actions/{id}/challenge", Operation: "console.ai.challenge", Module: svc.ModuleAI, Scope: svc.ScopeWrite, Permission: svc.PermAIUse, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Begin to confirm a destructive action with a passkey", Codes: []svc.Code{svc.CodeConflict, svc.CodePasskeyRequired, svc.CodeNotAvailable}, Handler: route.Typed(ai.challenge),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/ai/actions/{id}/approve", Operation: "console.ai.approve", Module: svc.ModuleAI, Scope: svc.ScopeWrite, Permission: svc.PermAIUse, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Approve a destructive action with a reason and a fresh passkey", Codes: []svc.Code{svc.CodeConflict, svc.CodePasskeyRequired, svc.CodeNotAvailable}, Handler: route.Typed(ai.approve),
		},
		{
			Surface: route.Console, Method: "GET", Path: "/apps/{org}/{app}/ai/members/{user}/actions", Operation: "console.ai.actions", Module: svc.ModuleAI, Scope: svc.ScopeRead, Permission: svc.PermAIUse, Role: svc.RoleAdmin, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List what was proposed to a member", Handler: route.Typed(ai.actions),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/ai/members/{user}/actions/{id}/revoke", Operation: "console.ai.revoke", Module: svc.ModuleAI, Scope: svc.ScopeWrite, Permission: svc.PermAIUse, Role: svc.RoleAdmin, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Deny an action that was proposed to a member", Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(ai.revoke),
		},
	}
}
