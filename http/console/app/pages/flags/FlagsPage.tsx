import { useHere } from "../../core/me";
import { Flag } from "./Flag";
import { Flags } from "./Flags";

// FlagsPage is the list of feature flags, or the one in the address.
export function FlagsPage() {
  const { place } = useHere();
  const [key = "", tab = ""] = place.rest.split("/");
  return key ? <Flag key={key} name={key} tab={tab} /> : <Flags />;
}
