import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser } from './browser.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Serious findings of axe-core in the page that is open. */
export async function findingsOf(browser: Browser): Promise<readonly string[]> {
  await browser.evaluate(AXE);
  const found = await browser.evaluate(`axe.run().then(({ violations }) =>
    violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).slice(0, 3).join(' ')))`);
  return found as readonly string[];
}

/** What keeps a page from being usable in either scheme of colours, at the width that it is open in. */
export async function troublesOf(browser: Browser): Promise<readonly string[]> {
  const troubles: string[] = [];
  for (const scheme of ['light', 'dark'] as const) {
    await browser.prefer(scheme);
    troubles.push(...(await findingsOf(browser)).map((finding) => `${scheme}: ${finding}`));
  }
  await browser.prefer('light');
  const isWide = await browser.evaluate('document.documentElement.scrollWidth > innerWidth');
  if (isWide === true) troubles.push('wider than the window');
  const primary = await browser.evaluate(
    `[...document.querySelectorAll('button.primary')].filter((one) => one.checkVisibility()).length`,
  );
  if (Number(primary) > 1) troubles.push(`${String(primary)} primary buttons`);
  return troubles;
}
