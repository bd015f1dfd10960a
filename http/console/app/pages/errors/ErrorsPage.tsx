import { useHere } from "../../core/me";
import { Errors } from "./Errors";
import { Issue } from "./Issue";

// ErrorsPage is the list of issues, or the one that the address names.
export function ErrorsPage() {
  const { place } = useHere();
  return place.rest ? <Issue key={place.rest} id={place.rest} /> : <Errors />;
}
