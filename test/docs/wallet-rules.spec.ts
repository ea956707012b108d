import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { policyText, readPolicy } from '../../src/wallet/rules/policy.js';

it('docs/wallet.md shows rules that are taken, every field of them with its default', () => {
  const text = readFileSync(new URL('../../docs/wallet.md', import.meta.url), 'utf8');
  const shown = /```json\n(\{[^`]*"limits"[^`]*)```/.exec(text)?.[1] ?? '';
  const rules = JSON.parse(shown) as Record<string, unknown>;
  const read = readPolicy(rules, 1);
  expect(read).toMatchObject({ ok: true });
  if (!read.ok) return;
  expect(policyText(read.policy)).toEqual(rules);
  const { limits } = rules;
  expect(readPolicy({ limits }, 1)).toEqual(read);
});
