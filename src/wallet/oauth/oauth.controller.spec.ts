import { describe, expect, it } from '@jest/globals';
import type { Request } from 'express';
import type Provider from 'oidc-provider';
import { OAuthController } from './oauth.controller.js';

type Endpoint = 'authorize' | 'token' | 'register' | 'revoke';

describe('what is passed to the library', () => {
  const passed: string[] = [];
  const server = {
    callback: () => (request: Request) => {
      passed.push(request.path);
      return Promise.resolve();
    },
  } as unknown as Provider;
  const settings = { publicUrl: 'https://w.example' };
  const controller = new OAuthController(server, settings as never);

  const pass = async (endpoint: Endpoint, path: string): Promise<string[]> => {
    passed.length = 0;
    await controller[endpoint]({ path, headers: {} } as never, {} as never);
    return passed;
  };

  it.each<[Endpoint, string]>([
    ['authorize', '/oauth/authorize'],
    ['authorize', '/oauth/authorize/UID-1_x'],
    ['token', '/oauth/token'],
    ['register', '/oauth/register'],
    ['revoke', '/oauth/revoke'],
  ])('%s: %s', async (endpoint, path) => {
    expect(await pass(endpoint, path)).toEqual([path]);
  });

  // The framework and the library take these for the same; what is read before the library does not.
  it.each<[Endpoint, string]>([
    ['authorize', '/oauth/AUTHORIZE'],
    ['authorize', '/OAuth/authorize'],
    ['authorize', '/oauth/authorize/'],
    ['authorize', '/oauth/Authorize/uid'],
    ['authorize', '/oauth/authorize/uid/'],
    ['token', '/oauth/Token'],
    ['token', '/oauth/token/'],
    ['register', '/oauth/REGISTER'],
    ['revoke', '/oauth/revoke/'],
  ])('is nothing that is written otherwise, %s: %s', async (endpoint, path) => {
    await expect(pass(endpoint, path)).rejects.toMatchObject({ status: 404 });
    expect(passed).toEqual([]);
  });
});
