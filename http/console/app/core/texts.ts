// All texts of the console, in one place.
import type { Schema } from "../api/client";

export const t = {
  product: "svc",
  pages: {
    overview: "Overview", events: "Events", goals: "Goals", funnels: "Funnels", retention: "Retention", errors: "Errors", metrics: "Metrics", monitors: "Monitors", incidents: "Incidents", people: "People", alerts: "Alert rules", approvals: "Approvals", settings: "Settings", start: "Get started",
  } as Record<string, string>,
  hints: {
    loading: "Loading", retry: "Try again", close: "Close", cancel: "Cancel", save: "Save", saved: "Saved.", copy: "Copy", copied: "Copied", more: "Show more",
    none: "–", search: "Search", skip: "Skip to the content", navigation: "Pages", menu: "Account", back: "Back",
  },
  frame: {
    app: "Application", env: "Environment", range: "Range", live: (n: number) => n + (n === 1 ? " visitor now" : " visitors now"),
    palette: "go to a page or do something", theme: "Theme", themes: { auto: "As the system", light: "Light", dark: "Dark" } as Record<string, string>,
    signOut: "Sign out", zone: (zone: string) => "Times in " + zone, keys: "Keys: / searches, j and k move, Enter opens, Ctrl-K goes anywhere, ? shows this.", filters: "Filters", clear: "Clear all",
    remove: (filter: string) => "Remove the filter " + filter, noApp: "You have no application yet.", noAppHint: "Ask an administrator of your organization for a seat, or accept an invitation.",
    createApp: "Create an application", docs: "Documentation",
  },
  ranges: { today: "Today", yesterday: "Yesterday", "24h": "24 hours", "7d": "7 days", "30d": "30 days", "90d": "90 days", "12m": "12 months" } as Record<string, string>,
  failures: {
    offline: "The service does not answer. Check your connection; this page asks again when you do.", forbidden: "Your role does not permit this. An administrator of the organization can change it.",
    module: "This part of the application is switched off. An administrator switches it on in the settings.", limit: "Too many questions at once. Wait a moment, then try again.",
    slow: "The question took too long. Choose a shorter range or fewer filters.", internal: "Something went wrong in the service.", request: (id: string) => "Reference: " + id,
  },
  signin: {
    title: "Sign in", lead: "Your passkey knows who you are: no name, no password.", passkey: "Sign in with a passkey", waiting: "Waiting for your passkey…",
    lost: "No passkey yet, or lost it?", ask: "Whoever runs the service makes a link for you:", setup: "Signing you in…",
    setupFailed: "This link does not open the console.", offer: "Add a passkey", offerLead: "Next time a look, a finger or a number signs you in. The link that brought you here does not work again.",
    name: "Name of this device", add: "Add a passkey", later: "Not now", joinTitle: (org: string) => "Join " + org, join: "Accept with a passkey",
    joinLead: (by: string, role: string, email: string) => (by ? by + " invites " : "You invite ") + email + " as " + role + ". Your passkey stays on this device; the service keeps only its public half.",
    unsupported: "This browser knows no passkeys. Use a current Chrome, Edge, Firefox or Safari.", insecure: "Passkeys need a name. Open the console as localhost, or under the address in SVC_PUBLIC_URL.",
    known: "You are known here. Sign in, and the invitation is accepted.", cancelled: "The passkey was not used. Try again when you are ready.",
  },
  start: {
    title: "Send your first event", lead: "Put this into your application. The page moves on by itself when the first event arrives.", framework: "Framework",
    frameworks: { html: "Web page", react: "React", nextjs: "Next.js", node: "Node.js", express: "Express", hono: "Hono" } as Record<string, string>,
    key: "Make a key for this snippet", keyHint: "A public key sends events and reads nothing. It is shown now and never again.", waiting: "Waiting for the first event…", arrived: "It is here.",
    demo: "Nothing to send yet?", demoLead: "Look at an application that is full: 90 days of an invented product, in an application of its own.", demoFill: "Fill the demo", demoName: "Demo",
    test: "Send a test event from this page", testHint: "It appears as a page view of /hello.", keyNeeded: "Make a key first; the snippet then has it.", noRight: "Keys are made by an administrator. Ask for one, and put it into the snippet.",
  },
  overview: {
    visitors: "Visitors", pageviews: "Page views", sessions: "Sessions", bounceRate: "Bounce rate", avgDurationMs: "Visit time", conversions: "Conversions", events: "Events",
    chart: (metric: string) => metric + " over time", table: "The numbers as a table", time: "Time", previous: "against the time before", capped: "Filters reach back 90 days at most; the numbers are of those.",
    nothing: "Nothing in this range.", empty: "No visits in this range.", emptyHint: "Choose a longer range, or another environment.", rows: "Visitors",
    panels: { pages: "Pages", sources: "Sources", places: "Places", devices: "Devices", events: "Events" } as Record<string, string>,
    dimensions: {
      path: "Page", entry_path: "Entry", exit_path: "Exit", source: "Source", referrer_domain: "Referrer", medium: "Medium", utm_campaign: "Campaign", utm_source: "UTM source",
      country: "Country", region: "Region", city: "City", device: "Device", browser: "Browser", os: "System", event: "Event", utm_medium: "UTM medium", utm_term: "UTM term", utm_content: "UTM content",
    } as Record<string, string>,
    interval: { hour: "Hours", day: "Days", week: "Weeks", month: "Months" } as Record<string, string>, unknown: "(not known)",
  },
  events: {
    search: "Search events", names: "Event", all: "All events", empty: "No events match.", emptyHint: "Change the search, or send an event.", follow: "Live", time: "Time", name: "Name", page: "Page", who: "Who", place: "Place",
    details: "Event", properties: "Properties", fields: "Fields", noProperties: "This event has no properties.", choose: "Choose an event to see all of it.",
  },
  errors: {
    search: "Search issues", empty: "No issues here.", emptyHint: "Errors that your application reports appear here, grouped by their cause.", sort: "Sort by",
    sorts: { last_seen: "Last seen", first_seen: "First seen", count: "Events", users: "People" } as Record<string, string>,
    statuses: { open: "Open", regressed: "Regressed", ignored: "Ignored", resolved: "Resolved", all: "All" } as Record<Schema["Issue"]["status"] | "all", string>,
    resolve: "Resolve", ignore: "Ignore", reopen: "Reopen", chosen: (n: number) => n + " chosen", choose: (title: string) => "Choose " + title, chooseAll: "Choose all on this page", issue: "Issue", events: "Events", users: "People", last: "Last seen", first: "First seen",
    stack: "Stack", breadcrumbs: "Breadcrumbs", tags: "Tags", releases: "Releases", request: "Request", extra: "More", occurrence: (n: number, of: string) => "Occurrence " + n + " of " + of, older: "Older", newer: "Newer",
    assign: "Assign to", nobody: "Nobody", merge: "Merge", mergeConfirm: (n: number) => "Merge " + n + " issues into the first one?", merged: (n: number) => n + " issues are one.", parts: "Merged issues", separate: "Separate", done: (n: number) => n + (n === 1 ? " issue is changed." : " issues are changed."), failed: (n: number, why: string) => n + " could not be changed: " + why,
    activity: {
      title: "Activity", write: "Write a comment", send: "Comment", none: "Nobody has decided or written anything yet.", comment: "wrote", status: (status: string) => "made it " + status.toLowerCase(), assigned: "assigned it", unassigned: "took it from its owner",
      regression: (release: string) => "It happened again" + (release ? " in " + release : ""), merged: "merged another issue into it", unmerged: "separated an issue from it",
    },
    outside: (n: number) => n + (n === 1 ? " library frame" : " library frames"), noStack: "This occurrence has no stack.", unmapped: "Not mapped: ", daily: "Events per day", changed: (title: string, status: string) => title + " is " + status + ".", spark: (numbers: number[]) => "Last 7 days: " + numbers.join(", "), context: "Where",
  },
  goals: {
    title: "Goals", empty: "No goals yet.", emptyHint: "A goal counts a page or an event that matters: a sign-up, an order.", name: "Name", kind: "Counts", kinds: { event: "Event", path: "Page" } as Record<string, string>,
    match: "Match", add: "Add a goal", value: "Value", conversions: "Conversions", visitors: "Visitors", remove: "Delete", confirm: (name: string) => "Delete the goal " + name + "? Its past conversions are no longer counted.", deleted: "(deleted)", matchHint: "The name of an event, or a path; /blog* takes all paths that begin so.",
  },
  funnels: {
    empty: "No funnels yet.", emptyHint: "A funnel shows how many people go from one step to the next, and where they stop.", name: "Name", add: "Make a funnel", step: (n: number) => "Step " + n, kind: (n: number) => "Kind of step " + n, match: (n: number) => "Match of step " + n,
    addStep: "Add a step", removeStep: (n: number) => "Remove step " + n, up: (n: number) => "Move step " + n + " up", window: "Within", windows: { 1: "1 hour", 24: "1 day", 168: "7 days", 720: "30 days" } as Record<number, string>, entered: "Entered", converted: "Went on", rate: "Rate", dropOff: "Stopped", median: "Median time", whole: (rate: string) => rate + " went all the way",
    remove: "Delete", confirm: (name: string) => "Delete the funnel " + name + "?", choose: "Funnel", capped: "Filters reach back 90 days at most; the numbers are of those.",
  },
  retention: {
    cohort: "First seen", size: "Visitors", empty: "Nobody came back yet.", emptyHint: "Choose a longer range; a cohort is everybody who was first seen in the same week or month.", by: "Cohorts of a", bys: { week: "Week", month: "Month" } as Record<string, string>,
    table: "How many came back, by the time since they were first seen", cell: (share: string, n: string) => share + ", " + n,
  },
  metrics: {
    name: "Metric", agg: "Value", empty: "No metrics yet.", emptyHint: "Send numbers over the API, OTLP or Prometheus remote write, and they appear here.", search: "Search metrics", series: (n: number) => n + " series", kinds: { counter: "counter", gauge: "gauge", histogram: "histogram" } as Record<string, string>,
    ranges: { "1h": "1 hour", "6h": "6 hours", "24h": "24 hours", "7d": "7 days", "30d": "30 days", "90d": "90 days" } as Record<string, string>, summary: { avg: "Average", min: "Least", max: "Most", sum: "Sum", count: "Points" } as Record<string, string>, groupBy: "Divide by", whole: "Nothing", choose: "Choose a metric to see its course.", groups: "Largest", last: "Value",
  },
  monitors: {
    empty: "No monitors yet.", emptyHint: "A monitor asks an address again and again, and tells when the answer is not the one that you want.", name: "Name", status: "Status", uptime: "30 days", latency: "Latency", checked: "Checked", url: "Address", every: "Every", seconds: (n: number) => (n % 60 === 0 ? n / 60 + " min" : n + " s"),
    add: "Add a monitor", expected: "Expected status", statuses: { up: "Up", down: "Down" } as Record<string, string>, pending: "Waiting for the first check", off: "Off", remove: (name: string) => "Delete the monitor " + name + "? Its checks end.", delete: "Delete", urlHint: "A public http or https address.",
  },
  incidents: {
    statuses: { open: "Open", acknowledged: "Acknowledged", resolved: "Resolved", all: "All" } as Record<string, string>, empty: "No incidents here.", emptyHint: "An incident opens when an alert rule fires, and ends when it recovers.", title: "Incident", began: "Began", rule: "Rule", severity: "Severity",
    acknowledge: "Acknowledge", resolve: "Resolve", by: (who: string) => "by " + who, lasted: (text: string) => "lasted " + text, issue: "See the issue",
  },
  approvals: {
    own: "Proposed to you", ownHint: "What the assistant or an agent wants to change waits for you here.", outside: "Requests to the outside", outsideHint: "What leaves the service is decided by a second member.",
    empty: "Nothing waits.", reason: "Reason", approve: "Approve with a passkey", reject: "Reject", send: "Send", refuse: "Refuse", until: "until", asked: (who: string, what: string) => who + " asked: " + what, done: (status: string) => "The action is " + status + ".",
    effects: { read: "read", write: "change", destructive: "cannot be undone", external: "leaves the service" } as Record<string, string>, request: (status: string) => "The request is " + status + ".", needsReason: "Say why first.",
  },
  settings: {
    tabs: { application: "Application", keys: "Keys and install", share: "Share and embed", team: "Team", tokens: "Tokens", passkeys: "Passkeys", assistant: "Assistant", ledger: "Ledger" } as Record<string, string>,
    name: "Name", timezone: "Time zone", timezoneHint: "Days begin at midnight of this zone.", retention: "Days that events are kept", retentionHint: "Fewer days hide at once and delete within a day.", origins: "Allowed origins", originsHint: "One a line. Public keys serve pages of these origins; * serves all.",
    readOnly: "Only administrators change this.", keys: "Keys", newKey: "Make a key", kind: "Kind", kinds: { public: "Public", secret: "Secret" } as Record<string, string>, kindHint: "Public keys are safe in a browser. Secret keys belong on servers.", label: "Label", revoke: "Revoke", revokeKey: (label: string) => "Revoke the key " + label + "? What sends with it is refused from now on.",
    once: "Copy it now; it is never shown again.", noKeys: "No keys yet.", noRight: "Keys are for administrators.", created: "Made", ends: "…", team: "Members", invite: "Invite", email: "E-mail address", role: "Role", roles: { owner: "Owner", admin: "Administrator", member: "Member", viewer: "Viewer" } as Record<string, string>,
    link: "Send this link to the person. It ends in a passkey, works once, and is over in 72 hours.", invited: "Invited until ", remove: "Remove", removeMember: (who: string) => "Remove " + who + "? The person is out at the next request.", you: "you",
    tokens: "Personal tokens", newToken: "Make a token", scopes: "May", scopeNames: { read: "Read", write: "Write", admin: "Administer" } as Record<string, string>, lastUsed: "Last used", never: "Never", expires: "Ends", noTokens: "No tokens yet.", revokeToken: (name: string) => "Revoke the token " + name + "? Programs that use it are refused from now on.", tokenHint: "A token opens the API for programs that act as you. It ends after 90 days.",
    passkeys: "Passkeys", passkeysHint: "Each device has one of its own. Passkeys are added and removed within ten minutes of signing in.", addPasskey: "Add a passkey", removePasskey: (name: string) => "Remove the passkey " + name + "? It no longer signs you in.", host: "For", noPasskeys: "No passkey yet.",
    install: "Install",
  },
  palette: { placeholder: "Page, application, range, action…", none: "Nothing of that name.", page: "Page", app: "Application", range: "Range", action: "Action" },
  assistant: {
    title: "Assistant", open: "Ask the assistant", question: "Ask about this application", ask: "Ask", lead: "It reads what you may read, and knows which page you look at. What it wants to change waits for you.", conversations: "Conversations", conversation: "Conversation",
    fresh: "New conversation", thinking: "Thinking…", called: (tool: string) => "Called " + tool, approve: "Approve", withdraw: "Withdraw", outside: "This leaves the service: a second member decides, under Approvals.", rejected: "Not wanted.",
    examples: ["Which pages lost visitors this week?", "What broke in the last release?", "Where do people leave the funnel?"],
    statuses: { executed: "Done", rejected: "Rejected", failed: "Failed", expired: "Expired", approved: "Approved", revoked: "Revoked" } as Record<string, string>,
  },
  people: {
    search: "Search people", empty: "Nobody here yet.", emptyHint: "People appear when your application sends events of them; identify tells who they are.", person: "Person", stage: "Stage", allStages: "All stages", source: "First source", place: "Place", last: "Last seen", first: "First seen",
    sessions: "Sessions", events: "Events", pageviews: "Page views", unknown: "Not identified", stages: { visitor: "Visitor", lead: "Lead", signup: "Signed up", activated: "Activated", paying: "Paying", churned: "Churned" } as Record<string, string>,
    automatic: (stage: string) => "By the rules: " + stage, profile: "Profile", tags: "Tags", tag: "Add", newTag: "New tag", untag: (tag: string) => "Remove the tag " + tag, traits: "Traits", crm: "Fields", from: "Where from", medium: "Medium", campaign: "Campaign", landing: "First page", lastSource: "Last source", device: "Device", ids: "Ids",
    timeline: "Timeline", kinds: { "": "All", event: "Events", activity: "Notes and changes", error: "Errors" } as Record<string, string>, note: "Write a note", addNote: "Add the note", nothing: "Nothing of this kind.", merge: "Another record of this person", mergeSearch: "Find the other record", mergeConfirm: (other: string, into: string) => "Merge " + other + " with " + into + "? This cannot be undone.",
  },
  alerts: {
    empty: "No alert rules yet.", emptyHint: "A rule watches a number and opens an incident when it is crossed.", name: "Name", kind: "Watches", state: "State", threshold: "Threshold", value: "Now", channels: "Channels", add: "Add a rule", save: "Save the rule", edit: "Change", change: (name: string) => "Change " + name, delete: "Delete", remove: (name: string) => "Delete the rule " + name + "? Its incidents stay.", on: "On", off: "Off",
    kinds: { metric: "A metric", uptime: "A monitor", vital: "A web vital", error_rate: "Errors", event_volume: "Events", new_issue: "New issues" } as Record<string, string>, states: { ok: "Fine", pending: "Crossed", firing: "Firing", no_data: "No data" } as Record<string, string>,
    comparators: { gt: "above", gte: "at or above", lt: "below", lte: "at or below", eq: "equal to", neq: "other than" } as Record<string, string>, comparator: "Fires when it is", window: "Over the last", minutes: (n: number) => n + " min", severity: "Severity", severities: { info: "Info", warning: "Warning", critical: "Critical" } as Record<string, string>,
    metric: "Metric", agg: "Value of the metric", monitor: "Monitor", vital: "Vital", event: "Name of the event; empty counts all", lasting: "For at least (minutes)", level: "Level; empty counts all", tell: "Tell", tabs: { rules: "Rules", channels: "Channels" } as Record<string, string>,
    noChannels: "No channels yet.", channelHint: "A channel is where notices go: a webhook, a chat, e-mail.", channelKinds: { webhook: "Webhook", slack: "Chat (Slack)", email: "E-mail" } as Record<string, string>, addChannel: "Add a channel", channelKind: "Kind", url: "Address", to: "E-mail addresses, one a line", test: "Send a test", tested: "The test arrived.", removeChannel: (name: string) => "Delete the channel " + name + "? Rules no longer tell it.",
    secret: "This signs the notices of the webhook. It is shown now and never again.",
  },
  ai: {
    title: "Rules of the assistant", spent: (input: string, output: string) => "This month: " + input + " tokens read, " + output + " written.", scope: "Most that it may do", scopes: { "": "What the person may", read: "Read", write: "Write", admin: "Administer" } as Record<string, string>, effects: "Never do", budget: "Tokens a month", budgetHint: "0 pauses the assistant; empty sets no limit.", tools: "Tools that it never gets", toolsHint: "One a line, as the ledger names them: goals_create.",
    credential: "Credential", own: (provider: string, last4: string) => "The organization's own: " + provider + ", …" + last4, platform: "The platform's credential is used.", provider: "Provider", model: "Model", modelHint: "Empty takes the provider's default.", key: "API key", keyHint: "It is kept sealed and never shown again.", put: "Use this credential", drop: "Remove it", dropConfirm: "Remove the organization's credential?", noRight: "The rules of the assistant are for administrators.",
  },
  share: {
    title: "Public page", lead: "A page of the overview that everybody with the link may read.", publish: "Publish", unpublish: "Unpublish", confirmOff: "Unpublish? Every link ends at once.", rotate: "New links", confirmRotate: "Make new links? The old ones end at once.", link: "Link", embed: "To embed in your site", shows: "Shows",
    parts: { pages: "Pages", campaigns: "Campaigns", locations: "Places", browsers: "Devices and browsers" } as Record<string, string>, hidden: "Paths that stay private", hiddenHint: "One a line; /admin* hides all paths that begin so.", off: "Not published.", noRight: "Only administrators publish.",
  },
  ledger: {
    title: "Ledger", kind: "What", who: "Who", at: "When", subject: "Of", empty: "Nothing yet.", check: "Check the chain", intact: (n: number) => "The chain of " + n + " entries is whole.", broken: (at: number) => "The chain is broken at entry " + at + ".", noRight: "The ledger is for administrators.", details: "Details",
  },
};
