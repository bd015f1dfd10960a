import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Modules } from "../../parts/Modules";
import { Zone } from "../../parts/Zone";

// Application edits the name, the days, the origins and the modules of an application.
export function Application() {
  const { at, app, may } = useHere();
  const writes = may("apps.write");
  const [name, setName] = useState(app.name),
    [timezone, setTimezone] = useState(app.timezone);
  const [days, setDays] = useState(String(app.retentionDays)),
    [origins, setOrigins] = useState(app.allowedOrigins.join("\n")),
    [modules, setModules] = useState(app.modules),
    [requireUserHash, prove] = useState(app.requireUserHash);
  const [personal, setPersonal] = useState(app.personalFields.join("\n"));
  const [saved, tell] = useState(false);
  const { busy, error, run } = useAct();
  const save = async (event: Event) => {
    event.preventDefault();
    tell(false);
    const allowedOrigins = origins.split(/\s+/).filter(Boolean);
    const personalFields = personal
      .split("\n")
      .map((name) => name.trim())
      .filter(Boolean);
    const body = {
      name,
      timezone,
      retentionDays: Number(days),
      allowedOrigins,
      modules,
      requireUserHash,
      personalFields,
    };
    if (await run(() => call("patch", "/api/v1/apps/{org}/{app}", { path: at, body }))) {
      tell(true);
      dispatchEvent(new Event("application"));
    }
  };
  return (
    <form class="card form" onSubmit={(event) => void save(event)}>
      {!writes && <p class="quiet">{t.settings.readOnly}</p>}
      <Field label={t.settings.name}>
        <input required disabled={!writes} value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <Zone value={timezone} choose={setTimezone} disabled={!writes} />
      <Field label={t.settings.retention} hint={t.settings.retentionHint}>
        <input
          type="number"
          min={1}
          required
          disabled={!writes}
          value={days}
          onInput={(event) => setDays(event.currentTarget.value)}
        />
      </Field>
      <Field label={t.settings.origins} hint={t.settings.originsHint}>
        <textarea
          rows={4}
          disabled={!writes}
          value={origins}
          onInput={(event) => setOrigins(event.currentTarget.value)}
        />
      </Field>
      <div class="field">
        <label class="check">
          <input
            type="checkbox"
            disabled={!writes}
            checked={requireUserHash}
            onChange={(event) => prove(event.currentTarget.checked)}
          />{" "}
          {t.settings.userHash}
        </label>
        <small>{t.settings.userHashHint}</small>
      </div>
      <Field label={t.settings.personalFields} hint={t.settings.personalFieldsHint}>
        <textarea
          rows={3}
          disabled={!writes}
          value={personal}
          onInput={(event) => setPersonal(event.currentTarget.value)}
        />
      </Field>
      <Modules chosen={modules} choose={setModules} disabled={!writes} />
      {error && <Failure error={error} />}
      {writes && (
        <div class="bulk">
          <button class="primary" disabled={busy}>
            {t.hints.save}
          </button>
          <span role="status" class="quiet">
            {saved && t.hints.saved}
          </span>
        </div>
      )}
    </form>
  );
}
