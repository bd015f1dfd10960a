import { render } from "preact";
import { App } from "./App";
import { askEarly } from "./core/early";
import { placeOf } from "./core/place";
import { applyTheme } from "./core/theme";
import { pages } from "./pages/pages";
import "uplot/dist/uPlot.min.css";
import "./style.css";

applyTheme();
const place = placeOf(location.hash);
askEarly(place);
void pages
  .find((page) => page.name === (place.page || "overview"))
  ?.View.fetch?.()
  .catch(() => {});
render(<App />, document.getElementById("root")!);
