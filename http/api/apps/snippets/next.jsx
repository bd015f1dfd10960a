import Script from "next/script";

// Put <PageViews /> into the body of app/layout: it sends page views, engagement, errors and web vitals.
// data-key is a public key of {{.Environment}}.
export function PageViews() {
  return <Script src="{{.Host}}/svc.js" data-key="{{.PublicKey}}"{{if .Ephemeral}} data-privacy-mode="ephemeral"{{end}} />;
}
