import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import App from "./App";
import { pageView } from "./svc";

pageView(); // call it again from your router whenever the page changes

createRoot(document.getElementById("root")).render(<StrictMode><App /></StrictMode>);
