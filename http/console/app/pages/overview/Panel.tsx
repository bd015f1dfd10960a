import { useState } from "preact/hooks";
import { useAnswer } from "../../core/ask";
import { brief, count } from "../../core/format";
import { useHere } from "../../core/me";
import { toggle } from "../../core/place";
import { t } from "../../core/texts";
import { Failure } from "../../parts/Failure";
import { value } from "../../parts/filter";
import { few, panel } from "./questions";

const many = 50;

// Panel divides the visitors by a dimension.
export function Panel({ name, dimensions }: { name: string; dimensions: readonly string[] }) {
  const here = useHere(),
    { filters, place } = here;
  const [dimension, choose] = useState(dimensions[0]!);
  const [limit, widen] = useState<number>(few);
  const { data, error, loading, again } = useAnswer(panel(here, dimension, limit));
  const id = "panel-" + name;
  const rows = data?.dimension === dimension ? data.data : [];
  const most = Math.max(1, ...rows.map((row) => row.visitors));
  return (
    <section class={"card panel" + (loading ? " busy" : "")} aria-labelledby={id} aria-busy={loading}>
      <div class="head">
        <h2 id={id}>{t.overview.panels[name]}</h2>
        {dimensions.length > 1 && (
          <div class="tabs" role="group" aria-labelledby={id}>
            {dimensions.map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={one === dimension}
                onClick={() => {
                  choose(one);
                  widen(few);
                }}
              >
                {t.overview.dimensions[one]}
              </button>
            ))}
          </div>
        )}
      </div>
      {error ? (
        <Failure error={error} again={again} />
      ) : (
        <table class="bars">
          <thead>
            <tr>
              <th scope="col">{t.overview.dimensions[dimension]}</th>
              <th scope="col">{t.overview.rows}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const filter = dimension + ":" + row.value;
              return (
                <tr key={row.value}>
                  <th scope="row">
                    <svg class="fill" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 1">
                      <rect width={(row.visitors / most) * 100} height={1} />
                    </svg>
                    {row.value === "" ? (
                      <span class="text">{value(dimension, row.value)}</span>
                    ) : (
                      <a
                        class="text"
                        href={toggle(place, filter)}
                        aria-current={filters.includes(filter) ? "true" : undefined}
                      >
                        {value(dimension, row.value)}
                      </a>
                    )}
                  </th>
                  <td title={count(row.visitors)}>{brief(row.visitors)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      {!error && data && rows.length === 0 && !loading && <p class="quiet">{t.overview.nothing}</p>}
      {data?.nextCursor && limit === few && (
        <button type="button" class="plain" onClick={() => widen(many)}>
          {t.hints.more}
        </button>
      )}
    </section>
  );
}
