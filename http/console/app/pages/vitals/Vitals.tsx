import { call, type Schema } from "../../api/client";
import { brief, share } from "../../core/format";
import { useCursor } from "../../core/keys";
import { useHere } from "../../core/me";
import { usePages } from "../../core/pages";
import { set } from "../../core/place";
import { t } from "../../core/texts";
import { Empty } from "../../parts/Empty";
import { Failure } from "../../parts/Failure";
import { More } from "../../parts/More";

const names = ["LCP", "INP", "CLS", "FCP", "TTFB"] as const;

// shown writes a vital's number with its unit.
function shown(score: Schema["VitalScore"] | null): string {
  if (!score) return t.hints.none;
  return score.unit === "ms"
    ? score.p75 >= 1000
      ? (score.p75 / 1000).toFixed(2) + " s"
      : Math.round(score.p75) + " ms"
    : score.p75.toFixed(3);
}

const tone = (score: Schema["VitalScore"] | null) =>
  score ? ({ good: "up", needs_improvement: "warning", poor: "error" }[score.rating as string] ?? "") : "";

// Vitals shows the web vitals of pages: the value that three of four page views are better than, by page or device.
export function Vitals() {
  const { at, env, range, place } = useHere();
  const by = place.query.get("by") === "device" ? "device" : "path";
  const query = { env, range, by, limit: 50 } as const;
  const { rows, first, cursor, more } = usePages(JSON.stringify([at, query]), (after, signal) =>
    call("get", "/api/v1/apps/{org}/{app}/analytics/vitals", { path: at, query: { ...query, cursor: after }, signal }),
  );
  const row = useCursor(rows.length, () => {});
  const totals = first.data?.totals;
  if (first.error)
    return (
      <section class="card">
        <Failure error={first.error} again={first.again} />
      </section>
    );
  return (
    <>
      <section
        class={"card overview" + (first.loading ? " busy" : "")}
        aria-label={t.pages["vitals"]}
        aria-busy={first.loading}
      >
        <ul class="metrics five">
          {names.map((name) => {
            const score = totals?.[name] ?? null;
            return (
              <li key={name}>
                <div class="metric">
                  <span class="label">
                    <abbr title={t.vitals.names[name]}>{name}</abbr>
                  </span>
                  <span class={"value level " + tone(score)}>{shown(score)}</span>
                  <span class="change quiet">{score ? t.vitals.good(share(score.good)) : ""}</span>
                </div>
              </li>
            );
          })}
        </ul>
      </section>
      <section class={"card list" + (first.loading ? " busy" : "")} aria-label={t.vitals.table}>
        <div class="head">
          <nav class="tabs" aria-label={t.vitals.by}>
            {Object.entries(t.vitals.bys).map(([key, text]) => (
              <a
                key={key}
                href={set(place, "by", key === "path" ? "" : key)}
                aria-current={key === by ? "true" : undefined}
              >
                {text}
              </a>
            ))}
          </nav>
        </div>
        {rows.length === 0 && !first.loading ? (
          <Empty title={t.vitals.empty} hint={t.vitals.emptyHint} />
        ) : (
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{t.vitals.bys[by]}</th>
                {names.map((name) => (
                  <th key={name} scope="col" class={"number" + (name === "LCP" || name === "INP" ? "" : " wide")}>
                    {name}
                  </th>
                ))}
                <th scope="col" class="number wide">
                  {t.vitals.samples}
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((one, i) => (
                <tr key={one.value} data-row={i} class={i === row ? "at" : ""}>
                  <td class="text">{one.value ?? t.overview.unknown}</td>
                  {names.map((name) => (
                    <td key={name} class={"number" + (name === "LCP" || name === "INP" ? "" : " wide")}>
                      <span class={"level " + tone(one.vitals[name])}>{shown(one.vitals[name])}</span>
                    </td>
                  ))}
                  <td class="number wide">{brief(one.samples)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {cursor && <More more={more} />}
      </section>
    </>
  );
}
