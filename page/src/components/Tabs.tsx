import type { ComponentChildren } from "preact";
import { href } from "../shell/router";
import { t } from "../language/t";

export interface Tab {
  id: string;
  title: string;
  show: () => ComponentChildren;
}

interface TabsProps {
  page: string;
  tabs: (Tab | null)[];
  params: URLSearchParams;
  /** Parameters of the address that hold across tabs, such as the rank. */
  hold?: readonly string[];
}

/** Views of one subject; the address says which, so that links lead to it. */
export function Tabs({ page, tabs, params, hold = ["rank"] }: TabsProps) {
  const shown = tabs.filter((tab): tab is Tab => tab !== null);
  const current = shown.find((tab) => tab.id === params.get("tab")) ?? shown[0];
  const held = Object.fromEntries(hold.map((name) => [name, params.get(name) ?? undefined]));
  return (
    <>
      {shown.length > 1 ? (
        <nav class="tabs" aria-label={t("Views")}>
          {shown.map((tab) => (
            <a key={tab.id} href={href(page, { ...held, tab: tab.id })} aria-current={tab === current ? "true" : undefined}>{tab.title}</a>
          ))}
        </nav>
      ) : null}
      <div key={current?.id}>{current?.show()}</div>
    </>
  );
}
