// Calls wait until the script is there.
const call = (...args) => (window.svc ??= []).push(args);

export const track = (name, properties) => call("track", name, properties);
export const identify = (distinctId, traits) => call("identify", distinctId, traits);
{{- if .Ephemeral}}

// Nothing is sent before consent("granted"), and nothing is kept on the device.
export const consent = (answer) => call("consent", answer);
{{- end}}
