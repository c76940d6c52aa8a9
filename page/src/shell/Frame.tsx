import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Picker } from "./Picker";
import { href, place } from "./router";
import { dark, switchTheme } from "./theme";
import { t, told } from "../language/t";

export interface FramedPage<T> {
  /** Its name in the address: `#/overview`. */
  id: string;
  title: string;
  group: string;
  component: ComponentType<{ report: T; params: URLSearchParams }>;
  /** Whether it takes the whole width and scrolls by itself. */
  wide?: boolean;
}

interface FrameProps<T> {
  report: T;
  title: string;
  version: string;
  /** None while there is no report: then nothing but one page is there. */
  groups: readonly string[];
  pages: readonly FramedPage<T>[];
  /** What else the navigation leads to. */
  beside?: ComponentChildren;
}

/** Navigation beside the page that the address names. */
export function Frame<T>({ report, title, version, groups, pages, beside }: FrameProps<T>) {
  const main = useRef<HTMLElement>(null);
  const nav = useRef<HTMLElement>(null);
  const current = pages.find((page) => page.id === place.value.page) ?? pages[0];
  const name = current?.title ?? "";
  useEffect(() => {
    document.title = [name, title, "stepscope"].filter(Boolean).join(" · ");
  }, [name, title]);
  useEffect(() => {
    main.current?.scrollTo(0, 0);
    // On a phone the document scrolls, and the navigation is one line that holds few of its links.
    window.scrollTo(0, 0);
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [name]);
  const Component = current?.component;
  return (
    <div class="shell">
      <nav ref={nav} aria-label={t("Pages")}>
        <button type="button" class="skip" onClick={() => main.current?.focus()}>{t("Skip to the page")}</button>
        <a class="brand" href={href(groups.length ? (pages[0]?.id ?? "") : "overview")}>stepscope</a>
        <Picker />
        {groups.map((group) => {
          const mine = pages.filter((page) => page.group === group);
          return mine.length ? (
            <div key={group}>
              <h2>{told(group)}</h2>
              <ul>
                {mine.map((page) => (
                  <li key={page.id}>
                    <a href={href(page.id)} aria-current={page === current ? "page" : undefined}>{page.title}</a>
                  </li>
                ))}
              </ul>
            </div>
          ) : null;
        })}
        {beside}
        {groups.length ? (
          <footer>
            <button type="button" onClick={switchTheme}>{dark.value ? t("Light colours") : t("Dark colours")}</button>
            <small>stepscope {version}</small>
          </footer>
        ) : null}
      </nav>
      <main ref={main} tabIndex={-1} class={current?.wide ? "wide" : ""}>
        {Component ? <Component report={report} params={place.value.params} /> : null}
      </main>
    </div>
  );
}
