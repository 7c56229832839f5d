/** How well each layer and head aligns words, where sentences with known links let the server measure it. */

/** A model's readings, the best first; none where no example has links: the server would refuse the question. */
export async function measuredReadings(app, model, options) {
  if (!model.has_attention) return [];
  const { examples } = await app.api.examples({ source: model.source, target: model.target }, options).catch(() => ({ examples: [] }));
  if (!examples.some(({ links }) => links)) return [];
  return app.api.readings(model.name, options).then(
    ({ readings }) => readings,
    () => [],
  );
}
