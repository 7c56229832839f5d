/** One trace for one sentence, shared by all views; a trace that the server has let go is made again. */

/** The trace of a text by the chosen model, of its own translation or of a given target. */
export async function traceOf(app, { text, target = null, model = app.model().name }, options) {
  const wanted = JSON.stringify([model, text, target]);
  if (app.state.traceKey === wanted && app.state.trace) return app.state.trace;
  const request = { model, text };
  if (target !== null) request.target = target;
  const trace = await app.api.traces(request, options);
  Object.assign(app.state, { traceKey: wanted, trace });
  app.setSource(text);
  return trace;
}

/** What `ask(trace)` answers; when the trace has gone in the meantime, once more with a new one. */
export async function askTrace(app, request, ask, options) {
  const trace = await traceOf(app, request, options);
  try {
    return await ask(trace);
  } catch (problem) {
    if (problem.code !== "trace_gone") throw problem;
    app.state.traceKey = null;
    return ask(await traceOf(app, request, options));
  }
}
