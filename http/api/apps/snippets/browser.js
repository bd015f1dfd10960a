// Sends page views, engagement, errors and web vitals from here on.
const script = document.createElement("script");
script.src = "{{.Host}}/svc.js";
script.dataset.key = "{{.PublicKey}}"; // put a public key of {{.Environment}} here
{{- if .Ephemeral}}
script.dataset.privacyMode = "ephemeral";
{{- end}}
document.head.append(script);

{{template "calls.js" .}}
