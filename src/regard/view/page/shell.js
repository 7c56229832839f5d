/** The frame around the views: tabs, the choice of a model, language and theme; it mounts one view at a time. */

import { addressOf, readAddress } from "./address.js";
import { isDark, onTheme, setTheme } from "./colour.js";
import { clear, h } from "./make.js";
import { problemText } from "./notes.js";
import { LANGUAGES, language, onLanguage, setLanguage, t } from "./text.js";

const MODELS_EVERY = 5000; // milliseconds: models appear while `make demo` trains them
const THEMES = ["auto", "light", "dark"];
const OF_ONE_MODEL = { reading: null, head: null, forced: null, pinned: null }; // choices that mean nothing to another model

/** Build the page in `root`: `views` over `api`. `usesAddress`: what is seen stands after the # of the address. */
export async function startPage(root, { api, views, usesAddress = false }) {
  recallChoices(root);
  const app = makeApp(api);
  const frame = { root, app, views, usesAddress, current: null, unmount: null, isOffline: false };
  app.go = (id) => showView(frame, views.find((view) => view.id === id) ?? views[0]);
  onLanguage(() => {
    remember("language", language());
    buildFrame(frame);
    app.go(frame.current.id);
  });
  onTheme(() => applyTheme(root));
  app.onModel(() => writeAddress(frame));
  app.onSource(() => writeAddress(frame));
  if (usesAddress) addEventListener("hashchange", () => openAddress(frame));
  buildFrame(frame);
  await refreshModels(frame);
  if (usesAddress && location.hash) openAddress(frame);
  else app.go(firstView(views, app).id);
  if (!api.isEmbedded) setInterval(() => document.hidden || refreshModels(frame), MODELS_EVERY);
  return app;
}

/** The first view that takes what the chosen model takes: a model that describes pictures is no use where sentences are typed. */
function firstView(views, app) {
  const takes = app.model()?.takes;
  return views.find((view) => takes && [view.takes].flat().includes(takes)) ?? views[0];
}

/** What every view is given. */
function makeApp(api) {
  const models = { list: [], name: null, listeners: new Set(), sourceListeners: new Set(), live: h("div", { class: "only-heard", "aria-live": "polite" }) };
  return {
    api,
    state: { source: "", draft: null, trace: null, traceKey: null, ...OF_ONE_MODEL },
    models: () => models.list,
    model: () => models.list.find((model) => model.name === models.name) ?? null,
    onModel(listener) {
      models.listeners.add(listener);
      return () => models.listeners.delete(listener);
    },
    chooseModel(name) {
      if (name === models.name) return;
      models.name = name;
      Object.assign(this.state, OF_ONE_MODEL);
      for (const listener of [...models.listeners]) listener(this.model());
    },
    setModels(list) {
      models.list = list;
      const isKnown = list.some((model) => model.name === models.name);
      if (!isKnown) this.chooseModel((list.find((model) => model.is_ready && model.has_attention) ?? list[0])?.name ?? null);
    },
    /** The sentence that is looked at; a draft is what is typed and not sent yet. */
    setSource(text) {
      if (text === this.state.source) return;
      this.state.source = text;
      for (const listener of models.sourceListeners) listener(text);
    },
    onSource(listener) {
      models.sourceListeners.add(listener);
    },
    say(text) {
      clear(models.live, text);
    },
    live: models.live,
  };
}

function buildFrame(frame) {
  const { root, app, views } = frame;
  root.lang = language();
  if (frame.usesAddress) document.documentElement.lang = language();
  frame.tabs = h(
    "div",
    { class: "tabs", role: "tablist", "aria-label": t("shell.views") },
    views.map((view) => tabOf(frame, view)),
  );
  frame.picker = h("select", { id: "model", class: "model-picker", onchange: (event) => app.chooseModel(event.target.value) });
  frame.offline = h("p", { class: "offline", role: "status" }, frame.isOffline && t("shell.offline"));
  frame.panel = h("div", { id: "panel", role: "tabpanel", tabindex: "-1" });
  const header = h(
    "header",
    { class: "top" },
    h(
      "div",
      { class: "brand" },
      h("span", { class: "brand-mark", "aria-hidden": "true" }, h("i"), h("i"), h("i"), h("i")),
      h("span", { class: "brand-name" }, "regard"),
    ),
    h("nav", { class: "views", "aria-label": t("shell.views") }, frame.tabs),
    h(
      "div",
      { class: "choices" },
      h("label", { class: "model-choice", for: "model" }, h("span", { class: "faint" }, t("shell.model")), frame.picker),
      languageSwitch(),
      themeSwitch(root),
    ),
  );
  clear(root, header, frame.offline, h("main", { class: "panel" }, frame.panel), app.live);
  fillPicker(frame);
}

function tabOf(frame, view) {
  const attributes = { type: "button", role: "tab", id: `tab-${view.id}`, "aria-controls": "panel", tabindex: "-1" };
  return h("button", { ...attributes, onclick: () => frame.app.go(view.id), onkeydown: (event) => moveTab(event, frame) }, t(view.title));
}

/** Arrow keys go from tab to tab; only the chosen one is in the page's tab order. */
function moveTab(event, frame) {
  const at = frame.views.indexOf(frame.current);
  const last = frame.views.length - 1;
  const moves = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last };
  if (!(event.key in moves)) return;
  event.preventDefault();
  frame.app.go(frame.views[moves[event.key]].id);
  frame.tabs.children[moves[event.key]].focus();
}

