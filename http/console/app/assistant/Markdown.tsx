import type { ComponentChildren } from "preact";

// inline shows code and strong words of a line.
function inline(text: string): ComponentChildren[] {
  return text
    .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
    .map((part, i) =>
      part.startsWith("`") && part.length > 2 ? (
        <code key={i}>{part.slice(1, -1)}</code>
      ) : part.startsWith("**") && part.length > 4 ? (
        <b key={i}>{part.slice(2, -2)}</b>
      ) : (
        part
      ),
    );
}

// Markdown shows the text of a model: paragraphs, lists, code and tables of text. Links and pictures stay text, since a
// model may have read them from attackers.
export function Markdown({ text }: { text: string }) {
  const blocks = text.split(/(```[\s\S]*?(?:```|$))/);
  return (
    <div class="said-text">
      {blocks.map((block, i) => {
        if (block.startsWith("```"))
          return (
            <pre key={i} class="raw" tabIndex={0}>
              <code>{block.replace(/^```\w*\n?/, "").replace(/```$/, "")}</code>
            </pre>
          );
        return block
          .split(/\n{2,}/)
          .filter((one) => one.trim())
          .map((paragraph, j) => {
            const lines = paragraph.trim().split("\n");
            if (lines.every((line) => /^\s*([-*]|\d+\.)\s/.test(line)))
              return (
                <ul key={i + "." + j}>
                  {lines.map((line, k) => (
                    <li key={k}>{inline(line.replace(/^\s*([-*]|\d+\.)\s+/, ""))}</li>
                  ))}
                </ul>
              );
            if (lines.every((line) => line.startsWith("|")))
              return (
                <pre key={i + "." + j} class="raw" tabIndex={0}>
                  {lines.join("\n")}
                </pre>
              );
            return (
              <p key={i + "." + j}>
                {lines.map((line, k) => (
                  <span key={k} class={/^#+\s/.test(line) ? "strong" : undefined}>
                    {k > 0 && <br />}
                    {inline(line.replace(/^#+\s+/, ""))}
                  </span>
                ))}
              </p>
            );
          });
      })}
    </div>
  );
}
