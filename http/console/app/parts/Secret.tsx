import { Copy } from "./Copy";

// Secret shows a text that is shown only once.
export function Secret({ text, hint }: { text: string; hint: string }) {
  return (
    <div class="secret" role="status">
      <p>{hint}</p>
      <div class="row">
        <code>{text}</code>
        <Copy text={text} />
      </div>
    </div>
  );
}
