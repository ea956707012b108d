import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { TOOL_NAMES } from '../../src/wallet/mcp/wallet-server.js';

const SKILLS = new URL('../../skills/', import.meta.url);
const FIELDS = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'];

/** The rules of agentskills.io. */
describe.each(readdirSync(SKILLS))('the skill %s', (folder) => {
  const file = readFileSync(new URL(`${folder}/SKILL.md`, SKILLS), 'utf8');
  const [, head = '', body = ''] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(file) ?? [];
  const facts = parse(head) as Record<string, unknown>;

  it('has a head as the specification wants it', () => {
    expect(facts['name']).toBe(folder);
    expect(folder).toMatch(/^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/);
    const { description, compatibility, metadata } = facts as Record<string, string>;
    expect(description?.length).toBeGreaterThan(40);
    expect(description?.length).toBeLessThanOrEqual(1024);
    expect(compatibility?.length ?? 0).toBeLessThanOrEqual(500);
    expect(Object.values(metadata ?? {}).every((value) => typeof value === 'string')).toBe(true);
    expect(Object.keys(facts).filter((name) => !FIELDS.includes(name))).toEqual([]);
  });

  it('is short enough to be read whole', () => {
    expect(file.split('\n').length).toBeLessThan(500);
    // About four characters a token.
    expect(body.length / 4).toBeLessThan(5000);
  });

  it('names every tool there is, and no other', () => {
    const named = [...body.matchAll(/`((?:wallet|payment|policy|service|hub)_\w+)`/g)].map(
      ([, name]) => name,
    );
    expect(new Set(named)).toEqual(new Set(TOOL_NAMES));
  });

  it('asks for no key and no token', () => {
    const asking =
      /\b(enter|paste|give|send|provide|share|tell me|type)\b[^.]{0,60}\b(key|token|phrase|password|secret)\b/i;
    expect(body).not.toMatch(asking);
    expect(body).toMatch(/Never ask for a private key, a recovery phrase, a token or a password/);
  });
});
