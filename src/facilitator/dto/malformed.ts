import type { Type } from '@nestjs/common';
import { validateSync, type ValidationError } from 'class-validator';
import type { Finding } from '../../protocol/diagnosis/finding.js';
import { isJsonObject, type JsonObject } from '../../protocol/payment/wire-values.js';
import type { Reason } from '../../protocol/reasons.js';
import { type Fix, partTypeOf } from './fields.js';
import { requestTypeOf } from './payment-request.dto.js';

/** The field that the parser reads when it refuses for one of these reasons. */
const PLACES: Readonly<Partial<Record<Reason, string>>> = {
  unsupported_scheme: 'paymentRequirements.scheme',
  invalid_payment_requirements: 'paymentRequirements.',
  invalid_payload: 'paymentPayload.',
  unsupported_payload_type: 'paymentPayload.',
};

const REQUEST = ['paymentPayload', 'paymentRequirements'];

/** The error of a body that is not a request at all. */
export function envelopeFinding(body: unknown): Finding | undefined {
  if (!isJsonObject(body)) {
    const expected = 'a JSON object with the objects paymentPayload and paymentRequirements';
    return { path: 'body', expected, got: body };
  }
  return malformedFields(body).find(({ path }) => REQUEST.includes(path));
}

/** The field for which the parser refused a body; `undefined` for reasons that name no malformed field. */
export function malformedFinding(reason: Reason, body: JsonObject): Finding | undefined {
  const place = PLACES[reason];
  return place === undefined
    ? undefined
    : malformedFields(body).find(({ path }) => path.startsWith(place));
}

/**
 * Every malformed field, in the order of the classes. The classes bound the work: unknown fields, lists and deeper
 * values are never read.
 */
export function malformedFields(body: JsonObject): readonly Finding[] {
  const request = instanceOf(requestTypeOf(body), body, body);
  const errors = validateSync(request, { forbidUnknownValues: false, stopAtFirstError: true });
  return findingsIn(errors, body, '');
}

function instanceOf(type: Type<object>, sent: JsonObject, body: JsonObject): object {
  const dto = new type() as Record<string, unknown>;
  // A declared class field exists before it has a value.
  for (const name of Object.keys(dto)) {
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined;
    const part = partTypeOf(dto, name);
    dto[name] = part && isJsonObject(value) ? instanceOf(part(body), value, body) : value;
  }
  return dto;
}

function findingsIn(
  errors: readonly ValidationError[],
  body: JsonObject,
  parent: string,
): readonly Finding[] {
  return errors.flatMap(({ property, constraints, contexts, children, value }) => {
    const path = `${parent}${property}`;
    const [broken] = Object.entries(constraints ?? {});
    if (broken === undefined) return findingsIn(children ?? [], body, `${path}.`);
    const [name, expected] = broken;
    const { fix } = contexts?.[name] as { fix?: Fix };
    const advice = fix?.(body);
    return [
      { path, expected, got: value as unknown, ...(advice !== undefined && { fix: advice }) },
    ];
  });
}
