import { useHere } from "../../core/me";
import { Monitor } from "./Monitor";
import { Monitors } from "./Monitors";

// MonitorsPage is the list of monitors, or the one in the address.
export function MonitorsPage() {
  const { place } = useHere();
  return place.rest ? <Monitor key={place.rest} id={place.rest} /> : <Monitors />;
}
