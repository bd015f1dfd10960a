import { delta } from "../core/format";

// Delta shows a change; upIsGood says whether an increase is good.
export function Delta({ value, upIsGood = true }: { value: number | null; upIsGood?: boolean }) {
  if (value === null) return <span class="was">–</span>;
  const flat = Math.abs(value) < 0.05;
  return <span class={flat ? "was" : value > 0 === upIsGood ? "good" : "bad"}>{delta(value)}</span>;
}
