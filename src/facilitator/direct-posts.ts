import type { INestApplicationContext, Type } from '@nestjs/common';
import type { DirectPost } from '../platform/http/direct-routes.js';
import type { FacilitatorController } from './facilitator.controller.js';
import { FacilitatorRootController } from './facilitator.root.controller.js';
import { FacilitatorV1Controller } from './facilitator.v1.controller.js';
import { FacilitatorV2Controller } from './facilitator.v2.controller.js';
import { SettleErrorFilter, VerifyErrorFilter } from './x402-error.filter.js';

const CONTROLLERS: Readonly<Record<string, Type<FacilitatorController>>> = {
  '': FacilitatorRootController,
  '/v1': FacilitatorV1Controller,
  '/v2': FacilitatorV2Controller,
};

/** Verify and settle at each of their paths, for a server that answers them without the framework. */
export function directPosts(app: INestApplicationContext): ReadonlyMap<string, DirectPost> {
  const posts = new Map<string, DirectPost>();
  const verifyErrors = app.get(VerifyErrorFilter);
  const settleErrors = app.get(SettleErrorFilter);
  for (const [prefix, type] of Object.entries(CONTROLLERS)) {
    const controller = app.get<FacilitatorController>(type);
    posts.set(`${prefix}/verify`, {
      answer: (request, response) => controller.verify(request, response),
      onError: (error, response) => {
        verifyErrors.answer(error, response);
      },
    });
    posts.set(`${prefix}/settle`, {
      answer: (request, response) => controller.settle(request, response),
      onError: (error, response) => {
        settleErrors.answer(error, response);
      },
    });
  }
  return posts;
}
