// The addresses of all pages of the console. Pages about a single object use an object of the demo data.

// addresses returns the part of each address after the application. list returns the rows of a list of the demo data.
export async function addresses(list) {
  const first = async (path) => (await list(path))[0].id;
  const of = async (page, path) => page + "/" + (await first(path));
  return [
    "overview?range=90d", "events", "events?event=" + (await first("/events?limit=1")), "goals?range=90d", "funnels?range=90d", "retention?range=90d", "journeys?range=90d", "vitals?range=90d",
    "people", await of("people", "/people?stage=signup"), "segments", "companies", "errors?status=all", await of("errors", "/errors?status=all"), "releases", "releases/maps",
    "metrics", "metrics?name=http.duration", "monitors", await of("monitors", "/monitors"), "incidents?status=all", await of("incidents", "/incidents?status=all"),
    "alerts", "alerts/channels", "alerts/silences", "flags", ...["", "%2Fresults", "%2Fpreview", "%2Fhistory"].map((tab) => "flags/quick-board" + tab),
    "campaigns", await of("campaigns", "/campaigns"), "revenue?range=90d", "destinations", await of("destinations", "/destinations"), (await of("destinations", "/destinations")) + "%2Fsettings", "approvals",
    ...["application", "keys", "share", "reports", "team", "tokens", "passkeys", "assistant", "connector", "telemetry", "billing", "exclusions", "exports", "erasures", "ledger"].map((tab) => "settings/" + tab),
  ];
}
