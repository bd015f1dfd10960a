// Published clients of the Model Context Protocol send requests to a running server, over HTTP and over standard input
// and output. It prints the results of each client.
import { Client as Client2, StreamableHTTPClientTransport as HTTP2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HTTP1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { SVC_URL, SVC_TOKEN, SVC_BINARY, ISSUE, EVENT } = process.env;
const me = { name: "test", version: "1" };
const headers = { requestInit: { headers: { Authorization: `Bearer ${SVC_TOKEN}` } } };
const stdio = { command: SVC_BINARY, args: ["mcp"], env: { SVC_URL, SVC_TOKEN }, stderr: "inherit" };
const auto = { versionNegotiation: { mode: "auto" } };
const url = () => new URL(SVC_URL + "/mcp");

const variants = {
  "sdk 1, http": [() => new Client1(me), () => new HTTP1(url(), headers)],
  "client 2, http": [() => new Client2(me), () => new HTTP2(url(), headers)],
  "client 2, http, automatic": [() => new Client2(me, auto), () => new HTTP2(url(), headers)],
  "sdk 1, stdio": [() => new Client1(me), () => new Stdio1(stdio)],
  "client 2, stdio": [() => new Client2(me), () => new Stdio2(stdio)],
  "client 2, stdio, automatic": [() => new Client2(me, auto), () => new Stdio2(stdio)],
};

// refused returns the error that a client throws.
async function refused(promise) {
  try {
    await promise;
    return "nothing";
  } catch (error) {
    return error.code ?? error.name;
  }
}

async function ask(client) {
  const call = (name, args) => client.callTool({ name, arguments: args });
  const { tools } = await client.listTools();
  const found = await call("find_tools", { query: "raw event feed", limit: 1 });
  const overview = await call("analytics_overview", { app: "acme/web", range: "24h" });
  const events = await call("call_read", { tool: found.structuredContent.tools[0].name, arguments: { limit: 1 } });
  const issue = await call("get_error", { issueId: ISSUE });
  const occurrence = await call("get_error", { issueId: ISSUE, eventId: EVENT });
  const invalid = await call("analytics_overview", { range: "eternity" });
  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();
  const page = await client.readResource({ uri: "svc://docs/mcp" });
  return {
    server: client.getServerVersion().name, instructed: client.getInstructions().endsWith("Applications: acme/web."),
    tools: tools.map((tool) => tool.name), readOnly: tools.filter((tool) => tool.annotations.readOnlyHint).length,
    found: found.structuredContent.tools[0].name, pageviews: overview.structuredContent.data.pageviews,
    text: JSON.stringify(JSON.parse(overview.content[0].text)) === JSON.stringify(overview.structuredContent),
    event: events.structuredContent.data.data[0].name, issue: issue.structuredContent.data.title, occurrence: occurrence.structuredContent.data.id === EVENT,
    invalid: [invalid.isError, invalid.structuredContent.data.errors[0].field],
    listed: resources.some((resource) => resource.uri === "svc://docs/mcp"), template: resourceTemplates[0].uriTemplate,
    page: [page.contents[0].mimeType, page.contents[0].text.split("\n")[0]],
    noTool: await refused(call("no_such_tool", {})), noPage: await refused(client.readResource({ uri: "svc://docs/none" })),
  };
}

const answers = {};
for (const [name, [client, transport]] of Object.entries(variants)) {
  const one = client(), by = transport();
  await one.connect(by);
  answers[name] = { ...(await ask(one)), version: one.getNegotiatedProtocolVersion?.() ?? by.protocolVersion ?? "", session: by.sessionId ?? "" };
  await one.close();
}
const stranger = new Client2(me, auto);
answers.stranger = await refused(stranger.connect(new HTTP2(url(), { requestInit: { headers: { Authorization: "Bearer svc_pat_wrong" } } })));
console.log(JSON.stringify(answers));
