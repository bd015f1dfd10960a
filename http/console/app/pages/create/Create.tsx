import { useState } from "preact/hooks";
import { call, type Schema } from "../../api/client";
import { useAct } from "../../core/ask";
import { hashOf } from "../../core/place";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Modules, usual, type Module } from "../../parts/Modules";
import { Zone } from "../../parts/Zone";
import { Door } from "../signin/Door";

// Create makes an application in an organization of the person, or in a new one, and passes its address to created.
export function Create({
  me,
  created,
  back,
}: {
  me: Schema["Identity"];
  created: (hash: string) => void;
  back?: string;
}) {
  const orgs = me.organizations.filter((one) => one.permissions.includes("apps.write"));
  const [org, choose] = useState(orgs[0]?.slug ?? ""),
    [orgName, setOrgName] = useState("");
  const [name, setName] = useState(""),
    [platform, setPlatform] = useState("web"),
    [url, setURL] = useState("");
  const [timezone, setTimezone] = useState(Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC"),
    [modules, setModules] = useState<Module[]>(usual);
  const { busy, error, run } = useAct();
  const create = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      let slug = org;
      if (!slug) {
        slug = (await call("post", "/console/api/v1/orgs", { body: { name: orgName } })).slug;
        choose(slug); // a later step may fail, and is then repeated within this organization
      }
      const app = await call("post", "/api/v1/orgs/{org}/apps", {
        path: { org: slug },
        body: { name, platform: platform as never, ...(url ? { url } : {}), timezone, modules },
      });
      created(hashOf({ org: slug, app: app.slug, page: "overview", rest: "", query: new URLSearchParams() }));
    });
  };
  const known = orgs.some((one) => one.slug === org);
  return (
    <Door title={t.create.title}>
      <form class="form" onSubmit={create}>
        <Field label={t.create.org}>
          <select value={org} onChange={(event) => choose(event.currentTarget.value)}>
            {orgs.map((one) => (
              <option key={one.slug} value={one.slug}>
                {one.name}
              </option>
            ))}
            {org && !known && <option value={org}>{orgName}</option>}
            <option value="">{t.create.newOrg}</option>
          </select>
        </Field>
        {!org && (
          <Field label={t.create.orgName} hint={t.create.orgHint}>
            <input
              required
              autocomplete="organization"
              value={orgName}
              onInput={(event) => setOrgName(event.currentTarget.value)}
            />
          </Field>
        )}
        <Field label={t.create.name}>
          <input required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
        <Field label={t.create.platform}>
          <select value={platform} onChange={(event) => setPlatform(event.currentTarget.value)}>
            {Object.entries(t.create.platforms).map(([key, text]) => (
              <option key={key} value={key}>
                {text}
              </option>
            ))}
          </select>
        </Field>
        <Field label={t.create.url} hint={t.create.urlHint}>
          <input type="url" placeholder="https://" value={url} onInput={(event) => setURL(event.currentTarget.value)} />
        </Field>
        <Zone value={timezone} choose={setTimezone} />
        <Modules chosen={modules} choose={setModules} />
        {error && <Failure error={error} />}
        <div class="bulk">
          <button class="primary" disabled={busy}>
            {t.create.create}
          </button>
          {back && <a href={back}>{t.hints.cancel}</a>}
        </div>
      </form>
    </Door>
  );
}
