// Facts lists names and their values; it omits empty values.
export function Facts({ of }: { of: Record<string, unknown> }) {
  const rows = Object.entries(of).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === "object" ? JSON.stringify(value) : String(value)}</dd>
        </div>
      ))}
    </dl>
  );
}
