import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { bucket, brief, count, tick } from "../core/format";
import { t } from "../core/texts";

interface Props {
  label: string;
  unit: string;
  interval: string;
  zone: string;
  points: { t: string; value: number | null }[];
  // marks are the annotations; the chart draws a line at each.
  marks?: { at: string; title: string }[];
}

const height = 240;
const color = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// drawMarks draws a line at each mark that lies within the chart.
function drawMarks(plot: uPlot, marks: { at: string }[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = color("--warn");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const mark of marks) {
    const x = Math.round(plot.valToPos(Date.parse(mark.at) / 1000, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

// Chart draws a series and shows its numbers in a table below.
export function Chart({ label, unit, interval, zone, points, marks }: Props) {
  const box = useRef<HTMLDivElement>(null),
    drawn = useRef<uPlot>(null),
    marked = useRef(marks);
  marked.current = marks;
  const [under, point] = useState<number | null>(null);
  const [theme, redraw] = useState(0),
    [opened, open] = useState(false);
  useEffect(() => {
    const again = () => redraw((n) => n + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", again);
    addEventListener("theme", again);
    return () => {
      dark.removeEventListener("change", again);
      removeEventListener("theme", again);
    };
  }, []);
  useEffect(() => {
    const at = box.current;
    if (!at) return;
    const font = "12px system-ui, sans-serif",
      muted = color("--muted"),
      grid = { stroke: color("--grid"), width: 1 };
    // Otherwise a short time would have days under every point.
    const lasts = points.length > 1 ? Date.parse(points[points.length - 1]!.t) - Date.parse(points[0]!.t) : 0;
    const options: Intl.DateTimeFormatOptions =
      interval === "hour" && lasts <= 48 * 3_600_000
        ? { hour: "2-digit", minute: "2-digit" }
        : interval === "month"
          ? { month: "short" }
          : { day: "numeric", month: "short" };
    const plot = new uPlot(
      {
        width: at.clientWidth,
        height,
        padding: [12, 24, 0, 0],
        legend: { show: false },
        tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), zone),
        cursor: { y: false, points: { size: 9, width: 2, stroke: color("--card"), fill: color("--accent") } },
        scales: { y: { range: (_, __, most) => [0, Math.max(4, most * 1.08)] } },
        axes: [
          {
            stroke: muted,
            font,
            grid: { show: false },
            ticks: { show: false },
            space: 80,
            size: 28,
            values: (_, ticks) => ticks.map((seconds) => tick(seconds, zone, options)),
          },
          {
            stroke: muted,
            font,
            grid,
            ticks: { show: false },
            size: 44,
            values: (_, ticks) => ticks.map((n) => (Number.isInteger(n) ? brief(n) : "")),
          },
        ],
        series: [
          {},
          { stroke: color("--accent"), width: 2, fill: color("--area"), points: { show: points.length < 2 } },
        ],
        hooks: { setCursor: [(u) => point(u.cursor.idx ?? null)], draw: [(u) => drawMarks(u, marked.current ?? [])] },
      },
      [points.map((p) => new Date(p.t).getTime() / 1000), points.map((p) => p.value)],
      at,
    );
    drawn.current = plot;
    const watch = new ResizeObserver(() => plot.setSize({ width: at.clientWidth, height }));
    watch.observe(at);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [points, interval, zone, theme]);
  useEffect(() => drawn.current?.redraw(false), [marks]);
  const shown = under === null ? undefined : points[under];
  const total = points.reduce((sum, p) => sum + (p.value ?? 0), 0);
  return (
    <div class="chart">
      <p class="tip" aria-hidden="true">
        {shown ? (
          <>
            <b>{shown.value === null ? t.hints.none : count(shown.value)}</b>{" "}
            {unit.replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase())} · {bucket(shown.t, interval, zone)}
          </>
        ) : (
          <span class="quiet">{label}</span>
        )}
      </p>
      <div
        ref={box}
        class="plot"
        role="img"
        aria-label={label + ": " + count(total) + " in " + points.length + " steps. The table below has every number."}
      />
      <details class="numbers" onToggle={(event) => open(event.currentTarget.open)}>
        <summary>{t.overview.table}</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label={t.overview.table}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.overview.time}</th>
                <th scope="col">{unit}</th>
              </tr>
            </thead>
            <tbody>
              {opened &&
                points.map((p) => (
                  <tr key={p.t}>
                    <th scope="row">{bucket(p.t, interval, zone)}</th>
                    <td>{p.value === null ? t.hints.none : count(p.value)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </details>
    </div>
  );
}
