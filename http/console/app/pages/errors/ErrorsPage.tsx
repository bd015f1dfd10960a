import { useHere } from "../../core/me";
import { Errors } from "./Errors";
import { Issue } from "./Issue";

// ErrorsPage is the list of issues, or the one in the address.
export function ErrorsPage() {
  const { place } = useHere();
  return place.rest ? <Issue key={place.rest} id={place.rest} /> : <Errors />;
}
