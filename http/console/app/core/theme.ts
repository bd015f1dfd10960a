// The theme that a person prefers; without a preference the system decides.
export type Theme = "auto" | "light" | "dark";
const key = "svc-console-theme";

export function theme(): Theme {
  const stored = localStorage.getItem(key);
  return stored === "light" || stored === "dark" ? stored : "auto";
}

export function setTheme(next: Theme): void {
  if (next === "auto") localStorage.removeItem(key);
  else localStorage.setItem(key, next);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme();
  dispatchEvent(new Event("theme"));
}
