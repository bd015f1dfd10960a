import { render } from "preact";
import { App } from "./App";
import { applyTheme } from "./core/theme";
import "./style.css";

applyTheme();
render(<App />, document.getElementById("root")!);
