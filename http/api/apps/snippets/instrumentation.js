// Errors of the server. npm install @sentry/node
export async function register() {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const Sentry = await import("@sentry/node");
  Sentry.init({ dsn: process.env.SVC_DSN, environment: "{{.Environment}}" }); // {{.DSN}}
}

// Next.js calls this with what a request failed of.
export async function onRequestError(error) {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const Sentry = await import("@sentry/node");
  Sentry.captureException(error);
}
