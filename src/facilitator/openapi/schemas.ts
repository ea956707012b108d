import { schemasOf } from '../../platform/http/dto-schemas.js';
import { type JsonObject, schemaRef } from '../../platform/http/openapi.js';
import { REASONS } from '../../protocol/reasons.js';
import { AcceptsAnswer, AcceptsRootDto, AcceptsV1Dto, AcceptsV2Dto } from '../dto/accepts.dto.js';
import { V1PaymentRequestDto, V2PaymentRequestDto } from '../dto/payment-request.dto.js';
import { ProblemView } from '../dto/refusal.response.js';
import { SettleBody } from '../dto/settle.response.js';
import { SelfDescription, SupportedBody } from '../dto/supported.response.js';
import { VerifyBody } from '../dto/verify.response.js';
import { SettlementsBody } from '../status/dto/settlement.response.js';
import { REQUEST_UPTO, REQUEST_V1, REQUEST_V2 } from './examples.js';

const anyOf = (...names: readonly string[]): JsonObject => ({ anyOf: names.map(schemaRef) });

/** Schemas of the facilitator's requests and answers, JSON Schema 2020-12: those of its classes, and choices among them. */
export const FACILITATOR_SCHEMAS = {
  ...schemasOf(
    V2PaymentRequestDto,
    V1PaymentRequestDto,
    AcceptsRootDto,
    AcceptsV1Dto,
    AcceptsV2Dto,
    AcceptsAnswer,
    VerifyBody,
    SettleBody,
    SupportedBody,
    SelfDescription,
    SettlementsBody,
    ProblemView,
  ),
  Reason: {
    type: 'string',
    enum: Object.keys(REASONS),
    description: 'All of them with their meaning: `docs/errors.md`.',
  },
  RequestRoot: {
    ...anyOf('RequestV2', 'RequestV1'),
    examples: [REQUEST_V2, REQUEST_UPTO, REQUEST_V1],
  },
  FoundSettlement: anyOf('Settlements', 'Settlement', 'ChainUse'),
  VerifyOrDescription: anyOf('VerifyAnswer', 'SelfDescription'),
  SettlementOrDescription: anyOf('Settlement', 'SelfDescription'),
  ProblemOrChainUse: anyOf('Problem', 'ChainUse'),
} satisfies JsonObject;
