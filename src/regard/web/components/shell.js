// @ts-check
/** The frame around the views: links to them, the choice of a model, language, theme and the link to what is shown. */

import { LANGUAGES, language, t } from "../core/i18n.js";
import { useLostFocus } from "../core/query.js";
import { isDark, THEMES, theme } from "../core/theme.js";
import { h, useEffect, useId, useRef, useState } from "../core/ui.js";
import { changedState, formatHash } from "../core/url.js";
import { modelFor } from "../data/models.js";
import { ApiKeyDialog } from "./api_key_dialog.js";
import { LazyView } from "./lazy_view.js";

/** @import { MessageKey } from "../core/i18n.js" */
/** @import { Store } from "../core/store.js" */
/** @import { UrlState } from "../core/url.js" */
/** @import { ApiKey } from "../data/api_key.js" */
/** @import { Model } from "../data/backend.js" */
/** @import { ViewComponent } from "./lazy_view.js" */
/**
 * @typedef {object} ViewDefinition
 * @property {string} id its name in the address
 * @property {string} title key of its message
 * @property {readonly Model["task"][]} [tasks] of the models that the view is made for; else any model
 * @property {ViewComponent} [View]
 * @property {() => Promise<ViewComponent>} [load] instead of it, a view whose module is loaded later
 */

const THEME_NAMES = /** @type {const} */ ({
  auto: "shell.theme_auto",
  light: "shell.theme_light",
  dark: "shell.theme_dark",
});
const LINK_SIZE = { width: 20, height: 20, viewBox: "0 0 24 24" };
const LINK = "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.7 1.7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.7-1.7"; // two links of a chain
const SCREEN = "M3 4h18v12H3zM12 16v4M8 20h8"; // a screen on a stand
const COPIED_FOR = 2000; // ms that the button says so

/** @param {{ store: Store, views: ViewDefinition[], apiKey?: ApiKey | null, ownsDocument?: boolean }} props */
export function Shell({ store, views, apiKey = null, ownsDocument = false }) {
  const { view = "", present } = store.url.value;
  const isPresenting = ownsDocument && present === "1";
  const isStarted = store.isStarted.value;
  const current = views.find(({ id }) => id === view) ?? (isStarted ? views[0] : null);
  useEffect(() => {
    // Read now: since this render, the reader may have followed a link.
    const isNamed = views.some(({ id }) => id === store.url.peek().view);
    if (current && !isNamed) store.set({ view: current.id });
  }, [current?.id, view]);
  const { model: fitting } = changesTo(store, current);
  useEffect(() => {
    // An address without a model names a view alone; then no choice of the reader is lost.
    if (fitting && !store.url.peek().model) store.fallback.value = fitting;
  }, [fitting]);
  useEffect(() => {
    if (!ownsDocument) return;
    document.documentElement.lang = language.value;
    if (current) document.title = `${t(/** @type {MessageKey} */ (current.title))} · regard`;
  });
  return h(
    "div",
    {
      class: isPresenting ? "regard is-presenting" : "regard",
      lang: language.value,
      "data-theme": isDark.value ? "dark" : "light",
    },
    isPresenting
      ? h(
          "button",
          { type: "button", class: "end-presenting", onClick: () => store.set({ present: "" }) },
          t("shell.present_end"),
        )
      : h(Header, { store, views, current, ownsDocument }),
    h("p", { class: "offline", role: "status" }, store.isOffline.value && t("shell.offline")),
    h(Panel, { store, current: isStarted ? current : null }),
    h("div", { class: "only-heard", "aria-live": "polite" }, store.announcement.value),
    apiKey && h(ApiKeyDialog, { apiKey }),
  );
}

/**
 * What changes on the way to a view: where it is not made for the chosen model, the model does, and the sentence with it.
 * @param {Store} store
 * @param {ViewDefinition | null} view
 * @returns {UrlState}
 */
function changesTo(store, view) {
  if (!view) return {};
  const { id, tasks } = view;
  const chosen = store.model.value;
  if (!tasks || (chosen && tasks.includes(chosen.task))) return { view: id };
  const fitting = modelFor(store.models.value, null, ...tasks);
  return fitting ? { view: id, model: fitting.name, text: "" } : { view: id, changes: "" };
}

/** @param {{ store: Store, views: ViewDefinition[], current: ViewDefinition | null, ownsDocument: boolean }} props */
function Header({ store, views, current, ownsDocument }) {
  return h(
    "header",
    { class: "top" },
    h(
      "div",
      { class: "brand" },
      h("span", { class: "brand-mark", "aria-hidden": "true" }, h("i"), h("i"), h("i"), h("i")),
      h("span", { class: "brand-name" }, "regard"),
    ),
    h(ViewLinks, { store, views, current }),
    h(
      "div",
      { class: "choices" },
      h(ModelPicker, { store }),
      h(LanguageSwitch, null),
      h(ThemeButton, null),
      ownsDocument && h(PresentButton, { store }),
      ownsDocument && h(CopyLink, { store }),
    ),
  );
}

