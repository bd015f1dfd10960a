import { t } from "../core/texts";
import { Field } from "./Field";

// Zone chooses the time zone in which an application's days begin.
export function Zone({
  value,
  choose,
  disabled,
}: {
  value: string;
  choose: (zone: string) => void;
  disabled?: boolean;
}) {
  return (
    <Field label={t.settings.timezone} hint={t.settings.timezoneHint}>
      <select disabled={disabled} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {[...new Set([value, "UTC", ...Intl.supportedValuesOf("timeZone")])].map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </select>
    </Field>
  );
}