function showView(frame, view) {
  const isAnother = frame.current !== null && frame.current !== view;
  const hadFocus = frame.panel.contains(document.activeElement);
  frame.unmount?.();
  frame.current = view;
  for (const [index, tab] of [...frame.tabs.children].entries()) {
    const isChosen = frame.views[index] === view;
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    if (isChosen) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  frame.panel.setAttribute("aria-labelledby", `tab-${view.id}`);
  clear(frame.panel);
  if (frame.usesAddress) {
    document.title = `${t(view.title)} · regard`;
    writeAddress(frame, isAnother ? "pushState" : "replaceState");
  }
  frame.unmount = view.mount(frame.panel, frame.app);
  if (hadFocus) frame.panel.focus(); // what was pressed has gone with its view
}

/** Say in the address what is seen. A view more is a step that Back takes back; a file from disk has one model and one sentence. */
function writeAddress({ app, usesAddress, current }, change = "replaceState") {
  if (!usesAddress || !current) return;
  const known = app.api.isEmbedded ? {} : { model: app.model()?.name, text: app.state.source };
  const address = addressOf({ view: current.id, ...known });
  if (address !== location.hash) history[change](null, "", address);
}

/** Show what the address says: it was opened or edited, or Back was pressed. */
function openAddress(frame) {
  const { app } = frame;
  const { view, model, text } = readAddress(location.hash);
  frame.unmount?.();
  Object.assign(frame, { unmount: null, current: null });
  if (app.models().some(({ name }) => name === model)) app.chooseModel(model);
  if (text !== null && text !== app.state.source) {
    app.state.draft = null;
    app.setSource(text);
  }
  fillPicker(frame);
  app.go(view);
}

/** Ask for the models again; where the list has changed, the picker shows it. */
async function refreshModels(frame) {
  try {
    const { models } = await frame.app.api.models();
    const isNew = JSON.stringify(models) !== JSON.stringify(frame.app.models());
    tellOffline(frame, false);
    if (!isNew) return;
    const before = frame.app.model();
    frame.app.setModels(models);
    fillPicker(frame);
    const isWaitedFor = !before || (!before.is_ready && frame.app.model()?.is_ready);
    if (isWaitedFor && frame.current) frame.app.go(frame.current.id);
  } catch (problem) {
    tellOffline(frame, problem.code === "unreachable");
    if (frame.app.models().length === 0) frame.app.say(problemText(problem));
  }
}

/** A bar under the header for as long as the server does not answer. */
function tellOffline(frame, isOffline) {
  if (isOffline === frame.isOffline) return; // it would be read aloud again and again
  frame.isOffline = isOffline;
  clear(frame.offline, isOffline && t("shell.offline"));
}

function fillPicker({ picker, app }) {
  const options = app
    .models()
    .map((model) => h("option", { value: model.name, selected: model.name === app.model()?.name }, modelLabel(model)));
  clear(picker, options.length ? options : h("option", null, t("shell.no_model")));
  picker.disabled = options.length < 2;
}

function modelLabel(model) {
  const pair = model.source && model.target ? ` (${model.source} → ${model.target})` : "";
  return `${model.name}${pair}`;
}

function languageSwitch() {
  const buttons = Object.entries(LANGUAGES).map(([code, name]) =>
    h("button", { type: "button", lang: code, "aria-pressed": String(code === language()), onclick: () => changeLanguage(code) }, name),
  );
  return h("div", { class: "segments", role: "group", "aria-label": t("shell.language") }, buttons);
}

/** The frame is built anew in the other language; the focus stays on the button that was pressed. */
function changeLanguage(code) {
  setLanguage(code);
  document.querySelector(`.segments [lang="${code}"]`)?.focus();
}

function themeSwitch(root) {
  const button = h("button", { type: "button", class: "quiet theme", onclick: () => nextTheme(root, button) });
  labelTheme(root, button);
  return button;
}

function nextTheme(root, button) {
  const choice = THEMES[(THEMES.indexOf(root.dataset.choice) + 1) % THEMES.length];
  root.dataset.choice = choice;
  remember("theme", choice);
  setTheme(choice);
  applyTheme(root);
  labelTheme(root, button);
}

function labelTheme(root, button) {
  const choice = root.dataset.choice;
  button.setAttribute("aria-label", t("shell.theme", { theme: t(`shell.theme.${choice}`) }));
  button.title = t("shell.theme", { theme: t(`shell.theme.${choice}`) });
  clear(button, h("span", { class: `theme-icon theme-${choice}`, "aria-hidden": "true" }));
}

function applyTheme(root) {
  root.dataset.theme = isDark() ? "dark" : "light";
}

function recallChoices(root) {
  const choice = recall("theme");
  root.dataset.choice = THEMES.includes(choice) ? choice : "auto";
  setTheme(root.dataset.choice);
  applyTheme(root);
  setLanguage(recall("language") ?? (navigator.language.startsWith("ko") ? "ko" : "en"));
}

/** A choice is kept in the browser where it allows that; a file from disk or a notebook may forbid it. */
function remember(name, value) {
  try {
    localStorage.setItem(`regard.${name}`, value);
  } catch {
    return;
  }
}

function recall(name) {
  try {
    return localStorage.getItem(`regard.${name}`);
  } catch {
    return null;
  }
}
