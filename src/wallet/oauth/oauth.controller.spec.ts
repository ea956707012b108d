import { describe, expect, it, jest } from '@jest/globals';
import type { Request } from 'express';
import type Provider from 'oidc-provider';
import { OAuthController } from './oauth.controller.js';

type Endpoint = 'authorize' | 'post';

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
    ['post', '/oauth/token'],
    ['post', '/oauth/register'],
    ['post', '/oauth/revoke'],
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
    ['post', '/oauth/Token'],
    ['post', '/oauth/token/'],
    ['post', '/oauth/REGISTER'],
    ['post', '/oauth/revoke/'],
  ])('is nothing that is written otherwise, %s: %s', async (endpoint, path) => {
    await expect(pass(endpoint, path)).rejects.toMatchObject({ status: 404 });
    expect(passed).toEqual([]);
  });

  it('has ten seconds to arrive, whatever time the library takes', async () => {
    jest.useFakeTimers();
    let finish = (): void => undefined;
    const slow = {
      callback: () => () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    } as unknown as Provider;
    const waiting = new OAuthController(slow, settings as never);
    const answer = async (complete: boolean, seconds: number): Promise<boolean> => {
      let isDestroyed = false;
      const destroy = (): void => {
        isDestroyed = true;
      };
      const request = { path: '/oauth/token', headers: {}, complete, destroy };
      const answering = waiting.post(request as never, {} as never);
      jest.advanceTimersByTime(seconds * 1000);
      finish();
      await answering;
      jest.advanceTimersByTime(60_000);
      return isDestroyed;
    };
    expect(await answer(false, 9)).toBe(false);
    expect(await answer(false, 11)).toBe(true);
    expect(await answer(true, 11)).toBe(false);
    jest.useRealTimers();
  });
});
