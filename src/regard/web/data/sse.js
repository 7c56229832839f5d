// @ts-check
/** Server-sent events out of the body of a response. */

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<{ event: string, data: string }>}
 */
export async function* serverSentEvents(body) {
  let rest = "";
  const decoder = /** @type {ReadableWritablePair<string, Uint8Array>} */ (new TextDecoderStream());
  const reader = body.pipeThrough(decoder).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) if (block.includes("data:")) yield parseEvent(block);
    }
  } finally {
    reader.cancel().catch(() => null);
  }
}

/**
 * One event: lines "field: value"; several data lines are lines of one text.
 * @param {string} block
 */
function parseEvent(block) {
  const fields = block.split("\n").map((line) => line.split(/:(.*)/s));
  const valuesOf = (/** @type {string} */ name) =>
    fields.filter(([field]) => field === name).map(([, value]) => (value ?? "").replace(/^ /, ""));
  return { event: valuesOf("event")[0] ?? "message", data: valuesOf("data").join("\n") };
}
