import * as Sentry from "@sentry/node";
import express from "express";
import { track } from "./svc.mjs";

const app = express();
app.post("/orders", async (request, response) => {
  await track("order_placed", "user-42", { total: 19.9 });
  response.sendStatus(201);
});
Sentry.setupExpressErrorHandler(app);
app.listen(process.env.PORT ?? 3000);
