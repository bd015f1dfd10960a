import type { Refusal } from "../api/client";
import { t } from "../core/texts";

// advice suggests the next step after a refusal.
export function advice(error: Refusal): string {
  switch (error.code) {
    case "forbidden":
      return error.reason ? error.message : t.failures.forbidden;
    case "module_disabled":
      return t.failures.module;
    case "rate_limited":
      return t.failures.limit;
    case "query_timeout":
      return t.failures.slow;
    case "internal":
      return t.failures.internal;
  }
  return error.status === 0 && error.code === "" && error.message === "The service does not answer."
    ? t.failures.offline
    : error.message;
}

// Failure shows an error and the next step.
export function Failure({ error, again }: { error: Refusal; again?: () => void }) {
  const id = error.status >= 500 ? error.problem.requestId : undefined;
  return (
    <div class="failure" role="alert">
      <p>{advice(error)}</p>
      {id && <p class="quiet">{t.failures.request(id)}</p>}
      {again && (
        <button type="button" onClick={again}>
          {t.hints.retry}
        </button>
      )}
    </div>
  );
}
