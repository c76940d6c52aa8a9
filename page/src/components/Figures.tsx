import type { Figure } from "../data/types";

/** Single figures beside each other, each with its label. */
export function Figures({ figures }: { figures: Figure[] }) {
  return (
    <dl class="figures">
      {figures.map((figure) => (
        <div>
          <dt>{figure.label}</dt>
          <dd>{figure.value}</dd>
          {figure.detail ? <dd class="aside">{figure.detail}</dd> : null}
        </div>
      ))}
    </dl>
  );
}