/**
 * Views have addresses, so they are links: they open in a new window, too, and moving between them requests nothing.
 * @param {{ store: Store, views: ViewDefinition[], current: ViewDefinition | null }} props
 */
function ViewLinks({ store, views, current }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current?.id]);
  const open = (/** @type {UrlState} */ changes) => (/** @type {MouseEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (changes.model) store.draft.value = null; // it was typed for another model
    store.set(changes);
  };
  const links = views.map((view) => {
    const { id, title } = view;
    const changes = changesTo(store, view);
    const href = formatHash(changedState(store.shared.value, changes));
    const isCurrent = id === current?.id;
    return h(
      "a",
      { key: id, href, "aria-current": isCurrent ? "page" : null, onClick: open(changes) },
      t(/** @type {MessageKey} */ (title)),
    );
  });
  return h("nav", { class: "views", "aria-label": t("shell.views") }, h("div", { class: "tabs", ref: list }, links));
}

/**
 * The current view. Where the focus has gone with the view before, the panel takes it.
 * @param {{ store: Store, current: ViewDefinition | null }} props
 */
function Panel({ store, current }) {
  const panel = useLostFocus(current?.id);
  return h(
    "main",
    { ref: panel, class: "panel", tabindex: -1 },
    current?.View && h(current.View, { key: current.id, store }),
    current?.load && h(LazyView, { key: current.id, store, load: current.load }),
  );
}

/** @param {{ store: Store }} props */
function ModelPicker({ store }) {
  const id = useId();
  const models = store.models.value;
  const choose = (/** @type {Event} */ event) =>
    store.set({ model: /** @type {HTMLSelectElement} */ (event.target).value });
  const options = models.map((model) => h("option", { key: model.name, value: model.name }, labelOf(model)));
  const chosen = store.model.value;
  return h(
    "label",
    { class: "model-choice", for: id },
    h("span", { class: "faint" }, t("shell.model")),
    h(
      "select",
      {
        id,
        class: "model-picker",
        value: chosen?.name,
        title: chosen && labelOf(chosen), // in a narrow header the name is cut
        disabled: models.length < 2,
        onChange: choose,
      },
      options.length ? options : h("option", { key: "" }, t("shell.no_model")),
    ),
  );
}

/** @param {Model} model */
function labelOf({ name, source, target }) {
  return source && target ? `${name} (${source} → ${target})` : name;
}

function LanguageSwitch() {
  const codes = /** @type {(keyof typeof LANGUAGES)[]} */ (Object.keys(LANGUAGES));
  const buttons = codes.map((code) =>
    h(
      "button",
      {
        key: code,
        type: "button",
        lang: code,
        "aria-pressed": code === language.value,
        onClick: () => {
          language.value = code;
        },
      },
      LANGUAGES[code],
    ),
  );
  return h("div", { class: "segments", role: "group", "aria-label": t("shell.language") }, buttons);
}

function ThemeButton() {
  const title = t("shell.theme", { theme: t(THEME_NAMES[theme.value]) });
  const next = () => {
    theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length];
  };
  return h(
    "button",
    { type: "button", class: "quiet theme", "aria-label": title, title, onClick: next },
    h("span", { class: `theme-icon theme-${theme.value}`, "aria-hidden": "true" }),
  );
}

/** @param {{ store: Store }} props */
function PresentButton({ store }) {
  const title = t("shell.present");
  return h(
    "button",
    { type: "button", class: "quiet present", title, "aria-label": title, onClick: () => store.set({ present: "1" }) },
    h("svg", { ...LINK_SIZE, "aria-hidden": "true" }, h("path", { d: SCREEN })),
  );
}

/**
 * Copies the address of what is shown. Without access to the clipboard, as over plain HTTP, the address is shown instead.
 * @param {{ store: Store }} props
 */
function CopyLink({ store }) {
  const [state, setState] = useState(/** @type {"" | "copied" | "shown"} */ (""));
  useEffect(() => {
    if (state !== "copied") return;
    const timer = setTimeout(() => setState(""), COPIED_FOR);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(store.link());
      setState("copied");
      store.announcement.value = t("shell.link_copied");
    } catch {
      setState("shown");
    }
  };
  if (state === "shown") {
    return h("input", {
      class: "link-shown",
      readonly: true,
      value: store.link(),
      "aria-label": t("shell.copy_link"),
      ref: (/** @type {HTMLInputElement | null} */ input) => input?.select(),
      onBlur: () => setState(""),
    });
  }
  const title = t("shell.copy_link");
  return h(
    "button",
    { type: "button", class: "quiet copy-link", title, "aria-label": title, onClick: copy },
    state === "copied"
      ? t("shell.link_copied")
      : h("svg", { ...LINK_SIZE, "aria-hidden": "true" }, h("path", { d: LINK })),
  );
}
