import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Failure } from "../components/Failure";
import { useAnswer } from "../components/useAnswer";
import { coded } from "../components/Words";
import type { GuidePlace, Report } from "../data/types";
import { href } from "../shell/router";
import type { PageProps } from "./registry";
import { t, woven } from "../language/t";

/** From a symptom to a setting: the way that this recording's numbers lead, and every place of the guide. */
export function Guide({ report, params }: PageProps) {
  const name = params.get("read");
  return name ? <Read name={name} key={name} /> : <Places report={report} />;
}

function Places({ report }: { report: Report }) {
  const id = useId();
  const words = useSignal("");
  const { found, error } = useAnswer<{ places: GuidePlace[] }>("api/guide");
  if (error) return <Failure error={error} />;
  if (!found) return <p class="aside" aria-busy="true">{t("loading the guide")}</p>;
  const { turns, end, code } = report.guide;
  const titled = (key: string) => found.places.find((place) => place.key === key)?.title ?? key;
  const wanted = words.value.trim().toLowerCase();
  const shown = found.places.filter((place) => !wanted || about(place).includes(wanted));
  const finding = report.findings.find((one) => one.code === code);
  return (
    <>
      <header class="head"><h1>{t("Guide")}</h1><p class="aside">{t("From what is seen to the command that finds its cause, and the setting that mends it.")}</p></header>
      <section class="part" aria-label={t("The way of this recording")}>
        <h2>{t("The way of this recording")}</h2>
        <ol class="way">
          {turns.map((turn) => <li>{woven("{from} → {to}, because {why}", { from: <strong>{titled(turn.at)}</strong>, to: <strong>{titled(turn.to)}</strong>, why: coded(turn.why) })}</li>)}
          <li>
            <strong>{titled(end)}</strong>{t(": ")}{finding ? <>{finding.title}{t(". ")}<a href={href("guide", { read: code })}>{woven("How {code} decides, and what to try", { code })}</a></> : t("no finding decides; see below what to run there")}
          </li>
        </ol>
      </section>
      <section class="part" aria-label={t("Places")}>
        <h2>{t("What do you see?")}</h2>
        <p><label for={id} class="hidden">{t("What you see")}</label><input id={id} type="search" size={48} placeholder={t("out of memory, GPU at 40 %, does not scale")} value={words.value} onInput={(event) => (words.value = event.currentTarget.value)} /></p>
        {shown.length ? shown.map((place) => <Place place={place} open={place.key === end || (wanted !== "" && shown.length === 1)} titled={titled} />) : <p>{t("The guide has nothing on it.")}</p>}
      </section>
    </>
  );
}

const about = (place: GuidePlace) => [place.key, place.title, place.question, ...place.symptoms, ...place.settings].join(" ").toLowerCase();

function Place({ place, open, titled }: { place: GuidePlace; open: boolean; titled: (key: string) => string }) {
  return (
    <details class="finding info" open={open} id={`place-${place.key}`}>
      <summary><span class="title">{place.title}</span></summary>
      <p>{place.question}</p>
      <pre tabIndex={0} aria-label={t("Commands: {title}", { title: place.title })}>{place.commands.join("\n")}</pre>
      {place.turns.length ? <ul>{place.turns.map(([seen, to]) => <li>{seen}{t(": ")}<strong>{titled(to)}</strong></li>)}</ul> : null}
      {place.settings.length ? <ul>{place.settings.map((one) => <li>{coded(one)}</li>)}</ul> : null}
      {place.remedies.length ? <p class="aside">{place.remedies.map((one, i) => <><a href={href("guide", { read: one })}>{place.titles[i] ?? one}</a>{" "}</>)}</p> : null}
    </details>
  );
}

/** A page on a rule or a remedy; its text is stepscope's own, never the recording's. */
function Read({ name }: { name: string }) {
  const { found, error } = useAnswer<{ title: string; html: string }>(`api/words?name=${encodeURIComponent(name)}`);
  return (
    <>
      <p class="aside"><a href={href("guide")}>{t("Guide")}</a></p>
      {error ? <><h1>{name}</h1><Failure error={error} /></> : found ? (
        <article class="words"><h1>{found.title}</h1><div dangerouslySetInnerHTML={{ __html: found.html }} /></article>
      ) : <p class="aside" aria-busy="true">{t("loading the page")}</p>}
    </>
  );
}
