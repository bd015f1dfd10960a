import * as Sentry from "@sentry/node";

// The second error is over the limit. The SDK does not send the third one, but sends a check-in.
Sentry.init({ dsn: process.env.DSN, release: "flood@1.0.0" });

async function main() {
  for (const n of [1, 2, 3]) {
    Sentry.captureMessage(`flood ${n}`, "error");
    await Sentry.flush(5000);
  }
  Sentry.captureCheckIn({ monitorSlug: "nightly", status: "ok" });
  await Sentry.flush(5000);
  process.exit(0);
}

void main();
