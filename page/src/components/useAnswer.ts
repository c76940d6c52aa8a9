import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getJson, Refused } from "../data/client";

/** What the server answers at an address, or null until it has; an error is a sentence. */
export function useAnswer<T>(path: string): { found: T | null; error: Refused | null } {
  const found = useSignal<T | null>(null);
  const error = useSignal<Refused | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    found.value = null;
    error.value = null;
    getJson<T>(path, { signal: leaving.signal }).then(
      (answer) => leaving.signal.aborted || (found.value = answer),
      (problem) => leaving.signal.aborted || (error.value = problem instanceof Refused ? problem : new Refused(String(problem))),
    );
    return () => leaving.abort();
  }, [path]);
  return { found: found.value, error: error.value };
}
