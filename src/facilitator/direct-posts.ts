import type { INestApplicationContext, Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type AccessPolicy, type AccessRule, admit, ruleOf } from '../platform/http/access.js';
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

const FILTERS = { verify: VerifyErrorFilter, settle: SettleErrorFilter };

/**
 * The handlers of verify and settle at each of their paths, for a server that answers them without the framework.
 *
 * @param policy - `undefined` where there are neither API keys nor limits.
 */
export function directPosts(
  app: INestApplicationContext,
  policy: AccessPolicy | undefined,
): ReadonlyMap<string, DirectPost> {
  const posts = new Map<string, DirectPost>();
  for (const [prefix, type] of Object.entries(CONTROLLERS)) {
    const controller = app.get<FacilitatorController>(type);
    for (const name of ['verify', 'settle'] as const) {
      const errors = app.get<VerifyErrorFilter | SettleErrorFilter>(FILTERS[name]);
      const answer: DirectPost['answer'] = (request, response) =>
        controller[name](request, response);
      // The decorators of the route are the one place that holds its access rules.
      const handler = Reflect.get(controller, name) as () => unknown;
      const rule = ruleOf(app.get(Reflector), type, handler);
      posts.set(`${prefix}/${name}`, {
        answer: policy === undefined ? answer : guarded(answer, policy, rule),
        onError: (error, response) => {
          errors.answer(error, response);
        },
      });
    }
  }
  return posts;
}

/** Decides before the body is read, as a guard of the framework does. */
function guarded(
  answer: DirectPost['answer'],
  policy: AccessPolicy,
  rule: AccessRule,
): DirectPost['answer'] {
  return async (request, response) => {
    const admitted = admit(policy, rule, request, response);
    if (admitted !== undefined) await admitted;
    await answer(request, response);
  };
}
