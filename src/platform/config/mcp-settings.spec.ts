import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { type McpSettings, readMcpSettings } from './mcp-settings.js';

const TOKEN = 'a-token-of-an-agent';

function read(env: NodeJS.ProcessEnv): McpSettings {
  const result = readMcpSettings(env);
  if (!result.ok) throw new Error(result.problem);
  return result.settings;
}

describe('the settings of the local MCP process', () => {
  it.each([
    'https://wallet.example/',
    'http://127.0.0.1:4022',
    'http://localhost:1',
    'http://[::1]',
  ])('take %s', (url) => {
    expect(read({ X402_WALLET_URL: url }).url).toBe(url.replace(/\/$/, ''));
  });

  it.each([
    undefined,
    'wallet.example',
    'ftp://wallet.example',
    'http://wallet.example',
    'http://127.0.0.1.evil.example',
    'http://localhost.evil.example',
  ])('do not take %s, for a token goes there', (url) => {
    expect(readMcpSettings({ ...(url !== undefined && { X402_WALLET_URL: url }) }).ok).toBe(false);
  });

  it('read a token file again each time, and print no token', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'x402-mcp-')), 'token');
    const settings = read({ X402_WALLET_URL: 'https://a.example', X402_WALLET_TOKEN_FILE: file });
    expect(settings.token()).toBeUndefined();
    writeFileSync(file, `${TOKEN}\n`);
    expect(settings.token()?.reveal()).toBe(TOKEN);
    writeFileSync(file, 'another');
    expect(settings.token()?.reveal()).toBe('another');
    const fixed = read({ X402_WALLET_URL: 'https://a.example', X402_WALLET_TOKEN: TOKEN });
    expect(fixed.token()?.reveal()).toBe(TOKEN);
    expect(JSON.stringify([fixed, fixed.token()])).not.toContain(TOKEN);
  });
});
