/** What a button does: that it is under way, and what came of it. */

import { html, useState } from './html.js';

/**
 * @returns `run(work)`, which awaits it and shows the text that it returns, or what it throws. `isBusy` is the name
 *   of what is under way.
 */
export function useAction() {
  const [{ isBusy = false, said, error }, set] = useState({});
  const run = async (work, name = true) => {
    set({ isBusy: name });
    try {
      set({ said: (await work()) ?? undefined });
      return true;
    } catch (problem) {
      set({ error: problem instanceof Error ? problem : new Error('It did not work. Try again.') });
      return false;
    }
  };
  return { isBusy, said, error, run };
}

/** What came of it, in one place of a page. */
export function Outcome({ of: { isBusy, said, error } }) {
  const text = error?.message ?? said ?? (isBusy ? 'Working …' : '');
  const kind = error !== undefined ? 'error' : said !== undefined ? 'notice good' : 'quiet';
  return html`<p id="outcome" role="status" class=${kind}>${text}</p>`;
}

/** A button that works once at a time. */
export const ActionButton = ({ of: action, work, name, kind = '', ...more }) =>
  html`<button
    type="button"
    class=${kind}
    disabled=${Boolean(action.isBusy)}
    onClick=${() => void action.run(work)}
    ...${more}
  >
    ${name}
  </button>`;
