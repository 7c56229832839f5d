// @ts-check
/** Debounce: a value once it has stayed the same for a moment. */

import { useEffect, useState } from "./ui.js";

const DELAY = 250; // ms after the last change

/**
 * A value once it has stayed the same for a moment: a slider passes many values that nobody asks for.
 * @param {number} value
 */
export function useDebounced(value, delay = DELAY) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delay);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
