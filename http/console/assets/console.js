// The page over the console's routes. Whatever comes from the service is shown as text.
"use strict";

const at = (id) => document.getElementById(id);
let session = "", app = "";

// ask sends a request and returns the answer's JSON; it fails with the service's words.
async function ask(method, path, body) {
  const headers = { authorization: "Bearer " + session };
  if (body !== undefined) headers["content-type"] = "application/json";
  const response = await fetch("/console/api/v1" + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await response.text();
  const answer = text === "" ? {} : JSON.parse(text);
  if (!response.ok) throw new Error(answer.detail ?? "The service answered " + response.status + ".");
  return answer;
}

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

// button does something, says how it ended, and shows everything anew.
function button(text, done, act) {
  const made = element("button", text);
  made.type = "button";
  made.addEventListener("click", () => attempt(done, act));
  return made;
}

async function attempt(done, act) {
  at("status").textContent = "…";
  try {
    const said = await act();
    await show();
    at("status").textContent = said ?? done;
  } catch (error) {
    at("status").textContent = error.message;
  }
}

// reasoned adds a reason to an entry and hands it to the buttons.
function reasoned(entry, ...buttons) {
  const reason = element("input");
  reason.setAttribute("aria-label", "Reason");
  reason.placeholder = "Reason";
  entry.append(reason, ...buttons.map((make) => make(() => reason.value)));
  return entry;
}

function described(row, more) {
  const lines = [more, ...row.preview.lines, "until " + row.expiresAt].filter(Boolean).join("\n");
  return element("li", "", element("strong", row.preview.title + " (" + row.effect + ")"), element("pre", lines));
}

async function register() {
  const { ceremony, options } = await ask("POST", "/me/passkeys/challenge");
  const credential = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
  await ask("POST", "/me/passkeys", { name: at("name").value, ceremony, credential: credential.toJSON() });
}

async function confirm(action, reason) {
  const path = "/apps/" + app + "/ai/actions/" + action.id;
  const { ceremony, options } = await ask("POST", path + "/challenge");
  const credential = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
  const answer = await ask("POST", path + "/approve", { reason, ceremony, credential: credential.toJSON() });
  return "The action is " + answer.action.status + ". " + answer.text;
}

async function decide(request, verb, reason) {
  const answer = await ask("POST", "/orgs/" + app.split("/")[0] + "/approvals/" + request.id + "/" + verb, { reason });
  return "The request is " + answer.status + (answer.sending ? ", and its sending " + answer.sending : "") + ".";
}

async function show() {
  const org = app.split("/")[0];
  const [passkeys, actions, requests] = await Promise.all([
    ask("GET", "/me/passkeys"), ask("GET", "/apps/" + app + "/ai/actions"), ask("GET", "/orgs/" + org + "/approvals"),
  ]);
  at("passkeys").replaceChildren(...passkeys.data.map((key) =>
    element("li", key.name + " for " + key.host + " ", button("Remove", "The passkey is removed.", () => ask("DELETE", "/me/passkeys/" + key.id).then(() => undefined)))));
  at("actions").replaceChildren(...actions.data.filter((row) => row.effect !== "external").map((row) =>
    reasoned(described(row), (reason) => button("Approve with a passkey", "", () => confirm(row, reason())))));
  at("requests").replaceChildren(...requests.data.map((row) => {
    const entry = described(row, row.requestedBy.name + " asked: " + row.question);
    if (!row.mayDecide) return entry;
    return reasoned(entry, (reason) => button("Send", "", () => decide(row, "approve", reason())), (reason) => button("Refuse", "", () => decide(row, "reject", reason())));
  }));
  document.querySelector("section").hidden = false;
}

at("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  session = at("session").value.trim();
  app = at("app").value.trim().split("/").map(encodeURIComponent).join("/");
  attempt("Signed in.", () => undefined);
});

at("register").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt("The passkey is registered.", register);
});
