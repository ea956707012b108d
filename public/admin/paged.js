import { html, useState } from '../components/html.js';
import { ErrorBox } from '../components/notes.js';
import { usePolled } from '../components/polled.js';

/**
 * A list page by page. The first page is kept fresh until more is asked for: what moves from one page to the next would
 * be missed otherwise.
 *
 * @param load - takes a cursor, none for the first page, and answers `{ rows, next? }`.
 */
export function usePages(load, everyMs, question) {
  const { answer, error, isLoading, refresh } = usePolled(() => load(), everyMs, question);
  const [longer, setLonger] = useState();
  const own = longer?.question === question ? longer : undefined;
  const { rows = [], next } = own ?? answer ?? {};
  async function more() {
    try {
      const page = await load(next);
      setLonger({ question, rows: [...rows, ...page.rows], next: page.next });
    } catch (problem) {
      setLonger({ question, rows, next, problem });
    }
  }
  return {
    answer,
    rows,
    isLoading,
    error: own?.problem ?? error,
    isLive: own === undefined,
    more: next === undefined ? undefined : more,
    refresh: () => {
      setLonger(undefined);
      refresh();
    },
  };
}

/** What there is of a list: the table, what went wrong, and the button for more. */
export function Pages({ pages, children }) {
  const { error, more, isLive, refresh, isLoading, answer } = pages;
  return html`<div aria-busy=${isLoading ? 'true' : undefined}>
    <${ErrorBox} error=${error} />
    ${answer !== undefined && html`<div class="scroll">${children}</div>`}
    ${more && html`<button type="button" onClick=${() => void more()}>More</button>`}
    ${
      !isLive &&
      html`<p class="quiet">
        Not live while more pages are open.
        <button type="button" class="link" onClick=${refresh}>Back to the newest</button>
      </p>`
    }
  </div>`;
}
