import { useEffect, useRef } from "preact/hooks";
import { t } from "../core/texts";

// More loads the next page of a list when its end is near, or when the button is pressed.
export function More({ more }: { more: () => void }) {
  const button = useRef<HTMLButtonElement>(null),
    act = useRef(more);
  act.current = more;
  useEffect(() => {
    const watch = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && act.current(), {
      rootMargin: "600px",
    });
    watch.observe(button.current!);
    return () => watch.disconnect();
  });
  return (
    <button ref={button} type="button" class="plain" onClick={more}>
      {t.hints.more}
    </button>
  );
}
