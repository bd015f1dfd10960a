import * as Sentry from "@sentry/node";
import { checkout } from "./pay";

Sentry.init({ dsn: process.env.DSN, release: process.env.RELEASE, environment: "qa", serverName: "web-1" });
Sentry.setUser({ id: "u1", email: "ada@example.com" });
Sentry.setTag("plan", "pro");
Sentry.setExtra("cart", { items: 2 });
Sentry.addBreadcrumb({ category: "ui", message: "clicked" });
try {
  checkout([1, -Number(process.env.AMOUNT)]);
} catch (error) {
  Sentry.captureException(error);
}
if (process.env.MORE) {
  Sentry.captureMessage("disk is nearly full", "warning");
  void Promise.reject(new RangeError("nobody caught this"));
}
setTimeout(() => void Sentry.flush(5000).then(() => process.exit(0)), 100);
