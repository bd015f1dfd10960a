import { call } from "../../api/client";
import { useAsk } from "../../core/ask";
import { useHere } from "../../core/me";
import { t } from "../../core/texts";

// Assign sets the assignee of an issue.
export function Assign({
  label,
  value,
  disabled,
  change,
}: {
  label: string;
  value: string;
  disabled: boolean;
  change: (id: string | null) => void;
}) {
  const { at } = useHere();
  const members = useAsk("members" + at.org, (signal) =>
    call("get", "/console/api/v1/orgs/{org}/members", { path: { org: at.org }, query: { limit: 200 }, signal }),
  );
  const seated =
    members.data?.data.flatMap((one) =>
      one.user.id ? [{ id: one.user.id, name: one.user.name || one.user.email }] : [],
    ) ?? [];
  return (
    <select
      aria-label={label}
      value={value}
      disabled={disabled}
      onChange={(event) => change(event.currentTarget.value || null)}
    >
      <option value="">{value ? t.errors.nobody : label}</option>
      {seated.map((one) => (
        <option key={one.id} value={one.id}>
          {one.name}
        </option>
      ))}
    </select>
  );
}
