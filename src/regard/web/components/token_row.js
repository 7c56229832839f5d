// @ts-check
/** A row of tokens of which one is chosen, with a click or the arrow keys; and what the signs in token labels mean. */

import { t } from "../core/i18n.js";
import { h, useRef } from "../core/ui.js";
import { tokenLabel, tokenSigns } from "../math/tokens.js";

/** @param {{ label: string, tokens: string[], chosen: number, onChoose: (index: number) => void }} props */
export function TokenRow({ label, tokens, chosen, onChoose }) {
  const row = useRef(/** @type {HTMLDivElement | null} */ (null));
  const move = (/** @type {KeyboardEvent} */ event) => {
    const targets = { ArrowRight: chosen + 1, ArrowLeft: chosen - 1, Home: 0, End: tokens.length - 1 };
    const next = targets[/** @type {keyof typeof targets} */ (event.key)];
    if (next === undefined) return;
    event.preventDefault();
    if (tokens[next] === undefined || next === chosen) return;
    onChoose(next);
    /** @type {HTMLElement | undefined} */ (row.current?.children[next])?.focus();
  };
  const buttons = tokens.map((token, index) => {
    const state = { role: "radio", "aria-checked": index === chosen, tabindex: index === chosen ? 0 : -1 };
    const onClick = () => onChoose(index);
    return h(
      "button",
      { key: index, type: "button", class: "token", dir: "auto", ...state, onClick },
      tokenLabel(token),
    );
  });
  return h(
    "div",
    { class: "token-field" },
    h("span", { class: "faint small" }, label),
    h("div", { ref: row, class: "tokens", role: "radiogroup", "aria-label": label, onKeyDown: move }, buttons),
  );
}

/**
 * What the signs in token labels mean, where labels have such signs.
 * @param {{ tokens: string[], labelOf?: (token: string) => string }} props
 */
export function TokenSigns({ tokens, labelOf }) {
  const { hasWordMark, byteLabel } = tokenSigns(tokens, labelOf);
  const mark = hasWordMark && t("pieces.mark");
  const byte = byteLabel && t("pieces.byte", { spelled: byteLabel });
  return mark || byte ? h("p", { class: "faint small signs" }, [mark, byte].filter(Boolean).join(" ")) : null;
}
