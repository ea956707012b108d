import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import type { AppConfig } from '../config/app-config.js';
import { LandingController } from './landing.controller.js';
import { markOps } from './ops.js';
import { escaped, sendPage } from './page.js';

function answerAt(url: string, send: (request: never, response: never) => void, isOps = false) {
  const request = Object.assign(new IncomingMessage(new Socket()), { url });
  if (isOps) markOps(request);
  const response = new ServerResponse(request);
  let text = '';
  response.end = ((sent: string) => {
    text = sent;
    return response;
  }) as never;
  send(request as never, response as never);
  return { text, response };
}

const configOf = (settings: object): AppConfig =>
  ({ access: {}, hasRole: () => false, ...settings }) as unknown as AppConfig;

function linksAt(settings: object, isOps = false): readonly string[] {
  const { text } = answerAt(
    '/',
    (request, response) => {
      const config = configOf(settings);
      const page = new LandingController(config).page(request);
      sendPage(response, request, { config, status: 200, ...page });
    },
    isOps,
  );
  const main = text.slice(text.indexOf('<main'));
  return [...main.matchAll(/href="([\w.]+)"/g)].map(([, href]) => href ?? '');
}

const isApi = { hasRole: (role: string) => role === 'api' };

describe('the first page', () => {
  it('links to what this process has', () => {
    expect(linksAt({})).toEqual(['docs', 'health', 'openapi.json']);
    const all = { doctor: {}, wallet: {}, hasRole: () => true };
    expect(linksAt(all)).toEqual(
      'docs discovery doctor hub wallet verify supported health openapi.json'.split(' '),
    );
  });

  it('links to what is for operators at their port alone', () => {
    const access = { apiKeysFile: 'keys.json' };
    expect(linksAt({ ...isApi, access })).not.toContain('admin');
    expect(linksAt({ ...isApi, access }, true)).toContain('admin');
    expect(linksAt(isApi, true)).not.toContain('admin');
    expect(linksAt({}, true)).toContain('metrics');
  });
});

describe('a page', () => {
  it('finds style, scripts and other pages from any depth', () => {
    const { text, response } = answerAt('/wallet/approve?code=1', (request, reply) => {
      sendPage(reply, request, {
        config: configOf({ wallet: {} }),
        status: 200,
        title: 'Approve an agent',
        script: 'approve.js',
      });
    });
    expect(text).toContain('href="../site.css"');
    expect(text).toContain('src="../pages/approve.js"');
    expect(text).toContain('<a href="../wallet" aria-current="page">Wallet</a>');
    expect(response.getHeader('content-security-policy')).toContain("default-src 'none'");
  });

  it('shows text as text', () => {
    expect(escaped(`<b a="1">&`)).toBe('&#60;b a=&#34;1&#34;&#62;&#38;');
  });
});
