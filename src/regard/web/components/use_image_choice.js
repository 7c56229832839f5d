// @ts-check
/** The image that a view shows: one of the model's examples, or the reader's own. */

import { useQuery } from "../core/query.js";
import { useMemo } from "../core/ui.js";

/** @import { Store } from "../core/store.js" */
/** @import { ImageExample, Model } from "../data/backend.js" */
/** @typedef {{ example: number } | { image: Blob | null }} GivenImage an image of null is too large to send */
/** @typedef {{ examples: ImageExample[], given: GivenImage | null, isLoading: boolean, error: Error | null }} ImageChoice */

/**
 * The image that a view shows: the example in the address, else the reader's own file, else the first example.
 * @param {Store} store
 * @param {Model | null} model
 * @returns {ImageChoice}
 */
export function useImageChoice(store, model) {
  const { data, ownImage } = store;
  const query = useQuery(model && ((signal) => data.exampleImages(model.name, { signal })), [model?.name]);
  const examples = query.data?.examples ?? [];
  const { image } = store.url.value;
  const own = ownImage.value;
  const isLoading = query.isLoading;
  const given = useMemo(
    () => (isLoading ? null : givenImage(examples, image, own)),
    [isLoading, examples.length, model?.name, image, own],
  );
  return { examples, given, isLoading, error: query.error };
}

/**
 * The request for what a model makes of an image: a caption, or a class.
 * @param {Pick<Model, "name" | "task">} model
 * @param {GivenImage | null} given
 */
export function imageRequest({ name, task }, given) {
  return { model: name, ...given, ...(task === "classification" && { classifies: true }) };
}

/**
 * @param {ImageExample[]} examples
 * @param {string | undefined} image the parameter of the address
 * @param {{ blob: Blob | null } | null} own
 * @returns {GivenImage | null}
 */
export function givenImage(examples, image, own) {
  const number = /^\d+$/.test(image ?? "") ? Number(image) : -1;
  if (examples.some((example) => example.number === number)) return { example: number };
  if (own) return { image: own.blob };
  return examples.length ? { example: examples[0].number } : null;
}
