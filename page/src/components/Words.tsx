/** Words of descriptions, and long names, as elements. */

import { visible } from "./format";
import { counted } from "../language/t";

/** A description; what stands between backticks is code. */
export function Prose({ text }: { text: string | undefined }) {
  return text ? <p class="prose">{coded(text)}</p> : null;
}

export const coded = (text: string) => text.split("`").map((part, i) => (i % 2 ? <code>{part}</code> : part));

/** A long name that may be broken where its words end; what is copied is the name. */
export function Breaking({ text }: { text: string }) {
  return <>{text.split(/(?<=[_<,/]|::)(?=\S)|(?<=\()(?=[^\s\d])/).flatMap((part, i) => (i ? [<wbr />, part] : part))}</>;
}

/** Frames of a call stack, innermost first: their number until the reader asks for them. */
export function Stack({ frames }: { frames: readonly unknown[] }) {
  return (
    <details class="stack">
      <summary>{counted(frames.length, "{count} frame", "{count} frames")}</summary>
      <ol class="frames">{frames.map((frame) => <li><Breaking text={visible(String(frame))} /></li>)}</ol>
    </details>
  );
}
