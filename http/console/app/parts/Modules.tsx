import type { Schema } from "../api/client";
import { t } from "../core/texts";

export type Module = Schema["Application"]["modules"][number];

// usual are the default modules of an application.
export const usual: Module[] = ["analytics", "people", "errors", "metrics", "flags"];

// Modules chooses the parts of the service that an application uses.
export function Modules({
  chosen,
  choose,
  disabled,
}: {
  chosen: Module[];
  choose: (modules: Module[]) => void;
  disabled?: boolean;
}) {
  const all = Object.keys(t.modules) as Module[];
  return (
    <fieldset class="field" disabled={disabled}>
      <legend>{t.create.modules}</legend>
      {all.map((one) => (
        <label key={one} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(one)}
            onChange={() =>
              choose(all.filter((other) => (other === one ? !chosen.includes(one) : chosen.includes(other))))
            }
          />{" "}
          {t.modules[one]}
        </label>
      ))}
    </fieldset>
  );
}
