import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct } from "../../core/ask";
import { demoSite } from "../../core/demo";
import { useHere } from "../../core/me";
import { confirmed } from "../../core/passkey";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";

// Delete deletes an application, and for an owner the organization. The person must first type its name, except for a
// demo.
export function Delete() {
  const { at, app, org, administers } = useHere();
  if (!administers) return null;
  const demo = app.url === demoSite;
  const left = () => {
    location.hash = "";
    dispatchEvent(new Event("application"));
  };
  return (
    <section class="card" aria-labelledby="delete">
      <div class="head pad">
        <h2 id="delete">{t.deletion.title}</h2>
      </div>
      <One
        key={app.id}
        name={app.slug}
        lead={demo ? t.deletion.demo : t.deletion.app(app.name)}
        button={demo ? t.deletion.removeDemo : t.deletion.deleteApp}
        quick={demo}
        act={() => confirmed(() => call("delete", "/console/api/v1/apps/{org}/{app}", { path: at })).then(left)}
      />
      {org.role === "owner" && (
        <One
          name={org.slug}
          lead={t.deletion.org(org.name)}
          button={t.deletion.deleteOrg}
          act={() =>
            confirmed(() => call("delete", "/console/api/v1/orgs/{org}", { path: { org: org.slug } })).then(left)
          }
        />
      )}
    </section>
  );
}

function One({
  name,
  lead,
  button,
  quick,
  act,
}: {
  name: string;
  lead: string;
  button: string;
  quick?: boolean;
  act: () => Promise<void>;
}) {
  const [written, write] = useState("");
  const { busy, error, run } = useAct();
  const submit = (event: Event) => {
    event.preventDefault();
    if (quick || written === name) void run(act);
  };
  return (
    <form class="form" onSubmit={submit}>
      <p>{lead}</p>
      {!quick && (
        <Field label={t.deletion.write(name)}>
          <input
            required
            autocomplete="off"
            spellcheck={false}
            value={written}
            onInput={(event) => write(event.currentTarget.value)}
          />
        </Field>
      )}
      {error && <Failure error={error} />}
      <button class="danger" disabled={busy || (!quick && written !== name)}>
        {button}
      </button>
    </form>
  );
}
