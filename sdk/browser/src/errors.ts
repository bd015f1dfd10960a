import type { Values } from "./options";

/** A loop that throws in every round reports the first of them. */
const errorsPerPage = 30;

/** Returns the members of an error item for what was thrown. */
export function describe(thrown: unknown): Values {
  const error = thrown as Partial<Error> | undefined;
  if (typeof error?.message === "string") return { name: error.name, message: error.message, stack: error.stack };
  let message = String(thrown);
  if (typeof thrown === "object") {
    try {
      message = JSON.stringify(thrown).slice(0, 1000);
    } catch {
      // It refers to itself.
    }
  }
  return { name: "Error", message };
}

/** Reports errors and rejections that nobody caught. */
export function watchErrors(report: (members: Values) => void) {
  let left = errorsPerPage;
  const tell = (thrown: unknown, mechanism: string, more?: Values) => {
    if (left-- > 0) report({ ...describe(thrown), ...more, handled: false, mechanism });
  };
  addEventListener("error", (event) => {
    // What a script of another origin throws is kept from the page, and a loop of a ResizeObserver harms nobody.
    if (!event.message || /^(Script error|ResizeObserver loop)/.test(event.message)) return;
    const at = event.error ? undefined : { message: event.message, stack: `    at ${event.filename}:${event.lineno}:${event.colno}` };
    tell(event.error ?? event.message, "onerror", at);
  });
  addEventListener("unhandledrejection", (event) => tell(event.reason, "onunhandledrejection"));
}
