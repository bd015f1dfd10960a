import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../core/texts";

export interface Choice {
  kind: string;
  name: string;
  run: () => void;
}

// Palette opens a page or runs an action by its name.
export function Palette({ choices, close }: { choices: Choice[]; close: () => void }) {
  const [text, write] = useState("");
  const [at, move] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = choices.filter((choice) =>
    words.every((word) => (choice.kind + " " + choice.name).toLowerCase().includes(word)),
  );
  const run = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    choice.run();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") move(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") move(Math.max(at - 1, 0));
    else if (event.key === "Enter") run(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      class="palette"
      ref={dialog}
      aria-label={t.frame.palette}
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="choices"
        aria-activedescendant={found[at] ? "choice-" + at : undefined}
        aria-label={t.frame.palette}
        placeholder={t.palette.placeholder}
        value={text}
        autocomplete="off"
        spellcheck={false}
        onKeyDown={press}
        onInput={(event) => {
          write(event.currentTarget.value);
          move(0);
        }}
      />
      <ul id="choices" role="listbox" aria-label={t.frame.palette}>
        {found.map((choice, i) => (
          <li
            key={choice.kind + choice.name}
            id={"choice-" + i}
            role="option"
            aria-selected={i === at}
            onMouseMove={() => move(i)}
            onClick={() => run(choice)}
          >
            <span>{choice.name}</span>
            <small>{choice.kind}</small>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="quiet">{t.palette.none}</p>}
      <p class="quiet keys">{t.frame.keys}</p>
    </dialog>
  );
}
