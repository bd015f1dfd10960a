import { useHere } from "../../core/me";
import { Incident } from "./Incident";
import { Incidents } from "./Incidents";

// IncidentsPage is the list of incidents, or the one in the address.
export function IncidentsPage() {
  const { place } = useHere();
  return place.rest ? <Incident key={place.rest} id={place.rest} /> : <Incidents />;
}
