import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const source = readdirSync(`${ROOT}src`, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
  .map((name) => readFileSync(`${ROOT}src/${name}`, 'utf8'))
  .join('\n');

const [, section = ''] =
  /^## From a log line$([^]*?)^## /m.exec(readFileSync(`${ROOT}docs/runbook.md`, 'utf8')) ?? [];
const texts = [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, text = '']) => text);

describe('the log lines of the runbook', () => {
  it('are a table', () => {
    expect(texts.length).toBeGreaterThan(10);
  });

  it.each(texts)('%s', (text) => {
    // An ellipsis stands for what the program puts in.
    const pieces = text.split('…').map((piece) => piece.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
    expect(source).toMatch(new RegExp(`['\`]${pieces.join("[^'`\\n]+")}['\`]`));
  });
});
