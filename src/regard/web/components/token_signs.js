/** What the signs in token labels mean, where labels have such signs. */

import { t } from "../core/i18n.js";
import { h } from "../core/ui.js";
import { tokenSigns } from "../math/tokens.js";

/** @param {{ tokens: string[], explainsWordMark?: boolean }} props explainsWordMark: not where the text beside the map already does */
export function TokenSigns({ tokens, explainsWordMark = true }) {
  const { hasWordMark, byteLabel } = tokenSigns(tokens);
  const mark = explainsWordMark && hasWordMark && t("pieces.mark");
  const byte = byteLabel && t("pieces.byte", { spelled: byteLabel });
  return mark || byte ? h("p", { class: "faint small signs" }, [mark, byte].filter(Boolean).join(" ")) : null;
}
