import type { Refused } from "../data/client";

/** What went wrong, and what to do. */
export function Failure({ error }: { error: Refused }) {
  return (
    <div class="failure" role="alert">
      <p>{error.message}</p>
      {error.hint ? <p class="aside">{error.hint}</p> : null}
    </div>
  );
}
