// Published verifiers of webhooks accept the unchanged webhooks of a real server.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import Stripe from "stripe";
import { call, start, until } from "../browser/server.mjs";

const path = "/console/api/v1/apps/acme/web/destinations";
const stripe = new Stripe("sk_test_none");
const requests = [];
let server, receiver, destination;

before(async () => {
  receiver = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      requests.push({ headers: request.headers, body: Buffer.concat(parts).toString("utf8") });
      response.writeHead(204).end();
    });
  });
  await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
  server = await start({ SVC_MONITOR_ALLOW: "127.0.0.1" });
  destination = await call(server, server.session, "POST", path, {
    kind: "webhook",
    name: "Shop",
    config: { url: `http://127.0.0.1:${receiver.address().port}/hook` },
    mapping: [{ event: "purchase", destinationEvent: "Purchase", valueProperty: "total", currency: "EUR" }],
  });
});

after(async () => {
  await server?.stop();
  receiver?.closeAllConnections();
  receiver?.close();
});

// delivered sends a conversion and returns the webhook request for it.
async function delivered(id) {
  await call(server, server.secret, "POST", "/api/v1/batch", {
    items: [{ type: "event", id, name: "purchase", distinctId: "zoë", properties: { total: 12.5, note: "für Zoë ✓" } }],
  });
  return until(`the webhook has ${id}`, () => requests.find((one) => one.headers["webhook-id"] === id));
}

test("Standard Webhooks", async () => {
  const { headers, body } = await delivered("order-1");
  const payload = new Webhook(destination.secret).verify(body, headers);
  assert.equal(payload.event.id, "order-1");
  assert.equal(payload.event.properties.note, "für Zoë ✓");
  assert.throws(
    () => new Webhook(destination.secret).verify(body.replace("12.5", "99.5"), headers),
    WebhookVerificationError,
  );
  assert.throws(
    () => new Webhook("whsec_" + Buffer.alloc(32).toString("base64")).verify(body, headers),
    WebhookVerificationError,
  );
});

test("Stripe's constructEvent", async () => {
  const { headers, body } = await delivered("order-2");
  const header = headers["x-svc-signature"];
  const payload = stripe.webhooks.constructEvent(body, header, destination.secret);
  assert.equal(payload.type, "destination.event");
  assert.equal(payload.event.id, "order-2");
  assert.throws(
    () => stripe.webhooks.constructEvent(body + " ", header, destination.secret),
    Stripe.errors.StripeSignatureVerificationError,
  );
  assert.throws(
    () => stripe.webhooks.constructEvent(body, header, "whsec_other"),
    Stripe.errors.StripeSignatureVerificationError,
  );
});

test("both secrets of a rotation", async () => {
  const changed = await call(server, server.session, "PUT", `${path}/${destination.id}/credential`, {});
  const { headers, body } = await delivered("order-3");
  for (const secret of [destination.secret, changed.secret]) {
    assert.equal(new Webhook(secret).verify(body, headers).event.id, "order-3");
    assert.equal(stripe.webhooks.constructEvent(body, headers["x-svc-signature"], secret).event.id, "order-3");
  }
});
