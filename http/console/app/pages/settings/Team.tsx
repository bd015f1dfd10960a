import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { useAct, useAsk } from "../../core/ask";
import { when } from "../../core/format";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { Field } from "../../parts/Field";
import { Secret } from "../../parts/Secret";

type Role = "owner" | "admin" | "member" | "viewer";
const roles = ["viewer", "member", "admin", "owner"] as Role[];

// Team lists the members of the organization, and the invited people.
export function Team() {
  const { at, app, me, org, administers } = useHere();
  const list = useAsk(at.org, (signal) =>
    call("get", "/console/api/v1/orgs/{org}/members", { path: { org: at.org }, query: { limit: 200 }, signal }),
  );
  const [email, setEmail] = useState(""),
    [role, setRole] = useState<Role>("member"),
    [link, keep] = useState(""),
    [mailed, told] = useState("");
  const inviting = useAct(),
    changing = useAct();
  const invite = async (event: Event) => {
    event.preventDefault();
    const done = await inviting.run(async () => {
      const made = await call("post", "/console/api/v1/orgs/{org}/invitations", {
        path: { org: at.org },
        body: { email, role } as never,
      });
      keep(made.link);
      told(made.mailed ? email : "");
    });
    if (done) setEmail("");
    list.again();
  };
  const change = (address: string, next: Role) =>
    void changing.run(async () => {
      await call("put", "/console/api/v1/orgs/{org}/members/{email}", {
        path: { org: at.org, email: address },
        body: { role: next } as never,
      });
      list.again();
    });
  const remove = (address: string) =>
    confirm(t.settings.removeMember(address)) &&
    void changing.run(async () => {
      await call("delete", "/console/api/v1/orgs/{org}/members/{email}", { path: { org: at.org, email: address } });
      list.again();
    });
  const mayGive = roles.filter((one) => one !== "owner" || org.role === "owner");
  return (
    <section class="card list" aria-labelledby="team">
      <div class="head pad">
        <h2 id="team">{t.settings.team}</h2>
      </div>
      {changing.error && <Failure error={changing.error} />}
      {list.error ? (
        <Failure error={list.error} again={list.again} />
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t.settings.email}</th>
              <th scope="col">{t.settings.role}</th>
              {administers && (
                <th class="tick">
                  <span class="hidden">{t.settings.remove}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {list.data?.data.map((seat) => {
              const own = seat.user.id === me.user?.id;
              return (
                <tr key={seat.user.email}>
                  <td>
                    <b>{seat.user.name || seat.user.email}</b>
                    {own && <span class="badge">{t.settings.you}</span>}
                    <small class="text">
                      {seat.status === "invited" && seat.invitedUntil
                        ? t.settings.invited + when(seat.invitedUntil, app.timezone)
                        : seat.user.email}
                    </small>
                  </td>
                  <td>
                    {administers &&
                    !own &&
                    seat.status === "active" &&
                    (seat.role !== "owner" || org.role === "owner") ? (
                      <select
                        aria-label={t.settings.role + " " + seat.user.email}
                        value={seat.role}
                        onChange={(event) => change(seat.user.email, event.currentTarget.value as Role)}
                      >
                        {mayGive.map((one) => (
                          <option key={one} value={one}>
                            {t.settings.roles[one]}
                          </option>
                        ))}
                      </select>
                    ) : (
                      t.settings.roles[seat.role]
                    )}
                  </td>
                  {administers && (
                    <td class="tick">
                      {!own && (
                        <button
                          type="button"
                          class="small"
                          aria-label={t.settings.remove + " " + seat.user.email}
                          onClick={() => remove(seat.user.email)}
                        >
                          {t.settings.remove}
                        </button>
                      )}
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      {administers && (
        <form class="form" onSubmit={(event) => void invite(event)}>
          <div class="fields">
            <Field label={t.settings.email}>
              <input type="email" required value={email} onInput={(event) => setEmail(event.currentTarget.value)} />
            </Field>
            <Field label={t.settings.role}>
              <select value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>
                {mayGive.map((one) => (
                  <option key={one} value={one}>
                    {t.settings.roles[one]}
                  </option>
                ))}
              </select>
            </Field>
          </div>
          {inviting.error && <Failure error={inviting.error} />}
          <button class="primary" disabled={inviting.busy}>
            {t.settings.invite}
          </button>
          {mailed && (
            <p role="status" class="quiet">
              {t.settings.mailed(mailed)}
            </p>
          )}
          {link && <Secret text={link} hint={t.settings.link} />}
        </form>
      )}
    </section>
  );
}
