import { delta } from "../core/format";

// Delta shows a change; whether it is good depends on what has changed.
export function Delta({ value, upIsGood = true }: { value: number | null; upIsGood?: boolean }) {
  if (value === null) return <span class="was">–</span>;
  const flat = Math.abs(value) < 0.05;
  return <span class={flat ? "was" : value > 0 === upIsGood ? "good" : "bad"}>{delta(value)}</span>;
}
