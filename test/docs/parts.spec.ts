import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const TEST = new URL('../', import.meta.url);
const core: string = new URL('core.mjs', TEST).href;
const { CORE } = (await import(core)) as { readonly CORE: Readonly<Record<string, number>> };

/** `npm run test:rest` skips the cases of `npm test`: those of a file that `npm test` leaves out would never be played. */
describe('a file whose cases are divided', () => {
  const divided = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.e2e-spec.ts'))
    .filter((path) => readFileSync(new URL(path, TEST), 'utf8').includes('support/part.js'))
    .map((path) => path.replace('.e2e-spec.ts', ''));

  it('is played by npm test', () => {
    expect(divided.length).toBeGreaterThan(10);
    expect(divided.filter((path) => !(path in CORE))).toEqual([]);
  });
});
