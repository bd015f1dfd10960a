import { useHere } from "../../core/me";
import { Destination } from "./Destination";
import { Destinations } from "./Destinations";

// DestinationsPage is the list of destinations, or the one in the address.
export function DestinationsPage() {
  const { place } = useHere();
  const [id = "", tab = ""] = place.rest.split("/");
  return id ? <Destination key={id} id={id} tab={tab} /> : <Destinations />;
}
