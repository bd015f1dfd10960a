import { render } from "preact";
import { App } from "./App";
import { placeOf } from "./core/place";
import { applyTheme } from "./core/theme";
import { pages } from "./pages/pages";
import "uplot/dist/uPlot.min.css";
import "./style.css";

applyTheme();
// The page of the address is fetched while the service is asked who is signed in.
void pages.find((page) => page.name === (placeOf(location.hash).page || "overview"))?.View.fetch?.().catch(() => {});
render(<App />, document.getElementById("root")!);
