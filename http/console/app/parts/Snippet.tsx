import { Copy } from "./Copy";

// Snippet is code to copy.
export function Snippet({ title, code }: { title: string; code: string }) {
  return (
    <figure class="snippet">
      <figcaption>
        <span>{title}</span>
        <Copy text={code} />
      </figcaption>
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </figure>
  );
}
