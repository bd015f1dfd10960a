// A page that shows flags with posthog-js.
import posthog from "posthog-js";

declare const settings: { url: string; key: string };

(globalThis as unknown as { posthog: typeof posthog }).posthog = posthog;
posthog.init(settings.key, {
  api_host: settings.url,
  autocapture: false,
  capture_pageview: false,
  capture_pageleave: false,
  disable_session_recording: true,
  disable_surveys: true,
  disable_external_dependency_loading: true,
  opt_out_capturing_by_default: true,
  bootstrap: { distinctID: "u1" },
});
posthog.onFeatureFlags(() => {
  const colour = posthog.getFeatureFlagPayload("colour") as { hex: string } | undefined;
  document.querySelector("#value")!.textContent = [
    posthog.isFeatureEnabled("checkout"),
    posthog.getFeatureFlag("colour"),
    colour?.hex,
  ].join(" ");
});
