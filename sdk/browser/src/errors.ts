import type { Values } from "./options";

/** A loop that throws in every round reports only this number of errors. */
const errorsPerPage = 30;

/** Returns the members of an error item for a thrown value. */
export function describe(thrown: unknown): Values {
  const error = thrown as Partial<Error> | undefined;
  if (typeof error?.message === "string") return { name: error.name, message: error.message, stack: error.stack };
  let message = String(thrown);
  if (typeof thrown === "object") {
    try {
      message = JSON.stringify(thrown).slice(0, 1000);
    } catch {
      // The value refers to itself.
    }
  }
  return { name: "Error", message };
}

/** Reports uncaught errors and rejections. */
export function watchErrors(report: (members: Values) => void) {
  let left = errorsPerPage;
  const tell = (thrown: unknown, mechanism: string, more?: Values) => {
    if (left-- > 0) report({ ...describe(thrown), ...more, handled: false, mechanism });
  };
  addEventListener("error", (event) => {
    // The browser hides errors of scripts of other origins from the page, and a loop of a ResizeObserver is harmless.
    if (!event.message || /^(Script error|ResizeObserver loop)/.test(event.message)) return;
    const at = event.error
      ? undefined
      : { message: event.message, stack: `    at ${event.filename}:${event.lineno}:${event.colno}` };
    tell(event.error ?? event.message, "onerror", at);
  });
  addEventListener("unhandledrejection", (event) => tell(event.reason, "onunhandledrejection"));
}
