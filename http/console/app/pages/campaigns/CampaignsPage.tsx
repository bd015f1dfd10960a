import { useHere } from "../../core/me";
import { Campaign } from "./Campaign";
import { Campaigns } from "./Campaigns";

// CampaignsPage is the list of campaigns, or the one in the address.
export function CampaignsPage() {
  const { place } = useHere();
  return place.rest ? <Campaign key={place.rest} id={place.rest} /> : <Campaigns />;
}
