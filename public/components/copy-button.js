import { html, useEffect, useRef, useState } from './html.js';

const SHOWN_MS = 1500;

/** By the clipboard of the browser, or by a selection: pages that came by plain http have no clipboard. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.setAttribute('readonly', '');
    area.className = 'offscreen';
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    if (!isCopied) throw new Error('The browser did not copy it.');
  }
}

export function CopyButton({ text, label = text }) {
  const [said, say] = useState('');
  const timer = useRef();
  useEffect(() => () => clearTimeout(timer.current), []);
  const onClick = async () => {
    say(
      await copy(text).then(
        () => 'Copied',
        () => 'Not copied',
      ),
    );
    clearTimeout(timer.current);
    timer.current = setTimeout(() => say(''), SHOWN_MS);
  };
  return html`<span class="copying">
    <button
      type="button"
      class="icon"
      aria-label=${`Copy ${label}`}
      title="Copy"
      onClick=${onClick}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
        <path d="M10.5 5.5v-2a1 1 0 0 0-1-1h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h2" />
      </svg>
    </button>
    <span class="copied" role="status">${said}</span>
  </span>`;
}
