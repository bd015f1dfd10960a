// A page that shows the value of a flag, with the OpenFeature provider for browsers.
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";
import { OpenFeature, ProviderEvents } from "@openfeature/web-sdk";

declare const settings: { url: string; key: string };

const show = () => {
  document.querySelector("#value")!.textContent = String(OpenFeature.getClient().getBooleanValue("checkout", false));
};
OpenFeature.addHandler(ProviderEvents.Ready, show);
OpenFeature.addHandler(ProviderEvents.ConfigurationChanged, show);
void OpenFeature.setContext({ targetingKey: "u1" }).then(() =>
  OpenFeature.setProviderAndWait(
    new OFREPWebProvider({
      baseUrl: settings.url,
      pollInterval: 0,
      headers: [["Authorization", `Bearer ${settings.key}`]],
    }),
  ),
);
