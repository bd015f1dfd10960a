import { useHere } from "../../core/me";
import { People } from "./People";
import { Person } from "./Person";

// PeoplePage is the list of people, or the one in the address.
export function PeoplePage() {
  const { place } = useHere();
  return place.rest ? <Person key={place.rest} id={place.rest} /> : <People />;
}
