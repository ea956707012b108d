import { html, useLayoutEffect, useRef, useState } from './html.js';
import { ErrorBox } from './notes.js';

/**
 * Asks before something is done, and says what it does.
 *
 * @param hasReason - whether a reason is asked for, which is kept.
 * @param act - takes the reason. What it throws is shown here.
 * @param onClose - when it is done, or left.
 */
export function Confirm({
  title,
  effect,
  name,
  hasReason = false,
  isDanger = false,
  act,
  onClose,
}) {
  const dialog = useRef();
  const [error, setError] = useState();
  const [isBusy, setBusy] = useState(false);
  useLayoutEffect(() => {
    dialog.current.showModal();
  }, []);
  const onSubmit = async (event) => {
    event.preventDefault();
    const reason = new FormData(event.currentTarget).get('reason') ?? undefined;
    setBusy(true);
    try {
      await act(reason);
      dialog.current.close();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return html`<dialog ref=${dialog} class="card" aria-labelledby="confirm-title" onClose=${onClose}>
    <form onSubmit=${onSubmit}>
      <h3 id="confirm-title">${title}</h3>
      <p class="quiet">${effect}</p>
      ${
        hasReason &&
        html`<label class="wide">
          <span>Reason (kept in the audit)</span>
          <input name="reason" autocomplete="off" maxlength="200" required />
        </label>`
      }
      <${ErrorBox} error=${error} />
      <div class="buttons">
        <button type="submit" class=${isDanger ? 'danger' : 'primary'} disabled=${isBusy}>
          ${name}
        </button>
        <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
      </div>
    </form>
  </dialog>`;
}
