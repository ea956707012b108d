import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../sandbox/processes.js';
import { type Service, startService } from '../../sandbox/service.js';
import { post } from '../support/http.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/** Loaded before the service: its native module is as good as not there. */
const WITHOUT_NATIVE = `
import Module from 'node:module';
const load = Module._load;
Module._load = function (request, ...rest) {
  if (request === 'secp256k1/bindings') throw new Error('no binary for this platform');
  return load.call(this, request, ...rest);
};`;

describe('a service whose native module does not load', () => {
  let world: World;
  let service: Service;

  beforeAll(async () => {
    world = await World.start();
    const preload = `--import=data:text/javascript,${encodeURIComponent(WITHOUT_NATIVE)}`;
    service = await startService(await freePort(), world.settings(), [preload]);
  });
  afterAll(async () => {
    await service.stop('SIGKILL');
    await world.stop();
  });

  it('judges and settles payments in JavaScript', async () => {
    const payer = await world.payer();
    const terms = { payTo: newAccount().address, token: world.usd, chainId: world.chainId };
    const body = await eip3009Body({ payer, ...terms });
    const forged = await eip3009Body({ payer: newAccount(), from: payer.address, ...terms });
    expect((await post(`${service.url}/v2/verify`, forged)).body).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_exact_evm_signature',
    });
    expect((await post(`${service.url}/v2/verify`, body)).body).toMatchObject({ isValid: true });
    expect((await post(`${service.url}/v2/settle`, body)).body).toMatchObject({ success: true });
  });

  it('says so once', () => {
    expect(service.log().match(/the native secp256k1 package is not installed/g)).toHaveLength(1);
  });
});
