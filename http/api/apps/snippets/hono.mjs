import * as Sentry from "@sentry/node";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { track } from "./svc.mjs";

const app = new Hono();
app.post("/orders", async (c) => {
  await track("order_placed", "user-42", { total: 19.9 });
  return c.body(null, 201);
});
app.onError((error, c) => {
  Sentry.captureException(error);
  return c.text("Internal error", 500);
});
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) });
